package install

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

	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/serve/hook"
)

// TryNew sends canaries through a new line from several folders, and returns what is wrong. A line of a
// project, and a line that names no plugins, has other plugins in other folders. For such a line, TryNew only
// says which hooks have less effect in this agent than elsewhere.
func (d *Doctor) TryNew(ctx context.Context, agent *hook.Agent, line *hook.Settings, named bool) []string {
	l := newLine("user", "", &commandLine{Argv: line.Command})
	var problems []string
	if named && !line.Project {
		problems = d.tryFolders(ctx, agent, &l, line.Command[0])
	} else {
		d.sendCanary(ctx, agent, &l, d.Own, d.Project)
	}
	return append(problems, l.Notes...)
}

// tryLine sends a canary through a line, if Doctor may run the line. It returns what is wrong.
func (d *Doctor) tryLine(ctx context.Context, agent *hook.Agent, l *Line) (problems []string) {
	l.Canary = "not tried"
	notTried := func(format string, args ...any) []string {
		l.Why = fmt.Sprintf(format, args...)
		return []string{"not tried: " + l.Why}
	}
	if l.command.Argv == nil {
		return notTried("a shell runs it")
	}
	program, err := findProgram(l.command.Argv[0])
	if err != nil {
		l.Canary, l.Why = "failed", err.Error()
		return []string{l.Why}
	}
	if !ownerOf(agent)(l.command.Argv) || !isSameFile(program, d.Own) {
		if !d.Try {
			return notTried("%s is not this starhost (--try runs it)", l.command.Argv[0])
		}
	} else if _, err := d.Parse(l.command.Argv); err != nil {
		l.Canary, l.Why = "failed", err.Error()
		return []string{l.Why}
	}
	if l.Scope == "given" && !d.Try {
		return notTried("the file is not the user's (--try runs the line)")
	}
	trusted := d.Trust == loader.Trusted || d.Trust == loader.TrustedPath
	if l.Scope == "project" && !trusted && !d.Try {
		return notTried("the project is not trusted (starhost trust, or --try)")
	}
	return d.tryFolders(ctx, agent, l, program)
}

// tryFolders sends a canary through a line from the current project. A line that names plugins guards all
// folders, so tryFolders also sends one from an empty folder and one from the home folder, and compares the
// answers.
func (d *Doctor) tryFolders(ctx context.Context, agent *hook.Agent, l *Line, program string) (problems []string) {
	problems = d.sendCanary(ctx, agent, l, program, d.Project)
	f, err := d.Parse(l.command.Argv)
	if l.Canary != "denied" || err != nil || f.Project || len(f.Paths) == 0 {
		return problems
	}
	empty, err := os.MkdirTemp("", "starhost-")
	if err != nil {
		return append(problems, "not tried in an empty folder: "+err.Error())
	}
	defer os.Remove(empty)
	for _, at := range []struct{ name, folder string }{{"an empty folder", empty}, {"the home folder", d.Getenv("HOME")}} {
		if at.folder == "" {
			continue
		}
		there := newLine(l.Scope, l.Path, &l.command)
		d.sendCanary(ctx, agent, &there, program, at.folder)
		switch {
		case there.Canary != "denied":
			problems = append(problems, fmt.Sprintf("in %s: %s", at.name, there.Why))
		case there.Revision != l.Revision:
			problems = append(problems, fmt.Sprintf(
				"in %s the plugins have other settings, permissions or limits than in %s: want a %s in the plugins' folder or repository",
				at.name, d.inHome(d.Project), loader.ConfigName))
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
		return "", errtext.File(name, err)
	case info.IsDir() || filepath.Separator == '/' && info.Mode()&0o111 == 0:
		return "", fmt.Errorf("%s is not executable", name)
	}
	return path, nil
}

// maxCanary is the most bytes of a line's output, and canaryTime is how long Doctor waits in addition to the
// deadline.
const (
	maxCanary  = 1 << 20
	canaryTime = 5 * time.Second
)

// sendCanary runs a line in a folder with a canary as its event, and reads the answer.
func (d *Doctor) sendCanary(
	ctx context.Context, agent *hook.Agent, l *Line, program, folder string,
) (problems []string) {
	limit := hook.Deadline
	if f, err := d.Parse(l.command.Argv); err == nil && f.Deadline > 0 {
		limit = f.Deadline
	}
	ctx, cancel := context.WithTimeout(ctx, limit+canaryTime)
	defer cancel()
	nonce := rand.Text()
	var out, stderr limitedBuffer
	cmd := exec.CommandContext(ctx, program, l.command.Argv[1:]...)
	cmd.Dir, cmd.Stdin = folder, strings.NewReader(agent.Canary(nonce, folder))
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &stderr, time.Second
	err := cmd.Run()
	l.Canary = "failed"
	fail := func(format string, args ...any) []string {
		l.Why = fmt.Sprintf(format, args...)
		return []string{l.Why}
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
	l.Canary = "denied"
	parts := strings.Split(strings.TrimPrefix(reason, hook.CanaryTool+" "+nonce+": "), "; ")
	for _, part := range parts {
		if rest, ok := strings.CutPrefix(part, "set "); ok {
			l.Revision = rest
		} else if rest, ok := strings.CutPrefix(part, hook.CanaryNote); ok {
			l.Notes = append(l.Notes, rest)
		} else if rest, ok := strings.CutPrefix(part, "guards "); ok {
			l.Guards = strings.FieldsFunc(rest, func(r rune) bool { return r == ',' || r == ' ' })
		} else {
			problems = append(problems, part)
		}
	}
	if len(l.Guards) == 0 {
		problems = append(problems, "no guard is loaded")
	}
	return problems
}

// canaryFailure returns the first line that a hook wrote when it failed.
func canaryFailure(code int, out, stderr string) string {
	for _, text := range []string{stderr, out} {
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line != "" {
				line = limitText(line)
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
