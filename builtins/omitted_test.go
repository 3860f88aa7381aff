package builtins_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
)

// TestOmitted checks for which handlers starhost reports that they read a text that a recorded event lacks.
// The text is in arguments["content"], in arguments["edits"][0]["new"] and in call.content.
func TestOmitted(t *testing.T) {
	const content, edit = "/arguments/content", "/arguments/edits/0/new"
	tests := []struct {
		params, body string
		want         []string
	}{
		{"arguments", "", nil},
		{"arguments", `[arguments["content"]] and None`, nil},
		{"arguments", `[arguments.get("content"), "content" in arguments, len(arguments), arguments.keys()] and None`, nil},
		{"arguments", `dict(arguments)["path"] == "/a"`, nil},
		{"arguments", `[v for k, v in arguments.items() if k == "path"][0].startswith("/")`, nil},
		{"arguments", `arguments["edits"][0]["old"] == "x"`, nil},
		{"arguments", `bool(arguments["content"])`, []string{content}},
		{"arguments", `arguments["content"] == "x"`, []string{content}},
		{"arguments", `"x" == arguments["content"]`, []string{content}},
		{"arguments", `arguments["content"] == None`, []string{content}},
		{"arguments", `arguments["content"] == arguments["content"]`, []string{content}},
		{"arguments", `arguments["content"] in ["x"]`, []string{content}},
		{"arguments", `"x" in arguments["content"]`, []string{content}},
		{"arguments", `arguments["content"] in "x"`, []string{content}},
		{"arguments", `{}.get(arguments["content"])`, []string{content}},
		{"arguments", `arguments["content"] < "x"`, []string{content}},
		{"arguments", `max(["x", arguments["content"]])`, []string{content}},
		{"arguments", `sorted(["x", arguments["content"]])`, []string{content}},
		{"arguments", `arguments["content"].startswith("x")`, []string{content}},
		{"arguments", `arguments["content"][0]`, []string{content}},
		{"arguments", `arguments["content"][:3]`, []string{content}},
		{"arguments", `arguments["content"] + "x"`, []string{content}},
		{"arguments", `"x" + arguments["content"]`, []string{content}},
		{"arguments", `arguments["content"] * 2`, []string{content}},
		{"arguments", `not arguments["content"]`, []string{content}},
		{"arguments", `len(arguments["content"])`, []string{content}},
		{"arguments", `str(arguments["content"])`, []string{content}},
		{"arguments", `repr(arguments["content"])`, []string{content}},
		{"arguments", `type(arguments["content"])`, []string{content}},
		{"arguments", `getattr(arguments["content"], "x", None)`, []string{content}},
		{"arguments", `hasattr(arguments["content"], "x")`, []string{content}},
		{"arguments", `list(arguments["content"])`, []string{content}},
		{"arguments", `[c for c in arguments["content"]]`, []string{content}},
		{"arguments", `int(arguments["content"])`, []string{content}},
		{"arguments", `"%s" % arguments["content"]`, []string{content}},
		{"arguments", `"%s" % (arguments["content"],)`, []string{content}},
		{"arguments", `"{}".format(arguments["content"])`, []string{content}},
		{"arguments", `",".join([arguments["content"]])`, []string{content}},
		{"arguments", `print(arguments)`, []string{content, edit}},
		{"arguments", `str(arguments)`, []string{content, edit}},
		{"arguments", `json.encode(arguments)`, []string{content, edit}},
		{"arguments", `re.search("x", arguments["content"])`, []string{content}},
		{"arguments", `shell.parse(arguments["content"])`, []string{content}},
		{"arguments", `arguments == {}`, nil}, // the lengths of the dicts differ, so the comparison reads no text
		{"arguments", `arguments["edits"] == [{"old": "x", "new": "y"}]`, []string{edit}},
		{"arguments", `arguments["edits"][0]["new"] == "x"`, []string{edit}},
		{"ctx, arguments", `ctx.state.set("x", arguments["content"])`, []string{content}},
		{"arguments", `modify(arguments = arguments)`, []string{content, edit}},
		{"arguments", `modify(arguments = {"content": "x"})`, nil},
		{"call", `call.kind == "write" and call.paths == ["/a"]`, nil},
		{"call", `[call.content] and None`, nil},
		{"call", `"x" in call.content`, []string{content}},
		{"call", `"x" in call["content"]`, []string{content}},
		{"tool", `tool == "x"`, nil},
		{"user_message", "", []string{"/user_message"}},
		{"**kwargs", "", []string{"/user_message"}},
		{"tool, _x = 1, *, user_message", "", []string{"/user_message"}},
	}
	for _, tt := range tests {
		t.Run(tt.params+": "+tt.body, func(t *testing.T) {
			got := readOmitted(t, fmt.Sprintf("def guard(%s):\n    return %s\n\nregister_hook(\"pre_tool_call\", guard)\n", tt.params, tt.body))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestOmittedPaths checks that starhost takes the paths of a patch as read if the record omits the patch.
func TestOmittedPaths(t *testing.T) {
	for body, want := range map[string]int{`call.paths`: 0, `len(call.paths or [])`: 1} {
		l := script{src: "register_hook(\"pre_tool_call\", lambda call: None if [" + body + "] else None)\n"}.mustLoad(t)
		count := 0
		e := &starhost.Event{
			Name: "pre_tool_call", Agent: "codex", Foreign: true, Tool: "apply_patch", Arguments: json.RawMessage(`{"input":"sha256:1"}`),
			Omitted: []string{"/arguments/input"}, OnOmitted: func(string) { count++ },
		}
		if _, err := l.NewSession(host.SessionConfig{}).Refire(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		if min(count, 1) != want {
			t.Errorf("%s: got %d reads, want %d", body, count, want)
		}
	}
}

// TestOmittedAttachments checks that starhost reports that a handler read attachments which the event lacks.
func TestOmittedAttachments(t *testing.T) {
	for body, want := range map[string]int{
		"messages[0].content": 0, "[m for m in messages] and None": 0, "[messages[0].attachments] and None": 0,
		"messages[1].attachments == []": 0, "len(messages[0].attachments)": 1, "messages[0].attachments == []": 1,
	} {
		l := script{src: "register_hook(\"pre_llm_call\", lambda messages: None if (" + body + ") else None)\n"}.mustLoad(t)
		count := 0
		text := fragments.NewText("hi")
		e := &starhost.Event{
			Name: "pre_llm_call", Messages: starhost.NewList([]starhost.Message{{Role: "user", Content: text}, {Role: "user", Content: text}}),
			Omitted: []string{"/messages/0/attachments"}, OnOmitted: func(string) { count++ },
		}
		if _, err := l.NewSession(host.SessionConfig{}).Refire(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		if min(count, 1) != want {
			t.Errorf("%s: got %d reads, want %d", body, count, want)
		}
	}
}

// TestOmittedReplaced checks that a handler gets the new value of an argument that an earlier handler
// replaced.
func TestOmittedReplaced(t *testing.T) {
	got := readOmitted(t, `
register_hook("pre_tool_call", lambda arguments: modify(arguments = {"content": "x"}) if arguments.get("path") else None)
register_hook("pre_tool_call", lambda arguments: deny(arguments["content"]), priority = 1)
`)
	if len(got) > 0 {
		t.Errorf("got reads of %q, want none", got)
	}
}

// readOmitted returns the texts that the guards of a plugin read although an event lacks them.
func readOmitted(t *testing.T, src string) (read []string) {
	t.Helper()
	l := script{src: src}.mustLoad(t)
	e := &starhost.Event{
		Name: "pre_tool_call", Agent: "claude-code", Foreign: true, Tool: "Write", Workspace: "/w",
		Arguments: json.RawMessage(`{"path":"/a","file_path":"/a","content":"sha256:1","edits":[{"old":"x","new":"sha256:2"}]}`),
		Omitted:   []string{"/user_message", "/arguments/content", "/arguments/edits/0/new"},
		OnOmitted: func(pointer string) {
			if !slices.Contains(read, pointer) {
				read = append(read, pointer)
			}
		},
	}
	if _, err := l.NewSession(host.SessionConfig{}).Refire(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	for _, line := range l.logs {
		if strings.Contains(line.Text, "undefined") {
			t.Fatal(line.Text)
		}
	}
	return read
}
