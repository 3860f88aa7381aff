package loader

import "errors"

// ServeConfig configures servers.
type ServeConfig struct {
	// ToolRoles are the roles for which programs can register tools.
	ToolRoles []string
}

// serveSettings returns the keys about servers and about trust.
func serveSettings() []*setting {
	return []*setting{
		{splitKey("serve.tools.roles"), ifTrusted, list(func(c *Config, _ string) *[]string { return &c.Serve.ToolRoles })},
		{splitKey("trust.pin"), always, value(parsePins, func(c *Config, _ string) *[]string { return &c.Pins })},
	}
}

// parsePins parses a list of patterns of files in a project.
func parsePins(v any) ([]string, error) {
	patterns, err := parseTexts(v)
	for _, pattern := range patterns {
		if err == nil {
			err = NewLibrary("", Path{}, 0).checkPattern(pattern)
		}
	}
	if err != nil {
		return nil, errors.New(`a list of globs on files in the project, as ["srv/**"]`)
	}
	return patterns, nil
}
