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
		row("serve.tools.roles", ifTrusted, list(func(c *Config, _ string) *[]string { return &c.Serve.ToolRoles }),
			`["default"]`, `serve.tools.roles = ["default", "night"]`,
			"The roles for which programs can register tools at serve --tools. Only a session with the role gets a tool that is registered for one role."),
		row("trust.pin", always, value(parsePins, func(c *Config, _ string) *[]string { return &c.Pins }),
			`[]`, `trust.pin = ["srv/**", "package.json"]`,
			"Globs on files of the project that trust pins beside the config, the plugins, the libraries, and the files and folders that commands name. Programs such as sh, node, npm and make run files that no argument names: without pin, starhost trust says that it does not pin them."),
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
