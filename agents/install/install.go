package install

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/serve/hook"
)

// A Machine says where agents have their settings.
type Machine struct {
	// Dir is the current folder; "" means the one of the process.
	Dir string
	// Root precedes the paths of managed settings. Only tests set it.
	Root string
	// Getenv returns environment variables.
	Getenv func(string) string
}

// inHome returns a path in a form for people, with "~" for the home folder.
func (m *Machine) inHome(path string) string { return errtext.InHome(m.Getenv("HOME"), path) }

// A Misuse is a mistake in what the caller asks for, such as settings that an agent does not have.
type Misuse string

func (m Misuse) Error() string { return string(m) }

func misusef(format string, args ...any) error { return Misuse(fmt.Sprintf(format, args...)) }

// A Scope says whose settings a command changes. At most one of the first three fields is set. If none is,
// the command changes the user's settings.
type Scope struct {
	User, Project, Managed bool
	File                   string // the file to change in place of the agent's usual one; or ""
}

// Flags are the flags in a line of starhost hook that settings depend on.
type Flags struct {
	Deadline          time.Duration // 0 means the agent's own timeout
	FailOpen, Project bool
	Paths             []string // the plugins that the line names
}

// answerMargin is how much longer the agent waits than starhost takes for an answer.
const answerMargin = time.Second

// Timeout returns how long the agent waits for an answer. Without a deadline, that is as long as it waits by
// itself.
func (f *Flags) Timeout(agent *hook.Agent) time.Duration {
	if f.Deadline > 0 {
		return (f.Deadline + answerMargin + time.Second - 1).Truncate(time.Second)
	}
	return agent.Timeout
}

// Settings returns settings that run a program with these flags and with others. If there is no deadline, the
// line gets one: the agent's timeout less answerMargin.
func (f *Flags) Settings(agent *hook.Agent, program string, others []string) hook.Settings {
	timeout := f.Timeout(agent)
	if f.Deadline <= 0 {
		others = append(others, "--deadline", (timeout - answerMargin).String())
	}
	argv := slices.Concat([]string{program, "hook", agent.Name}, others, f.Paths)
	return hook.Settings{Command: argv, Timeout: timeout, FailOpen: f.FailOpen}
}

// SettingsFile returns the agent's settings file.
func (m *Machine) SettingsFile(agent *hook.Agent, s *Scope) (*File, error) {
	files := &agent.Files
	count := 0
	for _, set := range []bool{s.User, s.Project, s.Managed} {
		if set {
			count++
		}
	}
	if count > 1 {
		return nil, misusef("got several of --user, --project and --managed, want one")
	}
	f := &File{Mode: 0o600}
	if s.Project || s.Managed {
		f.Mode = 0o644 // other users must be able to read it
	}
	none := func(whose string) error {
		return misusef("%s has no file for %s that starhost knows; --settings FILE names one", agent.Title, whose)
	}
	switch {
	case s.File != "":
		full, err := filepath.Abs(loader.NewPath(m.Dir, s.File).Real)
		if err != nil {
			return nil, err
		}
		f.Root, f.Name = filepath.Dir(full), filepath.Base(full)
	case s.Project:
		root, err := loader.Workspace(m.Dir)
		if err != nil {
			return nil, err
		}
		if f.Root, f.Name = root, files.Project; f.Name == "" {
			return nil, none("projects")
		}
	case s.Managed:
		name := files.Managed(runtime.GOOS)
		if name == "" {
			return nil, none("all users")
		}
		name = filepath.Join(m.Root, filepath.FromSlash(name))
		f.Root, f.Name = filepath.Dir(name), filepath.Base(name)
	case files.User == "":
		return nil, misusef("%s has a file for each of its agents: name one with --settings FILE", agent.Title)
	default:
		f.Root, f.Name = filepath.FromSlash(files.UserFolder(m.Getenv)), files.User
	}
	return f, nil
}

// pieceFile returns the file that a piece belongs into.
func pieceFile(main *File, p *hook.Piece) *File {
	f := *main
	if p.Name != "" {
		f.Name = path.Join(path.Dir(main.Name), p.Name)
	}
	if f.format = formatOf(f.Name); p.Whole {
		f.format = formWhole
	}
	if strings.HasPrefix(p.Text, "#!") {
		f.Mode |= f.Mode & 0o444 >> 2
	}
	return &f
}

// ownerOf returns a function that recognises the lines of starhost for an agent.
func ownerOf(agent *hook.Agent) owner {
	return func(argv []string) bool {
		return len(argv) > 2 && programName(argv[0]) == "starhost" && argv[1] == "hook" && argv[2] == agent.Name
	}
}

// programName returns a program's name without its folder.
func programName(program string) string {
	program = program[strings.LastIndexAny(program, `/\`)+1:]
	return strings.TrimSuffix(program, ".exe")
}

// A Result says what installing or uninstalling did.
type Result struct {
	Files []Installed `json:"files"`
	Next  string      `json:"next"`  // the next step, which the user must take; or ""
	Lifts string      `json:"lifts"` // a sentence about what can lift the guard; or ""
}

// An Installed is a file that changed, or that a person should change.
type Installed struct {
	Path   string `json:"path"`
	State  string `json:"state"` // written, unchanged, removed, or by hand
	Backup string `json:"backup"`
	Why    string `json:"why"`   // why a person must change it
	Lines  string `json:"lines"` // what a person must add
}

const byHand = "by hand"

// IsByHand reports whether a person must change one of the files.
func (r *Result) IsByHand() bool {
	return slices.ContainsFunc(r.Files, func(f Installed) bool { return f.State == byHand })
}

// WriteText writes the result for a person. home is the person's home folder.
func (r *Result) WriteText(w io.Writer, home string) {
	written := false
	for _, f := range r.Files {
		fmt.Fprintf(w, "%s: %s", f.State, texttable.EscapeLine(errtext.InHome(home, f.Path)))
		if f.Backup != "" {
			fmt.Fprintf(w, " (backup: %s)", texttable.EscapeLine(filepath.Base(f.Backup)))
		}
		if f.Why != "" {
			fmt.Fprintf(w, " (%s)", f.Why)
		}
		io.WriteString(w, "\n")
		if f.Lines != "" {
			io.WriteString(w, "add these lines:\n"+f.Lines)
		}
		written = written || f.State == "written"
	}
	if r.Next != "" && written {
		fmt.Fprintf(w, "next: %s\n", r.Next)
	}
	if r.Lifts != "" && written {
		fmt.Fprintf(w, "note: %s\n", r.Lifts)
	}
}

// Install merges settings into the agent's files. main is the first of these files.
func (m *Machine) Install(agent *hook.Agent, main *File, line *hook.Settings) (*Result, error) {
	r := &Result{Files: []Installed{}, Next: agent.Files.Next, Lifts: liftSentence(agent, line.Managed)}
	var changes []*change
	for _, p := range agent.Pieces(*line) {
		file := pieceFile(main, &p)
		c, err := file.Install([]byte(p.Text), ownerOf(agent))
		switch {
		case errors.Is(err, errByHand):
			r.Files = append(r.Files, Installed{Path: file.Path(), State: byHand, Why: err.Error(), Lines: p.Text})
		case err != nil:
			return nil, m.fileError(file, err)
		default:
			changes = append(changes, c)
		}
	}
	if len(r.Files) > 0 {
		return r, nil // half of the files would make no guard
	}
	return r, m.apply(r, changes)
}

// Uninstall removes the settings of starhost from the agent's files. line says which settings these are.
func (m *Machine) Uninstall(agent *hook.Agent, main *File, line *hook.Settings) (*Result, error) {
	r := &Result{Files: []Installed{}}
	var changes []*change
	for _, p := range agent.Pieces(*line) {
		file, void := pieceFile(main, &p), []byte(p.Text)
		if file.format != formWhole {
			var err error
			if void, err = file.Remove(void, ownerOf(agent)); err != nil && !errors.Is(err, errByHand) {
				return nil, err
			}
		}
		c, err := file.Uninstall(void, ownerOf(agent))
		switch {
		case errors.Is(err, errByHand):
			r.Files = append(r.Files, Installed{Path: file.Path(), State: byHand, Why: err.Error()})
		case err != nil:
			return nil, m.fileError(file, err)
		default:
			changes = append(changes, c)
		}
	}
	err := m.apply(r, changes)
	if info, _ := os.Lstat(main.Root); line.Managed && info != nil && info.IsDir() {
		_ = os.Remove(main.Root) // it is the agent's, and goes if it is empty now
	}
	return r, err
}

// apply makes the changes, and adds them to the result.
func (m *Machine) apply(r *Result, changes []*change) error {
	for _, c := range changes {
		done := Installed{Path: c.File.Path(), State: "unchanged"}
		if c.IsNeeded() {
			if err := c.Apply(); err != nil {
				return m.fileError(c.File, err)
			}
			done.State, done.Backup = "written", c.Backup
			if c.Text == nil {
				done.State = "removed"
			}
		}
		r.Files = append(r.Files, done)
	}
	return nil
}

// liftSentence returns a sentence that says what can lift a guard. If managed settings stop that, it proposes
// them.
func liftSentence(agent *hook.Agent, managed bool) string {
	grade, by := agent.Grade(managed)
	if by == "" {
		return ""
	}
	text := fmt.Sprintf("the guard %s %s", grade, by)
	if stopped := agent.Stopped(); !managed && stopped != "" && agent.Files.Managed(runtime.GOOS) != "" {
		text += fmt.Sprintf(" (starhost hook install %s --managed stops %s)", agent.Name, stopped)
	}
	return text
}

// Plugins returns the paths of plugins in the form for a line: absolute, or from the project's root if the
// line belongs into a project's settings. main is the settings file.
func (m *Machine) Plugins(main *File, inProject bool, paths []string) ([]string, error) {
	var full []string
	for _, p := range paths {
		name, err := filepath.Abs(loader.NewPath(m.Dir, p).Real)
		if err != nil {
			return nil, err
		}
		if _, err := os.Stat(name); err != nil {
			return nil, loader.NewPath(m.Dir, p).Explain(err)
		}
		if inProject {
			rel, err := filepath.Rel(main.Root, name)
			if err != nil || !filepath.IsLocal(rel) {
				return nil, misusef("%s is outside of the project %s, want a plugin inside, or no --project", p, main.Root)
			}
			name = filepath.ToSlash(rel)
		}
		full = append(full, name)
	}
	return full, nil
}

// OwnProgram returns the path of this program. If the program in PATH is the same file, it returns the path
// from there, because an update may change the target of a link in PATH.
func OwnProgram() (string, error) {
	own, err := os.Executable()
	if err != nil {
		return "", err
	}
	if named, err := exec.LookPath("starhost"); err == nil && isSameFile(named, own) {
		return filepath.Abs(named)
	}
	return own, nil
}

// isSameFile reports whether two paths lead to one file.
func isSameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// fileError returns an error about a settings file, with its place.
func (m *Machine) fileError(f *File, err error) error {
	name := m.inHome(f.Path())
	if at, ok := errors.AsType[*mistake](err); ok {
		if at.Line > 0 {
			name = loader.Place{File: name, Line: at.Line, Col: at.Column}.String()
		}
		return errtext.File(name, errors.New(at.Message))
	}
	if errors.Is(err, fs.ErrNotExist) {
		name = m.inHome(filepath.Dir(f.Path()))
	}
	return errtext.File(name, err)
}
