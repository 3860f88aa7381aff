package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/starhost/starhost/guard"
)

// callForm is a call of a shell as Claude Code sends it. usualCall needs no person, and pushCall does.
const (
	callForm  = `{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":%q}}`
	usualCall = "git status && ls -la src | head -20"
	pushCall  = "git push --force origin main"
)

// guardedCall compares the process that an agent starts for each call: the guard that users have,
// with all packs, against guards of peers with a pattern for each of its rules.
func guardedCall(r *rig) {
	guarded := r.newGuard()
	ours := r.answers(r.starhost, "hook", "claude-code", guarded)
	rules := r.patterns()
	r.compareAll(ours, []versus{
		{claim{"P2", "hook with the guard of new guard, CPU by bash + jq with its rules", atMost(0.6)}, func() side {
			if _, err := exec.LookPath("jq"); err != nil {
				try(missingPeerError{"apt install jq"})
			}
			return r.answers("bash", peer("guard.sh"), rules)
		}},
		{claim{"P2", "the same, by Python with its rules", atMost(0.6)}, func() side {
			return r.answers(must(python("")), peer("guard.py"), rules)
		}},
		{claim{"P2", "the same, by node with its rules", atMost(0.4)}, func() side {
			return r.answers(must(node()), peer("guard.js"), rules)
		}},
		{claim{"P2", "the same, by opa eval with its rules", atMost(0.75)}, func() side {
			return r.answers(r.program(opaProgram), "eval", "-I", "-f", "raw", "-d", rules, "-d", peer("guard.rego"), "data.guard.reasons")
		}},
		{claim{"P2", "the same, by the hook with one rule", atMost(1.25)}, func() side { return r.ruleHook(1) }},
	})
	few := r.ruleHook(11)
	for _, c := range []struct {
		rules int
		most  float64
	}{{100, 1.5}, {1000, 4}} {
		what := fmt.Sprintf("hook with %d rules of the user, CPU by 11", c.rules)
		r.compare(claim{"P2", what, atMost(c.most)}, r.ruleHook(c.rules), few)
	}
}

// newGuard writes the guard that users begin with.
func (r *rig) newGuard() string {
	dir := filepath.Join(r.dir, "guard")
	if _, err := os.Stat(dir); err != nil {
		r.run(command{argv: []string{r.starhost, "new", "guard", dir}})
	}
	return dir
}

// answers makes a side of a process that answers the usual call. It must object to the push.
func (r *rig) answers(argv ...string) side {
	r.run(command{argv: argv, input: fmt.Sprintf(callForm, pushCall), want: "push"})
	return r.processors(command{argv: argv, input: fmt.Sprintf(callForm, usualCall)})
}

// ruleHook is a hook whose guard has n rules of the user and no pack.
func (r *rig) ruleHook(n int) side {
	return r.answers(r.starhost, "hook", "claude-code", r.ruleFolder(n))
}

func (r *rig) ruleFolder(n int) string {
	rules := "trusted = []\n"
	for i := range n {
		program := fmt.Sprintf("tool%d", i)
		if i == 0 {
			program = "git"
		}
		rules += fmt.Sprintf(`
[[rule]]
name = "rule-%[1]d"
reason = "a push of %[1]d"
programs = ["%[2]s"]
sub = ["push"]
flags = [["f", "force"]]
decision = "ask"
match = ["%[2]s push --force"]
not_match = ["%[2]s push"]
`, i, program)
	}
	return r.folder(fmt.Sprint("rules", n), map[string]string{"plugin.star": "register_guard(\"rules.toml\")\n", "rules.toml": rules})
}

// patterns writes a pattern for each rule of the packs, for peers: the programs, and behind them the
// subcommands.
func (r *rig) patterns() string {
	packs := must(guard.Packs())
	type pattern struct {
		Reason  string `json:"reason"`
		Pattern string `json:"pattern"`
	}
	var list []pattern
	choice := func(words []string) string {
		quoted := regexp.QuoteMeta(strings.Join(words, "\x00"))
		return `\b(` + strings.NewReplacer("\x00", "|", `\*`, `\S*`).Replace(quoted) + `)\b`
	}
	for _, p := range packs {
		for _, rule := range p.Rules {
			text := choice(rule.Programs)
			if len(rule.Sub) > 0 {
				text += " (.* )?" + choice(rule.Sub)
			}
			for _, flags := range rule.Flags {
				text += ".* --?" + choice(flags)
			}
			if len(rule.Programs) > 0 && len(rule.Sub)+len(rule.Flags) > 0 { // the others need more than a pattern
				list = append(list, pattern{p.Name + "/" + rule.Name + ": " + rule.Reason, text})
			}
		}
	}
	text := must(json.Marshal(map[string]any{"rules": list}))
	dir := r.folder("patterns", map[string]string{"rules.json": string(text)})
	return filepath.Join(dir, "rules.json")
}

// residentServer compares a call that a running server answers with the process of P2.
func residentServer(r *rig) {
	dir := r.newGuard()
	sockets := must(os.MkdirTemp("", "p2b")) // the path of a socket is short
	defer os.RemoveAll(sockets)
	socket := filepath.Join(sockets, "s")
	r.start(r.starhost, "serve", dir, "--hooks", "unix:"+socket, "-q")
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	ask := func() { askServer(client) }
	err := catch(ask)
	for i := 0; i < 1000 && err != nil; i++ { // until the server listens
		time.Sleep(10 * time.Millisecond)
		err = catch(ask)
	}
	try(err)
	process := loop(func() {
		r.run(command{argv: []string{r.starhost, "hook", "claude-code", dir}, input: fmt.Sprintf(callForm, pushCall), want: "push"})
	})
	r.compare(claim{"P2b", "a call through serve --hooks, by hook claude-code", atMost(1.0 / 15)}, loop(ask), process)
}

// askServer sends a call to a server.
func askServer(client *http.Client) {
	a := must(client.Post("http://localhost/hooks/claude-code", "application/json", strings.NewReader(fmt.Sprintf(callForm, pushCall))))
	defer a.Body.Close()
	if text := must(io.ReadAll(a.Body)); !strings.Contains(string(text), "push") {
		try(fmt.Errorf("got %.400s, want the guard's question", text))
	}
}

// loggedCall compares a hook with the decision log with one without, and counts the bytes of a record.
func loggedCall(r *rig) {
	dir := r.newGuard()
	off := r.folder("log-off", map[string]string{"off.toml": "[log]\nenabled = false\n"})
	with := r.answers(r.starhost, "hook", "claude-code", dir)
	without := r.answers(r.starhost, "hook", "claude-code", dir, "-c", filepath.Join(off, "off.toml"))
	r.compare(claim{"P6b", "hook with the decision log, CPU by that without", atMost(1.1)}, with, without)
	for _, c := range []struct{ plugins, most int }{{20, 1024}, {100, 1536}} {
		dir := r.folder(fmt.Sprint("logged", c.plugins), many(c.plugins, "%03d.star", starPlugin))
		state := filepath.Join(dir, "state")
		hook := command{argv: []string{r.starhost, "hook", "claude-code", dir}, input: strings.Replace(fmt.Sprintf(callForm, ""), "Bash", "restart_0", 1), env: []string{"XDG_STATE_HOME=" + state}}
		for range 3 { // the first may say more about the set
			r.run(hook)
		}
		files, err := filepath.Glob(filepath.Join(state, "starhost", "log", "decisions-*"))
		if err != nil || len(files) != 1 {
			try(fmt.Errorf("got the logs %q, %v, want one", files, err))
		}
		text := must(os.ReadFile(files[0]))
		records := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
		what := fmt.Sprintf("record of a call with %d plugins, without arguments", c.plugins)
		r.figure(claim{"P6b", what, atMost(float64(c.most)).withUnit("B")}, float64(len(records[len(records)-1])))
	}
}
