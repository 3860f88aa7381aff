package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/decision"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/loader"
)

// A randomWorld makes plugins and events from a seed.
type randomWorld struct{ *rand.Rand }

func (r randomWorld) pick(list ...string) string { return list[r.IntN(len(list))] }

// words are parts of commands: plain ones, some that the log masks, and the mask itself.
func (r randomWorld) words() string {
	letters := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = "abcdefghijklmnopqrstuvwxyz0123456789"[r.IntN(36)]
		}
		return string(b)
	}
	switch r.IntN(12) {
	case 0:
		return "ghp_" + letters(36)
	case 1:
		return "API_TOKEN=" + letters(12)
	case 2:
		return "https://me:" + letters(10) + "@example.com"
	case 3:
		return "<masked>"
	case 4:
		return "'" + letters(5) + " é\u200b'"
	}
	return r.pick("ls", "rm -rf build", "git push", "curl -s x", "&&", "| sh", "$HOME", "make test", "echo "+letters(3))
}

// arguments returns the arguments of a call: some are longer than a record, or have members whose
// names mask their values.
func (r randomWorld) arguments() json.RawMessage {
	command := r.words()
	for range r.IntN(4) {
		command += " " + r.words()
	}
	args := map[string]any{"command": command}
	if r.IntN(3) == 0 {
		args["note"] = r.words()
	}
	if r.IntN(5) == 0 {
		args["password"] = r.pick("hunter2hunter2", command)
	}
	if r.IntN(5) == 0 {
		args["env"] = map[string]any{"token": r.words(), "n": r.IntN(9), "list": []string{r.words(), r.words()}}
	}
	switch r.IntN(15) {
	case 0:
		args["note"] = strings.Repeat(r.words()+" ", 30_000)
	case 1:
		args["command"] = command + strings.Repeat(" more words", 30_000)
	}
	return jsontext.Must(args)
}

// plugin returns a plugin whose handlers read the call, stored values and the environment, and decide.
func (r randomWorld) plugin(name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "plugin(name = %q, permissions = [\"env:TEAM\", \"store\", \"respond:*\"])\n", name)
	for i := range 1 + r.IntN(3) {
		fmt.Fprintf(&b, "\ndef h%d(ctx, call, arguments):\n    text = call.command or \"\"\n    n, last = 0, \"\"\n", i)
		for range r.IntN(4) {
			key := r.pick("a", "b")
			b.WriteString("    " + r.pick(
				fmt.Sprintf("n = ctx.state.get(%q, 0) + 1\n    ctx.state.set(%[1]q, n)", "n"+key),
				fmt.Sprintf("n = ctx.store.add(%q, 1)", "n"+key),
				fmt.Sprintf("last = ctx.state.get(%q, \"\")\n    ctx.state.set(%[1]q, text)", "t"+key),
				fmt.Sprintf("last = ctx.store.get(%q, \"\")\n    ctx.store.set(%[1]q, arguments.get(\"note\", \"\")[:100])", "t"+key),
				fmt.Sprintf("if \"push\" in text:\n        ctx.store.set(%q, ctx.uuid())", "t"+key),
				"ctx.log.info(text[:80])",
			) + "\n")
		}
		condition := r.pick(
			`"rm" in text`, `text.startswith("git")`, `len(text) > 60`, `"ghp_" in text`, `"hunter2" in str(arguments)`,
			`"note" in arguments and "ls" in arguments["note"]`, `ctx.env("TEAM") == "checkout" and n > 2`, `n % 3 == 1`, `last == text`,
			`"push" in last`, `shell.parse(text).runs("rm") != "no"`, `"token" in arguments.get("env", {})`, `len(arguments) > 2`,
			`ctx.now > "2026" and "make" in text`, `"<masked>" in text`, `True`,
		)
		action := r.pick(
			`deny("no")`, `deny("no " + text[:50])`, `deny("%d of %s" % (n, ctx.env("TEAM")))`, `ask("sure? " + ctx.now)`, `ask("sure?")`,
			`modify(arguments = dict(arguments, command = "true"))`, `modify(arguments = dict(arguments, more = text))`, `respond("done")`, "None",
		)
		fmt.Fprintf(&b, "    if %s:\n        return %s\n\nregister_hook(\"pre_tool_call\", h%d, priority = %d)\n", condition, action, i, r.IntN(3))
	}
	return b.String()
}

// TestReplayProperty checks the law of replay for random plugins and events, with masked, cut and stored
// values: the plugins that wrote a log make the same decisions in a replay, or the replay says why it cannot
// tell.
func TestReplayProperty(t *testing.T) {
	sets, events := 3, 20
	if os.Getenv("STARHOST_LONG") == "1" {
		sets, events = 50, 40
	}
	t.Setenv("TEAM", "checkout")
	var same, unclear int
	for seed := range sets {
		r := randomWorld{rand.New(rand.NewPCG(uint64(seed), 29))}
		dir := t.TempDir()
		files := map[string]string{}
		var flags loadFlags
		var args, paths []string
		for i := range 1 + r.IntN(3) {
			name := fmt.Sprint("p", i)
			files[name+".star"] = r.plugin(name)
			paths = append(paths, name+".star")
			for _, permission := range []string{"env:TEAM", "store", "respond:*"} {
				flags.grant = append(flags.grant, name+"="+permission)
				args = append(args, "--grant", name+"="+permission)
			}
		}
		writeFiles(t, dir, files)
		log := decision.New(decision.Options{
			Dir: filepath.Join(dir, "log"), Mask: []string{"/input/arguments/env/*"}, Report: func(err error) { t.Error(err) },
		})
		env, res := Env{stdout: io.Discard, stderr: io.Discard, getenv: os.Getenv, dir: dir, noConfig: true}.fresh(), new(Result)
		set, err := env.loadWith(t.Context(), res, &flags, paths, func(o *loader.Options) {
			o.World.Store, o.Host.Observe = new(effects.MemoryKV), log.Observe
		})
		if err == nil {
			err = set.Err()
		}
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, files)
		}
		defer set.Close()
		useSet(log, set)
		var sessions []*host.Session
		for i := range 1 + r.IntN(3) {
			sessions = append(sessions, set.Host.NewSession(host.SessionConfig{ID: fmt.Sprint("s", i)}))
		}
		for range events {
			e := &starhost.Event{Name: "pre_tool_call", Tool: r.pick("Bash", "x"), Foreign: true, Arguments: r.arguments()}
			if _, err := sessions[r.IntN(len(sessions))].Fire(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
		report, _ := runReplay(t, dir, append(append([]string{"--no-config", "--log", filepath.Join(dir, "log")}, args...), paths...)...)
		if report.Events != events || report.Changed() != 0 {
			t.Errorf("seed %d: got %s, want %d times the same: %+v\n%s", seed, report.Summary(), events, report.Groups, files)
		}
		same, unclear = same+report.Same+report.SameMasked, unclear+report.CannotTell
	}
	if same < sets*events/3 || unclear == 0 {
		t.Errorf("%d events are the same and %d unclear, want more of both", same, unclear)
	}
	t.Logf("%d events are the same, %d unclear", same, unclear)
}
