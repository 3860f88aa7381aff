package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/starhost/starhost/internal/texttable"
)

// forged is a line that a plugin would like to add to our output.
const forged = "warning: forged"

// hostileText clears a line, writes one of ours, sets the title, and turns the direction of text.
const hostileText = "x\x1b[2K\r\n" + forged + "\n\x1b]0;title\x07\u009b31m\u202eabc\u2066\u2028\x7f\n\n" + forged + "\n"

// hostileFiles returns a project whose plugin puts a text wherever a plugin can put one.
func hostileFiles(text string) map[string]string {
	const plugin = `plugin(version = "1", description = LITERAL, permissions = ["exec:ls"])
T = LITERAL

def page(what = "", n = 1):
    """Pages somebody."""
    return result(T + what, for_user = T, attachments = [attachment(content = T, name = T, type = "text/plain")])

def refused(ctx):
    ctx.log("warn", T, field = T, n = 1)
    return deny(T)

def first(ctx):
    ctx.log("error", T)
    return [fragment("one " + T, source = T, title = T), fragment("sys " + T, target = "system")]

def broken():
    fail(T)

def run_ls(ctx):
    return ctx.exec(["ls", T]).stdout

register_tool(page, description = T)
register_tool(page, name = "refused", description = T)
register_tool(broken, description = T)
register_tool(run_ls, description = T)
register_hook("pre_llm_call", first)
register_hook("pre_tool_call", refused, match = "refused")
register_hook("post_tool_call", lambda result: modify(result = T), match = "page")
register_hook("turn_start", lambda ctx: ctx.log("info", T))
register_fragment_loader("note", lambda arg: fail(T) if arg == "bad" else T + arg, description = T)
register_template_loader("tpl", lambda arg: T + "$input")
register_command("say", lambda args: result(T, for_user = "said", is_error = True) if args else fail(T), description = T)
`
	literal := ""
	for _, r := range text {
		literal += fmt.Sprintf(`\U%08x`, r)
	}
	name := strings.NewReplacer("/", "", "\x00", "").Replace(text)
	name = name[:min(len(name), 60)]
	return map[string]string{
		"plugins/bad.star":                      strings.ReplaceAll(plugin, "LITERAL", "\""+literal+"\""),
		"plugins/" + name + ".star":             "register_hook(\"no_such\", lambda: None)\n",
		"plugins/golden/bad_" + name + ".txtar": "Prose " + text + "\x9b\xff\n-- case.star --\ncall_tool(\"page\", what = \"" + literal + "\")\nprint(\"" + literal + "\")\nassert_eq(1, \"" + literal + "\")\n",
		"plugins/golden/bad_plain.txtar":        text + "\n-- case.star --\nfire(\"pre_tool_call\", tool = \"refused\", arguments = {})\nprint(\"" + literal + "\")\n",
		"plugins/dir/plugin.star":               "",
		"plugins/dir/" + name:                   text,
		"starhost.toml":                         "[secrets.S]\ncommand = [\"" + literal + "\"]\n[model]\ndefault = \"" + literal + "\"\n[grants]\nbad = [\"exec:ls\"]\n",
		"words":                                 text,
	}
}

// hostileCommands are command lines that show texts of plugins.
var hostileCommands = []struct{ args, checked string }{
	{"list", "all"}, {"list tools", "all"}, {"check", "all"}, {"check --lint -F github", "all"}, {"test", "all"}, {"test -F github", "all"},
	{"eval", "all"}, {"eval -p hi", "head"}, {"eval -p hi -f note:x --explain", "head"}, {"eval -p hi -f note:bad", "all"}, {"eval -t tpl:x", "head"},
	{"eval --prompt-file words --call page", "call"}, {"eval --call page", "head"}, {"eval --call refused", "head"}, {"eval --call broken", "head"},
	{"eval --call run_ls", "head"}, {"eval -e T", "head"}, {"eval -e fail(T)", "head"}, {"eval -p hi --fire pre_llm_call", "all"},
	{"eval --fire pre_tool_call --arg tool=refused", "all"}, {"command say", "diagnostics"}, {"command say x", "diagnostics"}, {"eval -v -p hi", "head"},
	{"config show --origin", "all"}, {"trust", "all"}, {"trust --yes", "all"}, {"bench -p hi", "all"}, {"fmt --diff", "all"}, {"fmt -l", "all"},
	{"docs", "all"}, {"docs -F md", "all"}, {"repl", "diagnostics"}, {"hook claude-code plugins/bad.star", "all"}, {"eval -p hi -F json", "all"}, {"test --update", "all"}, {"nosuch", "all"},
}

// checkedText returns the part of the output in which no line may be forged. A prompt and the output of a
// tool or a command come last in a result, after a blank line, so starhost writes no line after them.
func checkedText(checked, out string) string {
	switch checked {
	case "head":
		out, _, _ = strings.Cut(out, "\n\n")
	case "call": // the prompt and the call, without the tool's output
		before, call, _ := strings.Cut(out, "\ncall   ")
		call, _, _ = strings.Cut(call, "\n\n")
		out = before + call
	case "diagnostics":
		return ""
	}
	return out
}

// TestHostileText checks that no command lets texts of plugins, files and configs control the terminal or
// forge a line of starhost.
func TestHostileText(t *testing.T) {
	for _, c := range hostileCommands {
		t.Run(c.args, func(t *testing.T) {
			out, diagnostics := runHostile(t, t.TempDir(), c.args, hostileText)
			checkScreen(t, out+diagnostics)
			if strings.Contains(diagnostics, "bad.star:") && strings.Contains(diagnostics, "E02") {
				t.Fatalf("the plugin is wrong:\n%s", diagnostics)
			}
			for line := range strings.Lines(checkedText(c.checked, out) + "\n" + diagnostics) {
				if strings.HasPrefix(line, forged) {
					t.Errorf("a forged line:\n%s%s", out, diagnostics)
					break
				}
			}
		})
	}
}

// TestHostileTextAny checks the same for texts of any characters.
func TestHostileTextAny(t *testing.T) {
	dirs := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(dirs, "")
		if err != nil {
			t.Fatal(err)
		}
		runes := append([]rune(hostileText), 'a', ' ', '\t', 0x80, 0x9f, 0x200e, 0x2069, 0x2029, 0xfeff, 0x1f600)
		text := string(rapid.SliceOfN(rapid.SampledFrom(runes), 1, 30).Draw(t, "text"))
		out, diagnostics := runHostile(t, dir, rapid.SampledFrom(hostileCommands).Draw(t, "command").args, text)
		checkScreen(t, out+diagnostics)
	})
}

// A failer is a test, or a run of a property.
type failer interface {
	Helper()
	Errorf(format string, args ...any)
	Fatal(args ...any)
}

func checkScreen(t failer, shown string) {
	t.Helper()
	if texttable.Escape(shown) != shown {
		t.Errorf("a terminal obeys this: %q", shown)
	}
}

func runHostile(t failer, dir, command, text string) (out, diagnostics string) {
	t.Helper()
	for name, text := range hostileFiles(text) {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	stdin := "T\nctx.log(\"warn\", T)\nprint(T)\nfail(T)\ncall_tool(\"page\")\n"
	if strings.HasPrefix(command, "hook") {
		stdin = `{"hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/", "tool_name": "refused", "tool_input": {}}`
	}
	var stdout, stderr bytes.Buffer
	p := &program{env: Env{stdin: strings.NewReader(stdin), stdout: &stdout, stderr: &stderr, deadline: time.Minute}}
	p.env.getenv = func(name string) string {
		return map[string]string{"HOME": dir, "XDG_CONFIG_HOME": dir, "XDG_STATE_HOME": dir + "/state", "XDG_DATA_HOME": dir + "/data"}[name]
	}
	p.run(context.Background(), append([]string{"-C", dir}, strings.Split(command, " ")...))
	return stdout.String(), stderr.String()
}
