package builtins_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins"
	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
)

// exampleWorld is the world that the examples of the table run in.
var exampleWorld = script{
	files: map[string]string{
		"data/teams.txt": "checkout\n", "data/rules.toml": "packs = [\"git\"]\n", "skills/triage/checklist.md": "- Look.",
		"skills/triage/SKILL.md": "---\nname: triage\ndescription: How to sort incidents.\n---\nSort them.\n",
	},
	workspace: map[string]string{"runbooks/checkout.md": "Check the gateway.", "secret.md": "x"},
	env:       map[string]string{"REGION": "eu-1", "PAGER_TOKEN": "correct horse"},
	answers: `{"http.get":{"url":"https://pager.internal/oncall?team=checkout"},"reply":{"status":200,"body":"{\"name\":\"Ada\"}"}}
{"http.post":{"url":"https://pager.internal/page"},"reply":{"status":201,"body":"paged"}}
{"http.request":{"method":"HEAD","url":"https://pager.internal/oncall"},"reply":{"status":200,"headers":{"content-type":"application/json"},"body":""}}
{"exec":{"argv":["kubectl","get","pods"]},"reply":{"code":0,"stdout":"checkout-1\n","stderr":""}}`,
	others: []starhost.Plugin{{
		Name: "other",
		Tools: []starhost.Tool{{
			Name: "echo", Description: "Echoes.", Parameters: json.RawMessage(`{"type":"object"}`),
			Call: func(_ context.Context, c starhost.ToolCall) (starhost.Result, error) {
				var args struct{ Text string }
				err := json.Unmarshal(c.Arguments, &args)
				return starhost.Result{ForLLM: args.Text, IsError: args.Text == "", Attachments: []fragments.Attachment{{Content: "a", Name: "a.txt"}}}, err
			},
		}},
		FragmentLoaders: []starhost.FragmentLoader{{Prefix: "greeting", Load: func(
			_ context.Context, arg string,
		) (starhost.Context, error) {
			return starhost.Context{Fragments: []fragments.Fragment{{Content: "Hello " + arg + "."}}}, nil
		}}},
	}},
}

// examplePermissions declares the permissions that the examples need.
const examplePermissions = `plugin(permissions = ["fs.read:runbooks/**", "fs.read:reports/*", "fs.write:reports/*", "store", "env:*", "secret:PAGER_TOKEN@pager.internal",
    "http:GET,HEAD,POST pager.internal", "exec:kubectl get **", "tool:echo", "fragment:greeting", "event:app.test.*"],
    events = {"app.test.greeted": ["name"]})
register_hook("app.test.greeted", lambda name: "Hello %s." % name)
`

// TestExamples runs the example of every entry in a plugin. If the entry is a member of ctx, the example
// becomes the body of a tool "example", which the test calls. The test then fires the plugin's hooks with a
// prompt.
func TestExamples(t *testing.T) {
	for _, e := range builtins.Table(nil) {
		t.Run(e.Name, func(t *testing.T) {
			s := exampleWorld
			s.src = e.Example + "\n" + e.Check
			if strings.HasPrefix(e.Name, "ctx.") {
				s.src = "def example(ctx):\n    \"An example.\"\n    " + strings.ReplaceAll(s.src, "\n", "\n    ") + "\nregister_tool(example)"
			}
			if !strings.Contains(e.Example, "plugin(") {
				s.src = examplePermissions + s.src
			}
			l := s.mustLoad(t)
			for _, tool := range l.Tools() {
				if tool.Name == "example" {
					if reply := l.call(t, tool.Name, ""); reply.Err != nil {
						t.Errorf("%s: %v", e.Name, reply.Err)
					}
				}
			}
			p, err := l.turn(t, host.Request{Text: "hi"}).Prompt(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, err := range p.Errors {
				t.Errorf("%s: %v", e.Name, err)
			}
			if !strings.Contains(e.Example+e.Check, "assert_") {
				t.Error("the example asserts nothing")
			}
		})
	}
}

// TestTable checks the rules that readers of the table depend on.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range append(builtins.Table(nil), builtins.CaseTable(nil, nil)...) {
		if seen[e.Name] {
			t.Errorf("%s stands twice in the table", e.Name)
		}
		seen[e.Name] = true
		first, _, _ := strings.Cut(e.Doc, "\n")
		if !strings.ContainsAny(first[max(0, len(first)-1):], ".:") {
			t.Errorf("%s: the first line of the doc is no sentence: %q", e.Name, first)
		}
		if e.Signature != "" && !strings.HasPrefix(e.Signature, e.Name+"(") {
			t.Errorf("%s: the signature is %q", e.Name, e.Signature)
		}
		if e.Value != nil && e.Signature != "" && e.Cost.Steps == 0 {
			t.Errorf("%s costs nothing", e.Name)
		}
	}
	env := builtins.Modules(builtins.Table(nil))
	for name := range seen {
		module, _, _ := strings.Cut(name, ".")
		if module != name && module != "ctx" && module != "json" && env[module] == nil {
			t.Errorf("no module %s", module)
		}
	}
}

// TestCodes runs the examples of every code, and checks that the bad one returns the code and the good one
// works.
func TestCodes(t *testing.T) {
	last := ""
	for _, c := range builtins.Codes() {
		t.Run(c.Code, func(t *testing.T) {
			if c.Code <= last {
				t.Errorf("%s stands behind %s", c.Code, last)
			}
			last = c.Code
			if c.Bad == "" {
				return
			}
			if got := codeOf(callEverything(t, c.Bad)); got != c.Code {
				t.Errorf("the bad example met %q: %v", got, callEverything(t, c.Bad))
			}
			if err := callEverything(t, c.Good); err != nil {
				t.Errorf("the good example failed: %v", err)
			}
		})
	}
}

// callEverything loads a plugin, calls everything that it registers and returns the first error.
func callEverything(t *testing.T, src string) error {
	l, err := script{src: src}.load(t)
	if err != nil {
		return err
	}
	for _, tool := range l.Tools() {
		if reply := l.call(t, tool.Name, `{"team":"checkout"}`); reply.Err != nil {
			return reply.Err
		} else if reply.Result.IsError {
			if reply = l.call(t, tool.Name, ``); reply.Err != nil {
				return reply.Err
			}
		}
	}
	for _, h := range l.Hooks() {
		e, err := starhost.NewEvent(h.Event, map[string]json.RawMessage{})
		if err != nil {
			return err
		}
		if _, errs := l.fire(t, e); len(errs) > 0 {
			return errs[0]
		}
	}
	for _, loader := range l.FragmentLoaders() {
		if _, err := l.turn(t, host.Request{}).Load(t.Context(), []string{loader.Prefix + ":x"}); err != nil {
			return err
		}
	}
	return nil
}

func TestModulesAreFrozen(t *testing.T) {
	env := builtins.Modules([]call.Entry{{Name: "a.b"}, {Name: "c"}})
	if diff := cmp.Diff(0, len(env)); diff != "" {
		t.Errorf("entries without values (-want +got):\n%s", diff)
	}
}
