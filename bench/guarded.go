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
func guardedCall(r *rig) error {
	guarded, err := r.newGuard()
	if err != nil {
		return err
	}
	ours, err := r.answers(r.starhost, "hook", "claude-code", guarded)
	if err != nil {
		return err
	}
	rules, err := r.patterns()
	if err != nil {
		return err
	}
	if err := r.compareAll(ours, []versus{
		{claim{"P2", "hook with the guard of new guard, CPU by bash + jq with its rules", atMost(0.6)}, func() (side, error) {
			if _, err := exec.LookPath("jq"); err != nil {
				return nil, missingPeerError{"apt install jq"}
			}
			return r.answers("bash", peer("guard.sh"), rules)
		}},
		{claim{"P2", "the same, by Python with its rules", atMost(0.6)}, func() (side, error) {
			interpreter, err := python("")
			if err != nil {
				return nil, err
			}
			return r.answers(interpreter, peer("guard.py"), rules)
		}},
		{claim{"P2", "the same, by node with its rules", atMost(0.4)}, func() (side, error) {
			program, err := node()
			if err != nil {
				return nil, err
			}
			return r.answers(program, peer("guard.js"), rules)
		}},
		{claim{"P2", "the same, by opa eval with its rules", atMost(0.75)}, func() (side, error) {
			opa, err := r.program(opaProgram)
			if err != nil {
				return nil, err
			}
			return r.answers(opa, "eval", "-I", "-f", "raw", "-d", rules, "-d", peer("guard.rego"), "data.guard.reasons")
		}},
		{claim{"P2", "the same, by the hook with one rule", atMost(1.25)}, func() (side, error) { return r.ruleHook(1) }},
	}); err != nil {
		return err
	}
	few, err := r.ruleHook(11)
	if err != nil {
		return err
	}
	for _, c := range []struct {
		rules int
		most  float64
	}{{100, 1.5}, {1000, 4}} {
		many, err := r.ruleHook(c.rules)
		if err != nil {
			return err
		}
		if err := r.compare(claim{"P2", fmt.Sprintf("hook with %d rules of the user, CPU by 11", c.rules), atMost(c.most)}, many, few); err != nil {
			return err
		}
	}
	return nil
}

// newGuard writes the guard that users begin with.
func (r *rig) newGuard() (dir string, err error) {
	dir = filepath.Join(r.dir, "guard")
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	_, err = r.output(r.starhost, "new", "guard", dir)
	return dir, err
}

// answers makes a side of a process that answers the usual call. It must object to the push.
func (r *rig) answers(argv ...string) (side, error) {
	_, _, _, err := r.run(command{argv: argv, input: fmt.Sprintf(callForm, pushCall), want: "push"})
	return r.processors(command{argv: argv, input: fmt.Sprintf(callForm, usualCall)}), err
}

// ruleHook is a hook whose guard has n rules of the user and no pack.
func (r *rig) ruleHook(n int) (side, error) {
	dir, err := r.ruleFolder(n)
	if err != nil {
		return nil, err
	}
	return r.answers(r.starhost, "hook", "claude-code", dir)
}

func (r *rig) ruleFolder(n int) (string, error) {
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
func (r *rig) patterns() (file string, err error) {
	packs, err := guard.Packs()
	if err != nil {
		return "", err
	}
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
	text, err := json.Marshal(map[string]any{"rules": list})
	if err != nil {
		return "", err
	}
	dir, err := r.folder("patterns", map[string]string{"rules.json": string(text)})
	return filepath.Join(dir, "rules.json"), err
}

// residentServer compares a call that a running server answers with the process of P2.
func residentServer(r *rig) error {
	dir, err := r.newGuard()
	if err != nil {
		return err
	}
	sockets, err := os.MkdirTemp("", "p2b") // the path of a socket is short
	if err != nil {
		return err
	}
	defer os.RemoveAll(sockets)
	socket := filepath.Join(sockets, "s")
	if _, err := r.start(r.starhost, "serve", dir, "--hooks", "unix:"+socket, "-q"); err != nil {
		return err
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	ask := func() error { return askServer(client) }
	for range 1000 {
		if err = ask(); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err != nil {
		return err
	}
	process := loop(func() error {
		_, _, _, err := r.run(command{argv: []string{r.starhost, "hook", "claude-code", dir}, input: fmt.Sprintf(callForm, pushCall), want: "push"})
		return err
	})
	return r.compare(claim{"P2b", "a call through serve --hooks, by hook claude-code", atMost(1.0 / 15)}, loop(ask), process)
}

// askServer sends a call to a server.
func askServer(client *http.Client) error {
	a, err := client.Post("http://localhost/hooks/claude-code", "application/json", strings.NewReader(fmt.Sprintf(callForm, pushCall)))
	if err != nil {
		return err
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err == nil && !strings.Contains(string(text), "push") {
		err = fmt.Errorf("got %.400s, want the guard's question", text)
	}
	return err
}

// loggedCall compares a hook with the decision log with one without, and counts the bytes of a record.
func loggedCall(r *rig) error {
	dir, err := r.newGuard()
	if err != nil {
		return err
	}
	off, err := r.folder("log-off", map[string]string{"off.toml": "[log]\nenabled = false\n"})
	if err != nil {
		return err
	}
	with, err := r.answers(r.starhost, "hook", "claude-code", dir)
	if err != nil {
		return err
	}
	without, err := r.answers(r.starhost, "hook", "claude-code", dir, "-c", filepath.Join(off, "off.toml"))
	if err != nil {
		return err
	}
	if err := r.compare(claim{"P6b", "hook with the decision log, CPU by that without", atMost(1.1)}, with, without); err != nil {
		return err
	}
	for _, c := range []struct{ plugins, most int }{{20, 1024}, {100, 1536}} {
		dir, err := r.folder(fmt.Sprint("logged", c.plugins), many(c.plugins, "%03d.star", starPlugin))
		if err != nil {
			return err
		}
		state := filepath.Join(dir, "state")
		hook := command{argv: []string{r.starhost, "hook", "claude-code", dir}, input: strings.Replace(fmt.Sprintf(callForm, ""), "Bash", "restart_0", 1), env: []string{"XDG_STATE_HOME=" + state}}
		for range 3 { // the first may say more about the set
			if _, _, _, err := r.run(hook); err != nil {
				return err
			}
		}
		files, err := filepath.Glob(filepath.Join(state, "starhost", "log", "decisions-*"))
		if err != nil || len(files) != 1 {
			return fmt.Errorf("got the logs %q, %v, want one", files, err)
		}
		text, err := os.ReadFile(files[0])
		if err != nil {
			return err
		}
		records := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
		what := fmt.Sprintf("record of a call with %d plugins, without arguments", c.plugins)
		r.figure(claim{"P6b", what, atMost(float64(c.most)).withUnit("B")}, float64(len(records[len(records)-1])))
	}
	return nil
}
