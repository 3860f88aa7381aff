package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/serve/hook"
)

// tryLine sends a canary through a line if it may run it. It returns the problems.
func (d *doctor) tryLine(ctx context.Context, agent *hook.Agent, l *hookLine) (problems []string) {
	l.state = "not tried"
	notTried := func(format string, args ...any) []string {
		l.why = fmt.Sprintf(format, args...)
		return []string{"not tried: " + l.why}
	}
	if l.Argv == nil {
		return notTried("a shell runs it")
	}
	program, err := findProgram(l.Argv[0])
	if err != nil {
		l.state, l.why = "failed", err.Error()
		return []string{l.why}
	}
	if !ownerOf(agent)(l.Argv) || !isSameFile(program, d.own) {
		if !d.try {
			return notTried("%s is not this starhost (--try runs it)", l.Argv[0])
		}
	} else if _, _, err := parseHookLine(l.Argv); err != nil {
		l.state, l.why = "failed", err.Error()
		return []string{l.why}
	}
	if l.scope == "given" && !d.try {
		return notTried("the file is not the user's (--try runs the line)")
	}
	trusted := d.trust == loader.Trusted || d.trust == loader.TrustedPath
	if l.scope == "project" && !trusted && !d.try {
		return notTried("the project is not trusted (starhost trust, or --try)")
	}
	return d.tryFolders(ctx, agent, l, program)
}

// tryFolders sends a canary through a line from the current project. If the line names plugins, it
// guards all folders, so tryFolders sends one from an empty folder and from the home folder, too,
// and compares the answers.
func (d *doctor) tryFolders(ctx context.Context, agent *hook.Agent, l *hookLine, program string) (problems []string) {
	problems = d.sendCanary(ctx, agent, l, program, d.project)
	f, paths, err := parseHookLine(l.Argv)
	if l.state != "denied" || err != nil || f.inProject || len(paths) == 0 {
		return problems
	}
	empty, err := os.MkdirTemp("", "starhost-")
	if err != nil {
		return append(problems, "not tried in an empty folder: "+err.Error())
	}
	defer os.Remove(empty)
	for _, at := range []struct{ name, folder string }{{"an empty folder", empty}, {"the home folder", d.getenv("HOME")}} {
		if at.folder == "" {
			continue
		}
		there := hookLine{scope: l.scope, path: l.path, Command: l.Command}
		d.sendCanary(ctx, agent, &there, program, at.folder)
		switch {
		case there.state != "denied":
			problems = append(problems, fmt.Sprintf("in %s: %s", at.name, there.why))
		case there.revision != l.revision:
			problems = append(problems, fmt.Sprintf(
				"in %s the plugins have other settings, permissions or limits than in %s: want a %s in the plugins' folder or repository",
				at.name, d.abbreviateHome(d.project), loader.ConfigName))
		}
	}
	return problems
}

// findProgram returns the path of a program.
func findProgram(name string) (string, error) {
	path := name
	if !strings.ContainsRune(name, filepath.Separator) {
		found, err := exec.LookPath(name)
		if err != nil {
			return "", fmt.Errorf("%s is not in PATH", name)
		}
		path = found
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("%s does not exist", name)
	case err != nil:
		return "", wrapFileError(name, err)
	case info.IsDir() || filepath.Separator == '/' && info.Mode()&0o111 == 0:
		return "", fmt.Errorf("%s is not executable", name)
	}
	return path, nil
}

// maxCanary bounds the output of a line in bytes, and canaryTime its time beside the deadline.
const (
	maxCanary  = 1 << 20
	canaryTime = 5 * time.Second
)

// sendCanary runs a line with a canary event in a folder, and reads the answer.
func (d *doctor) sendCanary(
	ctx context.Context, agent *hook.Agent, l *hookLine, program, folder string,
) (problems []string) {
	limit := hook.Deadline
	if f, _, err := parseHookLine(l.Argv); err == nil && f.deadline > 0 {
		limit = time.Duration(f.deadline)
	}
	ctx, cancel := context.WithTimeout(ctx, limit+canaryTime)
	defer cancel()
	nonce := rand.Text()
	var out, stderr limitedBuffer
	cmd := exec.CommandContext(ctx, program, l.Argv[1:]...)
	cmd.Dir, cmd.Stdin = folder, strings.NewReader(agent.Canary(nonce, folder))
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &stderr, time.Second
	err := cmd.Run()
	l.state = "failed"
	fail := func(format string, args ...any) []string {
		l.why = fmt.Sprintf(format, args...)
		return []string{l.why}
	}
	exit, isExit := errors.AsType[*exec.ExitError](err)
	switch {
	case ctx.Err() != nil:
		return fail("no answer in %v", limit+canaryTime)
	case err != nil && !isExit:
		return fail("%v", err)
	}
	code := 0
	if isExit {
		code = exit.ExitCode()
	}
	reason, denied := agent.IsDenied(nonce, folder, code, out.String(), stderr.String())
	if !denied {
		text := canaryFailure(code, out.String(), stderr.String())
		if lost, ok := strings.CutPrefix(text, "starhost: "); ok || reason != "" {
			return fail("a guard does not load: %s", cmp.Or(reason, lost))
		}
		return fail("the canary was not denied: %s", text)
	}
	l.state = "denied"
	parts := strings.Split(strings.TrimPrefix(reason, hook.CanaryTool+" "+nonce+": "), "; ")
	for _, part := range parts {
		if rest, ok := strings.CutPrefix(part, "set "); ok {
			l.revision = rest
		} else if rest, ok := strings.CutPrefix(part, notePrefix); ok {
			l.notes = append(l.notes, rest)
		} else if rest, ok := strings.CutPrefix(part, "guards "); ok {
			l.guards = strings.FieldsFunc(rest, func(r rune) bool { return r == ',' || r == ' ' })
		} else {
			problems = append(problems, part)
		}
	}
	if len(l.guards) == 0 {
		problems = append(problems, "no guard is loaded")
	}
	return problems
}

// canaryFailure returns the first line that a failed hook wrote.
func canaryFailure(code int, out, stderr string) string {
	for _, text := range []string{stderr, out} {
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line != "" {
				if len(line) > 200 {
					line = strings.ToValidUTF8(line[:200], "") + "..."
				}
				return line
			}
		}
	}
	return fmt.Sprintf("exit code %d without output", code)
}

// A limitedBuffer stores the first maxCanary bytes, and drops the others.
type limitedBuffer struct{ text []byte }

func (b *limitedBuffer) Write(text []byte) (int, error) {
	b.text = append(b.text, text[:min(len(text), max(0, maxCanary-len(b.text)))]...)
	return len(text), nil
}

func (b *limitedBuffer) String() string { return string(b.text) }
