package starhost

// HostPlugin is the name of the plugin with the host's own references. Only this plugin may
// register the reserved prefixes.
const HostPlugin = "host"

// ReservedPrefixes are the prefixes of references that only the host's own plugin may register.
var ReservedPrefixes = []string{"file", "http", "https", "sha256", "skill"}
