package loader

// ServeConfig configures servers.
type ServeConfig struct {
	// ToolRoles are the roles for which programs can register tools.
	ToolRoles []string
}

// serveSettings returns the keys about servers.
func serveSettings() []*setting {
	return []*setting{
		{splitKey("serve.tools.roles"), ifTrusted, list(func(c *Config, _ string) *[]string { return &c.Serve.ToolRoles })},
	}
}
