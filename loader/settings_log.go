package loader

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// LogConfig configures the decision log.
type LogConfig struct {
	Enabled bool
	// Path is the folder; zero means starhost/log in the XDG state folder.
	Path Path
	// Keep is how long files stay, and Max is the most bytes of all.
	Keep time.Duration
	Max  int64
	// Mask are globs on JSON pointers into records.
	Mask []string
	// Include lists parts of events: prompt, results, writes.
	Include []string
	// Required refuses an event whose record starhost cannot write. Fsync flushes each record to
	// the disk. All records events that no handler heard, too.
	Required, Fsync, All bool
	// Redact are regular expressions for texts that the log must not contain.
	Redact []string
}

// logSettings returns the keys of the decision log. A project could hide its own attack by them, so
// that they are the user's.
func logSettings() []*setting {
	return []*setting{
		{splitKey("log.enabled"), userOnly, value(parseBool, func(c *Config, _ string) *bool { return &c.Log.Enabled })},
		{splitKey("log.path"), userOnly, access{setLogPath, func(c *Config, _ []string) any { return c.Log.Path.Shown }}},
		{splitKey("log.keep"), userOnly, inDays(value(parseSpan, func(c *Config, _ string) *time.Duration { return &c.Log.Keep }))},
		{splitKey("log.max"), userOnly, inBytes(value(parseSize, func(c *Config, _ string) *int64 { return &c.Log.Max }))},
		{splitKey("log.mask"), userOnly, value(parsePointers, func(c *Config, _ string) *[]string { return &c.Log.Mask })},
		{splitKey("log.include"), userOnly, value(parseParts, func(c *Config, _ string) *[]string { return &c.Log.Include })},
		{splitKey("log.required"), userOnly, value(parseBool, func(c *Config, _ string) *bool { return &c.Log.Required })},
		{splitKey("log.fsync"), userOnly, value(parseBool, func(c *Config, _ string) *bool { return &c.Log.Fsync })},
		{splitKey("log.all"), userOnly, value(parseBool, func(c *Config, _ string) *bool { return &c.Log.All })},
		{splitKey("redact.patterns"), userOnly, value(parsePatterns, func(c *Config, _ string) *[]string { return &c.Log.Redact })},
	}
}

// logKeyDocs returns the parts of [Keys] about the decision log.
func logKeyDocs() []Key {
	return []Key{
		{
			Name: "log.enabled", Default: `true`, Example: `log.enabled = false`,
			Doc: "Whether hook and serve record decisions: see docs/replay.md.",
		},
		{
			Name: "log.path", Default: `""`, Example: `log.path = "/var/log/starhost"`,
			Doc: "The folder of the log's files, one for each day (UTC). A relative path starts at the config file. Without it, the folder is starhost/log in XDG_STATE_HOME.",
		},
		{
			Name: "log.keep", Default: `"30d"`, Example: `log.keep = "7d"`,
			Doc: "How long the files stay. The first record of a day and starhost log gc delete older ones.",
		},
		{
			Name: "log.max", Default: `"1GiB"`, Example: `log.max = "100MiB"`,
			Doc: "The most bytes of all files; the oldest go first. A day's file that has reached it takes no more records.",
		},
		{
			Name: "log.mask", Default: `[]`, Example: `log.mask = ["/input/arguments/*customer*"]`,
			Doc: "Globs on JSON pointers into records, whose values the log does not contain, wherever they occur in the record. * does not cross a slash and ** does; letter case does not matter. " +
				"starhost always masks values that look like keys, and values behind names such as Authorization, token and password.",
		},
		{
			Name: "log.include", Default: `[]`, Example: `log.include = ["prompt", "writes"]`,
			Doc: "The parts of events that records contain only by choice. prompt: the user's words, the conversation and the texts of context. results: results of tools. writes: contents of files that a call writes. Without it, records have sizes and SHA-256 sums of what a replay compares.",
		},
		{
			Name: "log.required", Default: `false`, Example: `log.required = true`,
			Doc: "Refuse each event whose record starhost cannot write. By default the decision stands, and standard error says why the record is missing.",
		},
		{
			Name: "log.fsync", Default: `false`, Example: `log.fsync = true`,
			Doc: "Flush each record to the disk before the answer.",
		},
		{
			Name: "log.all", Default: `false`, Example: `log.all = true`,
			Doc: "Record events that no handler heard, too.",
		},
		{
			Name: "redact.patterns", Default: `[]`, Example: `redact.patterns = ["cust-[0-9]+"]`,
			Doc: "Regular expressions (RE2) for texts that the log does not contain, in any field of a record.",
		},
	}
}

func parseBool(v any) (bool, error) {
	if b, ok := v.(bool); ok {
		return b, nil
	}
	return false, errors.New("true or false")
}

// setLogPath sets the folder of the log.
func setLogPath(c *Config, g layerSetting) error {
	folder, err := parseText(g.value)
	if err != nil {
		return err
	}
	if folder == "" {
		c.Log.Path = Path{}
		return nil
	}
	c.Log.Path, err = g.path(folder)
	return err
}

// parsePointers parses a list of globs on JSON pointers.
func parsePointers(v any) ([]string, error) {
	list, err := parseTexts(v)
	for i, glob := range list {
		if !strings.HasPrefix(glob, "/") && !strings.HasPrefix(glob, "**") {
			return nil, fmt.Errorf("a list of globs on JSON pointers, as /input/arguments/*key* (item %d is %s)", i+1, describe(glob))
		}
	}
	return list, err
}

// parseParts parses a list of parts of events.
func parseParts(v any) ([]string, error) {
	list, err := parseTexts(v)
	parse := parseWord("prompt", "results", "writes")
	for i, part := range list {
		if _, err := parse(part); err != nil {
			return nil, fmt.Errorf("a list of %s (item %d is %s)", strings.TrimPrefix(err.Error(), "one of "), i+1, describe(part))
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(list))), err
}

// parsePatterns parses a list of regular expressions.
func parsePatterns(v any) ([]string, error) {
	list, err := parseTexts(v)
	for i, text := range list {
		if p, err := regexp.Compile(text); err != nil || p.MatchString("") {
			return nil, fmt.Errorf("a list of regular expressions that do not match the empty text (item %d is %s)", i+1, describe(text))
		}
	}
	return list, err
}
