package hook_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/starhost/starhost/serve/hook"
)

// TestCanary checks the canary of each agent: an event of the agent before a tool call, in the documented
// form.
func TestCanary(t *testing.T) {
	for _, a := range hook.Agents {
		text := a.Canary("N1", "/w")
		if a.Lines {
			continue // golden/cli/hook_doctor_agents.txtar tests this agent
		}
		e, err := a.Read([]byte(text))
		if err != nil {
			t.Errorf("%s: %v\n%s", a.Name, err, text)
			continue
		}
		folder := "/w"
		if a.Name == "docker-mcp" {
			folder = "" // the agent sends no folder
		}
		if err := e.CheckForm(); err != nil || !e.IsRefusable() || e.Workspace() != folder {
			t.Errorf("%s: got %v, refusable %v, workspace %q, want nil, true, /w", a.Name, err, e.IsRefusable(), e.Workspace())
		}
		if nonce, ok := e.Canary(); !ok || nonce != "N1" {
			t.Errorf("%s: got nonce %q, %v, want N1", a.Name, nonce, ok)
		}
		reason := "starhost_canary N1: set 1; guards a"
		answer, err := e.Block(reason)
		if err != nil {
			t.Fatal(err)
		}
		stderr := answer.Err + reason + "\n"
		if got, ok := a.IsDenied("N1", "/w", answer.Code, answer.Out, stderr); !ok || got != reason {
			t.Errorf("%s: got %q, %v, want a denial", a.Name, got, ok)
		}
		for _, wrong := range []struct {
			nonce, out, err string
			code            int
		}{
			{"N2", answer.Out, stderr, answer.Code},
			{"N1", answer.Out, stderr, answer.Code + 1},
			{"N1", answer.Out + "x", stderr, answer.Code},
			{"N1", "", "", 0},
			{"N1", "", "", answer.Code},
		} {
			if got, ok := a.IsDenied(wrong.nonce, "/w", wrong.code, wrong.out, wrong.err); ok {
				t.Errorf("%s: got a denial %q of %+v, want none", a.Name, got, wrong)
			}
		}
	}
}

// TestCanaryIsExact checks that starhost takes no other call for a canary.
func TestCanaryIsExact(t *testing.T) {
	a := hook.AgentOf("claude-code")
	for _, args := range []string{`{}`, `{"nonce":""}`, `{"nonce":"a b"}`, `{"nonce":"a;b"}`, `{"nonce":1}`, `null`, `{"nonce":"` + strings.Repeat("a", 65) + `"}`} {
		text := strings.Replace(a.Canary("N1", "/w"), `{"nonce":"N1"}`, args, 1)
		if !json.Valid([]byte(text)) {
			t.Fatal(text)
		}
		if e, err := a.Read([]byte(text)); err == nil {
			if nonce, ok := e.Canary(); ok {
				t.Errorf("%s: got nonce %q, want no canary", args, nonce)
			}
		}
	}
	e, err := a.Read([]byte(strings.Replace(a.Canary("N1", "/w"), `"starhost_canary"`, `"Bash"`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := e.Canary(); ok {
		t.Error("a call of Bash is a canary")
	}
}
