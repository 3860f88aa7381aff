package loader

// A Code explains one error code: Text says what the error means and what to do, Bad is an example that fails
// with it, and Good an example that works. An example is a config or a command line. If it begins with "-- ",
// it is a folder in txtar form, whose plugins a test loads. Code is an alias of an unnamed type, so that
// every package can declare it.
type Code = struct{ Code, Title, Text, Bad, Good string }

// Codes explains the errors of this package, in order.
func Codes() []Code {
	return []Code{
		{
			Code: "E0601", Title: "invalid TOML",
			Text: "The config file is not TOML. The parser stopped at the place; the mistake is there or shortly before it. " +
				"A file must also be UTF-8 without NUL bytes, and its values nest at most 32 deep.",
			Bad:  "[plugins\npaths = [\"plugins\"]\n",
			Good: "[plugins]\npaths = [\"plugins\"]\n",
		},
		{
			Code: "E0602", Title: "unknown config key",
			Text: "The config has a key that starhost does not have. Write keys of plugins below [plugin.NAME].",
			Bad:  "[pluginz]\npaths = [\"plugins\"]\n",
			Good: "[plugins]\npaths = [\"plugins\"]\n",
		},
		{
			Code: "E0603", Title: "wrong type or value in the config",
			Text: "A setting has a value of another type, or one out of its range. Bytes are numbers or strings with a unit (\"1MiB\"), time spans are strings (\"2s\").",
			Bad:  "[limits]\ntimeout = 2\n",
			Good: "[limits]\ntimeout = \"2s\"\n",
		},
		{
			Code: "E0604", Title: "a path that is no plugin",
			Text: "A path must be a .star file, a .rules file of Codex, a folder with plugin.star, or a folder that contains .star files and such folders. A plugin reads files in its folder only, " +
				"and a plugin that is a single file has no folder: make it NAME/plugin.star.",
			Bad:  "-- oncall.star/README.md --\na folder named like a file\n",
			Good: "-- oncall/plugin.star --\n",
		},
		{
			Code: "E0605", Title: "invalid plugin name",
			Text: "A plugin has the name of its file or folder: a lower-case letter, then at most 63 letters, digits, _ and -. Rename the file or folder.",
			Bad:  "-- On Call.star --\n",
			Good: "-- on-call.star --\n",
		},
		{
			Code: "E0606", Title: "two plugins of one name",
			Text: "Two files or folders give a plugin the same name. If they are two plugins, rename one. If one is a copy, as of a plugin that is installed for all folders, leave its path out, and edit the plugin in the place that stays: agents read the file at each event, so nobody copies it.",
			Bad:  "-- oncall.star --\n-- oncall/plugin.star --\n",
			Good: "-- oncall.star --\n-- oncall-night/plugin.star --\n",
		},
		{
			Code: "E0607", Title: "a file that cannot be read",
			Text: "The file is missing, is a folder or a device, is not readable, or is a link that leads out of the plugin's folder. Copy the target of the link into the folder.",
			Bad:  "-- oncall/plugin.star/README.md --\nplugin.star is a folder here\n",
			Good: "-- oncall/plugin.star --\n",
		},
		{
			Code: "E0608", Title: "too large",
			Text: "A file or folder is over a fixed bound: 1 MiB for a config, 256 KiB for a .star file, 64 MiB for all files that a plugin reads, 100,000 files in its folders, 10,000 matches of one glob.",
			Bad:  "# a config of more than 1 MiB\n",
			Good: "# a config of a few lines\n",
		},
		{
			Code: "E0609", Title: "a required plugin is not loaded",
			Text: "The config's [plugins] required names a plugin that was not found, is disabled or unavailable, or failed; its own error says why. " +
				"Commands that enforce decisions do not work without it. With a PATH, check, eval, list, test, bench and repl require only plugins at the PATH.",
			Bad:  "-- starhost.toml --\n[plugins]\nrequired = [\"policy\"]\n-- plugins/oncall.star --\n",
			Good: "-- starhost.toml --\n[plugins]\nrequired = [\"policy\"]\n-- plugins/policy.star --\n",
		},
		{
			Code: "E0610", Title: "a setting or permission for no plugin",
			Text: "--set wants [PLUGIN.]KEY=VALUE and --grant [PLUGIN=]PERMISSION. PLUGIN may be left out only if there is one plugin.",
			Bad:  "starhost eval oncall.star --set team",
			Good: "starhost eval oncall.star --set team=payments",
		},
		{
			Code: "E0611", Title: "no such library",
			Text: "load(\"@NAME//FILE\", ...) reads a file of the folder that [libraries] of the config calls NAME. A library of a project that you do not trust is for the project's own plugins, and lies in its folder. A plugin loads its own files without @: load(\"lib/text.star\", ...).",
			Bad:  "-- oncall/plugin.star --\nload(\"@lib//text.star\", \"shorten\")\n-- oncall/lib/text.star --\ndef shorten(s): return s[:9]\n",
			Good: "-- oncall/plugin.star --\nload(\"lib/text.star\", \"shorten\")\n-- oncall/lib/text.star --\ndef shorten(s): return s[:9]\n",
		},
		{
			Code: "E0612", Title: "a requirement is not met",
			Text: "plugin(requires = [...]) names plugins, each NAME or NAME>=VERSION, that starhost loads before this one. One of them is missing or too old, did not load, or requires this plugin in turn.",
			Bad:  "-- plugins/oncall.star --\nplugin(requires = [\"policy>=1.2\"])\n-- plugins/policy.star --\nplugin(version = \"1.1\")\n",
			Good: "-- plugins/oncall.star --\nplugin(requires = [\"policy>=1.2\"])\n-- plugins/policy.star --\nplugin(version = \"1.2\")\n",
		},
		{
			Code: "E0613", Title: "changed since it was trusted",
			Text: "A file of a plugin or library of a trusted project is not the file that you trusted: it changed while the plugins loaded, or it is new. " +
				"starhost trust shows the difference and asks again; use starhost trust --path for a project that you edit yourself.",
			Bad:  "# a plugin edits a file of its own project and reads it\n",
			Good: "starhost trust\n",
		},
		{
			Code: "E0614", Title: "nothing to trust",
			Text: "starhost trust is about the project of the nearest starhost.toml, up to the repository root. The list of trusted projects is starhost/trust.json in the XDG state folder, which only you may write; " +
				"if the file is no such list, or others may write it, starhost trusts no project.",
			Bad:  "starhost trust # in a folder without starhost.toml\n",
			Good: "starhost -C my-project trust\n",
		},
		{
			Code: "E0615", Title: "a config that cannot be read",
			Text: "The config that --config or STARHOST_CONFIG names, or that starhost found, is missing, is no file, or the system refuses to read it.",
			Bad:  "-- starhost.toml/README.md --\na folder named like the file\n",
			Good: "-- starhost.toml --\n-- plugins/a.star --\n",
		},
		{
			Code: "E0616", Title: "a managed config that others may write",
			Text: "The managed config wins over all other configs, so starhost uses it only if nobody but root and you may write the file and its folder: " +
				"root or you own them, and their modes allow no write access to other users or to a group other than root's. " +
				"starhost does not ignore the file, because its rules would then be silently off: commands end with exit code 2, and hook blocks.",
			Bad:  "chmod 666 /etc/starhost/config.toml\n",
			Good: "chmod 644 /etc/starhost/config.toml\n",
		},
		{
			Code: "E0617", Title: "a setting that a bundle may not have",
			Text: "The starhost.toml of a bundle may name its plugins and libraries, give plugins values and modes, require them, and lower limits. " +
				"Grants, secrets, servers, programs, the store, the log and higher limits are for the managed config of each machine, so that no archive gives itself anything.",
			Bad:  "[grants]\noncall = [\"http:pager.example\"] # in the starhost.toml of a bundle\n",
			Good: "[plugin.oncall]\nteam = \"checkout\"\n",
		},
		{
			Code: "E0618", Title: "a bundle that is not installed",
			Text: "The managed config names a bundle in [bundles.NAME], and this machine does not have it: nobody ran starhost sync yet, or somebody removed or changed its files. " +
				"Its guards are then missing, so calls are refused. starhost sync, as root, installs it; starhost hook doctor says what it finds.",
			Bad:  "[bundles.ops]\nurl = \"https://policy.corp.example/ops.tar.gz\" # before the first sync\n",
			Good: "starhost sync --once\n",
		},
	}
}
