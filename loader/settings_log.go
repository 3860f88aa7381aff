package loader

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/starhost/starhost/internal/loopback"
)

// LogConfig configures the decision log.
type LogConfig struct {
	Enabled bool
	// Path is the folder; zero means starhost/log in the XDG state folder.
	Path Path
	// Keep is how long files stay, and Max is the most bytes of all.
	Keep time.Duration
	Max  int64
	// Mask are globs on JSON pointers into records, whose values the log masks. The item [DefaultMask] stands
	// for values that look like keys. If the list is empty, the log masks nothing.
	Mask []string
	// Include lists the parts of events that the log records besides the usual ones: prompt, results, writes.
	Include []string
	// Required makes starhost refuse an event whose record it cannot write. Fsync makes it flush each record
	// to the disk. All makes it record events that no handler heard, too.
	Required, Fsync, All bool
	// Send is the address of the OpenTelemetry collector to which starhost sync sends the records; "" means
	// none. Headers are the headers of each request, as HEADER=SECRET.
	Send    string
	Headers []string
	// Redact are regular expressions for texts that starhost replaces in the log and in what
	// plugins say.
	Redact []string
}

// logSettings returns the keys of the decision log. Only the user may set them, because a project could hide
// an attack of its own with them.
func logSettings() []*setting {
	return []*setting{
		row("log.enabled", userOnly, value(parseBool, func(c *Config, _ string) *bool { return &c.Log.Enabled }),
			`true`, `log.enabled = false`,
			"Whether hook, serve, run and chat record decisions: see docs/replay.md."),
		row("log.path", userOnly, access{setLogPath, func(c *Config, _ []string) any { return c.Log.Path.Shown }},
			`""`, `log.path = "/var/log/starhost"`,
			"The folder of the log's files, one for each day (UTC). A relative path starts at the config file. Without it, the folder is starhost/log in XDG_STATE_HOME."),
		row("log.keep", userOnly, inDays(value(parseSpan, func(c *Config, _ string) *time.Duration { return &c.Log.Keep })),
			`"30d"`, `log.keep = "7d"`,
			"How long the files stay. The first record of a day and starhost log gc delete older ones."),
		row("log.max", userOnly, inBytes(value(parseSize, func(c *Config, _ string) *int64 { return &c.Log.Max })),
			`"1GiB"`, `log.max = "100MiB"`,
			"The most bytes of all files; the oldest go first. A day's file that has reached it takes no more records."),
		row("log.mask", userOnly, value(parseMasks, func(c *Config, _ string) *[]string { return &c.Log.Mask }),
			`["default"]`, `log.mask = ["/input/arguments/*customer*"]`,
			"Globs on JSON pointers into a record. The log leaves the values at these places out, wherever else they occur in the record. * does not cross a slash and ** does; letter case does not matter. "+
				"\"default\" stands for values that look like keys, and values behind names such as Authorization, token and password; it belongs to every list but the empty one. "+
				"log.mask = [] records such values, for a test whose replay needs them. The values of [secrets] and of redact.patterns never reach the log."),
		row("log.include", userOnly, value(parseWords(logParts), func(c *Config, _ string) *[]string { return &c.Log.Include }),
			`[]`, `log.include = ["prompt", "writes"]`,
			"The parts of events that a record contains only if you list them here. prompt: the user's words, the conversation and the texts of context. results: results of tools. writes: contents of files that a call writes. A record has only the sizes and SHA-256 sums of the other parts, which a replay compares."),
		row("log.required", userOnly, value(parseBool, func(c *Config, _ string) *bool { return &c.Log.Required }),
			`false`, `log.required = true`,
			"Refuse each event whose record starhost cannot write. By default the decision stands, and standard error says why the record is missing."),
		row("log.fsync", userOnly, value(parseBool, func(c *Config, _ string) *bool { return &c.Log.Fsync }),
			`false`, `log.fsync = true`,
			"Flush each record to the disk before the answer."),
		row("log.all", userOnly, value(parseBool, func(c *Config, _ string) *bool { return &c.Log.All }),
			`false`, `log.all = true`,
			"Record events that no handler heard, too."),
		row("log.send", userOnly, value(parseCollector, func(c *Config, _ string) *string { return &c.Log.Send }),
			`""`, `log.send = "https://otel.corp.example:4318"`,
			"The OpenTelemetry collector to which starhost sync sends the records, by OTLP over HTTP: see docs/log.md. Only an address of this machine may begin with http://."),
		row("log.headers", userOnly, value(parseHeaders, func(c *Config, _ string) *[]string { return &c.Log.Headers }),
			`[]`, `log.headers = ["Authorization=OTEL_TOKEN"]`,
			"Headers of each request to log.send, as HEADER=SECRET: the name of a secret, as in secrets.NAME, whose value starhost sends. For Authorization, that is a text as \"Bearer KEY\"."),
		row("shell.trusted", userOnly, value(parseTexts, func(c *Config, _ string) *[]string { return &c.Shell }),
			`[]`, `shell.trusted = ["make", "npm test", "go test"]`,
			"Runners of a project's code, as their first words, that count as harmless for shell.parse and shell.runs, if their other words are plain: no flag that names a program, a text or another project. Without them, starhost cannot tell what such a command runs, so guards ask. A project cannot set it."),
		row("redact.patterns", userOnly, value(parsePatterns, func(c *Config, _ string) *[]string { return &c.Log.Redact }),
			`[]`, `redact.patterns = ["cust-[0-9]+"]`,
			"Regular expressions (RE2). starhost replaces each text that matches one by <masked>: in all fields of the log's records, and in what plugins return, log and report as errors. So no prompt and no journal gets such a text from a plugin. The user's words, the model's replies and the results of an agent's own tools stay as they are: a plugin with modify can change these."),
	}
}

// parseCollector parses the address of a collector, or "".
func parseCollector(v any) (string, error) {
	text, _ := v.(string)
	u, err := url.Parse(text)
	if err != nil {
		u = new(url.URL)
	}
	if v == any("") || u.Host != "" && u.User == nil && u.RawQuery+u.Fragment == "" && (u.Scheme == "https" || u.Scheme == "http" && loopback.Is(u.Hostname())) {
		return text, nil
	}
	return "", hiddenValueError("https://HOST:PORT without user and query, or http:// on this machine: log.headers names secrets to send")
}

// parseHeaders parses a list of headers with the names of secrets.
func parseHeaders(v any) ([]string, error) {
	list, err := parseTexts(v)
	for i, item := range list {
		header, secret, _ := strings.Cut(item, "=")
		if _, err := parseSecretName(secret); err != nil || header == "" || strings.ContainsFunc(header, notInHeader) {
			return nil, hiddenValueError(fmt.Sprintf("a list of HEADER=SECRET, as Authorization=OTEL_TOKEN with the name of a secret (item %d)", i+1))
		}
	}
	return list, err
}

func notInHeader(c rune) bool {
	return c != '-' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z')
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

// DefaultMask is the item of log.mask that stands for all values that look like keys. If a list has any other
// item, starhost adds DefaultMask to it, so that a new item never unmasks a value.
const DefaultMask = "default"

// parseMasks parses a list of globs on JSON pointers and [DefaultMask].
func parseMasks(v any) ([]string, error) {
	list, err := parseTexts(v)
	for i, glob := range list {
		if !strings.HasPrefix(glob, "/") && !strings.HasPrefix(glob, "**") && glob != DefaultMask {
			return nil, fmt.Errorf("a list of globs on JSON pointers, as /input/arguments/*key* (item %d is %s)", i+1, describe(glob))
		}
	}
	if len(list) > 0 && !slices.Contains(list, DefaultMask) {
		list = append([]string{DefaultMask}, list...)
	}
	return list, err
}

// parseWords returns a parser of lists of some words.
func parseWords(words []string) func(any) ([]string, error) {
	parse := parseWord(words...)
	return func(v any) ([]string, error) {
		list, err := parseTexts(v)
		for i, word := range list {
			if _, err := parse(word); err != nil {
				return nil, fmt.Errorf("a list of %s (item %d is %s)", strings.TrimPrefix(err.Error(), "one of "), i+1, describe(word))
			}
		}
		return slices.Compact(slices.Sorted(slices.Values(list))), err
	}
}

// logParts are the words of log.include.
var logParts = []string{"prompt", "results", "writes"}

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
