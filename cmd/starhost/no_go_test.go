package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/tools/txtar"

	"github.com/starhost/starhost/report"
)

// goWords matches what messages of Go's packages say about Go and never mean anything to a user.
var goWords = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`Go (struct|value)|cannot unmarshal|json: |toml: |yaml: |strconv\.|map\[|<nil>|reflect\.|interface \{|struct \{|` +
		`\[\]string|RawMessage|%!|\d\.0000|parsing "|no use here|Time\.Unm|\bu?int64\b|\bfloat64\b|parsing time|0x[0-9a-f]{6}`)
})

// TestMessagesWithoutGo gives every reader of JSON, TOML and YAML values of the wrong type. No
// message may speak of Go.
func TestMessagesWithoutGo(t *testing.T) {
	const files = `
-- p.star --
plugin(config = {"team": "a", "days": 1, "list": [], "table": {}})

def page(n = 1):
    """Page.

    Args:
        n (integer): How often.
    """
    return str(yaml.decode(text_of(n))) if n > 1 else "x"

def text_of(n):
    return ["", "", "a: [", "a: !!int x", "- a\nb: c", "a: &x [*x, *y]", "? {a: b}\n: c"][n]

register_tool(page)
register_tool(lambda n: json.decode(n), name = "decode", description = "Decodes.", parameters = {"type": "object", "properties": {"n": {"type": "string"}}})
register_tool(lambda n: "x", name = "bound", description = "Checks.", parameters = {"type": "object", "properties": {"n": {"minimum": 0, "enum": [1, None]}}})
register_tool(lambda n: toml.decode(n), name = "settings", description = "Decodes.", parameters = {"type": "object", "properties": {"n": {"type": "string"}}})
-- config.toml --
-- input --
-- journal --
`
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range txtar.Parse([]byte(files)).Files {
		write(f.Name, string(f.Data))
	}
	failures := 0
	check := func(what string, args ...string) {
		t.Helper()
		var out bytes.Buffer
		if code := run(t.Context(), append(args, "-C", dir), strings.NewReader(""), &out, &out); code != report.ExitOK {
			failures++
		}
		if found := goWords().FindString(out.String()); found != "" {
			t.Errorf("%s: got %q in\n%s", what, found, &out)
		}
	}
	values := []string{`1`, `-1`, `1.5`, `"x"`, `true`, `null`, `[]`, `[1]`, `{}`, `{"a":[null]}`, `1e999`, `[`, `"\x"`, `99999999999999999999`}
	for _, v := range values {
		for _, name := range []string{"messages", "tools", "options", "session", "text", "fragments", "attachments", "model", "other"} {
			write("input", `{"`+name+`":`+v+`}`)
			check("input "+name+" "+v, "eval", "p.star", "-i", "input")
			write("input", `{"messages":[{"role":"user","content":"x","`+name+`":`+v+`}],"session":{"roles":`+v+`}}`)
			check("a message's "+name+" "+v, "eval", "p.star", "-i", "input")
		}
		for _, line := range []string{`V`, `{"journal":V}`, `{"journal":1,"seed":V,"turn":V}`, `{"journal":1,"turn":V}`, `{"journal":1,"input":V}`,
			"{\"journal\":1}\n{\"lane\":V,\"env\":{}}", "{\"journal\":1}\n{\"clock\":V}", "{\"journal\":1}\n{\"env\":V,\"reply\":V}", "{\"journal\":1}\n{\"env\":{},\"error\":V}"} {
			write("journal", strings.ReplaceAll(line, "V", v)+"\n")
			check("journal "+line+" "+v, "eval", "p.star", "--replay", "journal")
		}
		for _, section := range []string{"events.jsonl --\n{\"name\":V}", "events.jsonl --\n{\"name\":\"app.x\",\"args\":V,\"actions\":V}", "events.jsonl --\n{\"name\":\"app.x\",\"guard\":V}",
			"effects.jsonl --\n{\"exec\":{},\"error\":V}", "effects.jsonl --\n{\"lane\":V,\"exec\":{}}", "effects.jsonl --\nV", "config.toml --\n[plugin.p]\nteam = V", "config.toml --\n[limits]\nsteps = V"} {
			write("golden/p_case.txtar", "-- case.star --\ncall_tool(\"page\")\n-- "+strings.ReplaceAll(section, "V", v)+"\n")
			check(section+" "+v, "test", "--no-config", "p.star")
		}
		check("the argument n "+v, "eval", "p.star", "--call", "page", "--args", `{"n":`+v+`}`)
		check("the bound argument n "+v, "eval", "p.star", "--call", "bound", "--args", `{"n":`+v+`}`)
		check("--args "+v, "eval", "p.star", "--call", "page", "--args", v)
		check("json.decode "+v, "eval", "p.star", "--call", "decode", "--arg", "n="+v)
		check("--fire "+v, "eval", "p.star", "--fire", "pre_llm_call", "--args", `{"messages":`+v+`,"tools":`+v+`,"options":`+v+`}`)
		check("--option "+v, "eval", "p.star", "-p", "x", "--set", "days="+v, "--set", "list="+v, "--set", "table="+v, "--set", "team="+v)
	}
	for _, v := range []string{`1`, `-1`, `1.5`, `"x"`, `true`, `[]`, `[1]`, `{}`, `{a = [1]}`, `2026-01-01`, `07:00:00`, `inf`, `[{}]`, `99999999999999999999`, `=`} {
		for _, key := range []string{"plugins.paths", "plugins.required", "plugins", "limits.steps", "limits.memory", "limits.timeout", "limits", "prompt.dedup", "prompt.max_bytes",
			"tools.allow", "model.default", "store.url", "secrets.X", "mcp.x", "mcp.x.command", "grants.p", "grants", "plugin.p.team", "plugin.p.days", "plugin.p.list", "plugin.p.table", "plugin.p",
			"plugin.p.mode", "plugin.p.limits", "libraries.lib", "redact", "log"} {
			write("config.toml", key+" = "+v+"\n")
			check("config "+key+" = "+v, "check", "p.star", "-c", "config.toml")
		}
		check("toml.decode "+v, "eval", "p.star", "--call", "settings", "--arg", "n=k = "+v)
	}
	for n := 2; n < 7; n++ {
		check("yaml.decode", "eval", "p.star", "--call", "page", "--arg", "n="+string(rune('0'+n)))
	}
	if failures < 500 {
		t.Errorf("got %d failures, want more", failures)
	}
}

// TestFlagValues checks that an error about a flag's value says which values are valid.
func TestFlagValues(t *testing.T) {
	for _, cmd := range allCommands(new(program).rootCommand(nil)) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) { checkFlag(t, cmd, f) })
	}
}

func checkFlag(t *testing.T, cmd *cobra.Command, f *pflag.Flag) {
	err := cmd.Flags().Set(f.Name, "\x00no")
	if err == nil { // the flag accepts any text
		return
	}
	text := flagError(cmd, err).Error()
	if _, want, ok := strings.Cut(text, ", want "); !ok || want == "" || goWords().MatchString(text) {
		t.Errorf("%s --%s: got %s", cmd.Name(), f.Name, text)
	}
}
