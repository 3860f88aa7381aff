package install

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/serve/hook"
)

// These are the grades that callers compare with.
const (
	GradeHolds = "holds"
	GradeOff   = "off"
)

// unseen says what Doctor cannot see of any agent.
const unseen = "the agent's flags, variables of other shells, and settings that an organisation sends"

// isManaged reports whether the settings of all users have a line of starhost.
func (x *Diagnosis) isManaged() bool {
	return slices.ContainsFunc(x.Lines, func(l Line) bool { return l.Scope == "managed" })
}

// grade says how the agent's guard holds, and what can lift it.
func (x *Diagnosis) grade() (grade, by string) {
	if len(x.Problems) > 0 {
		return GradeOff, "or could be"
	}
	return x.agent.Grade(x.isManaged())
}

// addFound adds a text about something that runs beside starhost, or that may lift its guard.
func (x *Diagnosis) addFound(format string, args ...any) {
	x.Found = append(x.Found, fmt.Sprintf(format, args...))
}

// A settingsPlace is a settings file that doctor reads, with its scope.
type settingsPlace struct {
	scope string
	*File
}

// allPlaces returns the agent's settings files, and the further files that can switch its hooks off.
func (d *Doctor) allPlaces(agent *hook.Agent, files []*File, scopes []string) (places []settingsPlace) {
	for i, f := range files {
		places = append(places, settingsPlace{scopes[i], f})
	}
	for _, name := range agent.Files.OffIn {
		scope, name, _ := strings.Cut(name, ":")
		folder := d.Project
		switch scope {
		case "user":
			folder = agent.Files.UserFolder(d.Getenv)
		case "managed":
			folder = filepath.Dir(filepath.Join(d.Root, agent.Files.Managed(runtime.GOOS)))
		}
		path := filepath.Join(folder, filepath.FromSlash(name))
		f := &File{Root: filepath.Dir(path), Name: filepath.Base(path), format: formatOf(path)}
		places = append(places, settingsPlace{scope, f})
	}
	return places
}

// valuesOf returns the values of a settings file. It returns nil if the file is missing or has a mistake,
// which other checks report.
func valuesOf(f *File) map[string]any {
	text, exists, err := f.Read()
	if err != nil || !exists || f.format == formWhole {
		return nil
	}
	all, err := f.Values(text)
	if err != nil {
		return nil
	}
	return all
}

// findLifts lists what runs beside starhost, and what may lift its guard in this agent.
func (d *Doctor) findLifts(x *Diagnosis, places []settingsPlace) {
	only := slices.ContainsFunc(places, func(p settingsPlace) bool {
		return p.scope == "managed" && x.agent.Files.ManagedOnly != "" && hasSetting(valuesOf(p.File), x.agent.Files.ManagedOnly, "")
	})
	var seen []string
	for _, p := range places {
		text, _, err := p.Read()
		if err != nil || slices.Contains(seen, p.Path()) {
			continue
		}
		seen = append(seen, p.Path())
		commands, _ := p.Commands(text) // another check has reported the mistake
		for _, c := range commands {
			if x.agent.AsksAt(c.Event) && !ownerOf(x.agent)(c.Argv) && (p.scope == "managed" || !only) {
				x.addFound("%s: another hook runs at %s: %s", d.placeOf(p.File, c.Line), c.Event, limitText(c.Text))
			}
		}
	}
	for i := range liftFinders {
		if f := &liftFinders[i]; f.agent == x.agent.Name {
			f.find(d, x, places)
		}
	}
	d.checkVersion(x)
}

// placeOf returns a line of a file in a form for people.
func (d *Doctor) placeOf(f *File, line int) string {
	if line == 0 {
		return d.inHome(f.Path())
	}
	return fmt.Sprintf("%s:%d", d.inHome(f.Path()), line)
}

// liftFinders look at what only one agent has. They are a list, because making a map costs time at each
// start.
var liftFinders = []struct {
	agent string
	find  func(*Doctor, *Diagnosis, []settingsPlace)
}{
	{"claude-code", (*Doctor).findClaudeLifts},
	{"codex", (*Doctor).findCodexLifts},
	{"gptme", (*Doctor).findGptmeLifts},
	{"hermes", (*Doctor).findHermesLifts},
	{"opencode", (*Doctor).findOpencodeLifts},
}

func (d *Doctor) findClaudeLifts(x *Diagnosis, places []settingsPlace) {
	for _, p := range places {
		enabled, _ := valuesOf(p.File)["enabledPlugins"].(map[string]any)
		maps.DeleteFunc(enabled, func(_ string, on any) bool { return on != true })
		if len(enabled) > 0 {
			x.addFound("%s: plugins, whose hooks and code run beside starhost: %s", d.inHome(p.Path()),
				limitText(strings.Join(slices.Sorted(maps.Keys(enabled)), ", ")))
		}
	}
	remote := &File{Root: x.agent.Files.UserFolder(d.Getenv), Name: "remote-settings.json"}
	switch {
	case len(valuesOf(remote)) == 0:
	case x.isManaged():
		x.Problems = append(x.Problems, d.inHome(remote.Path())+" replaces the managed file, and with it starhost's line")
	default:
		x.addFound("%s has settings of an organisation", d.inHome(remote.Path()))
	}
}

// findCodexLifts looks for hooks that Codex does not run. Codex runs the hooks of the user and of projects
// only after a person has trusted them.
func (d *Doctor) findCodexLifts(x *Diagnosis, places []settingsPlace) {
	config := &File{Root: x.agent.Files.UserFolder(d.Getenv), Name: "config.toml", format: formTOML}
	all := valuesOf(config)
	hooks, _ := all["hooks"].(map[string]any)
	state, _ := hooks["state"].(map[string]any)
	for _, p := range places {
		text, _, err := p.Read()
		if err != nil || p.scope == "managed" || p.format != formJSON {
			continue
		}
		commands, _ := p.Commands(text)
		for _, c := range commands {
			if !ownerOf(x.agent)(c.Argv) || !x.agent.AsksAt(c.Event) {
				continue
			}
			if why := codexDistrust(state, p.File, text, &c); why != "" {
				x.addProblem("%s: Codex does not run it: %s", d.placeOf(p.File, c.Line), why)
			}
		}
	}
	profiles, _ := all["profiles"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(profiles)) {
		profile, _ := profiles[name].(map[string]any)
		if !x.isManaged() && hasSetting(profile, "features.hooks=false", "") {
			x.addFound("%s: the profile %s switches hooks off", d.inHome(config.Path()), strconv.Quote(limitText(name)))
		}
	}
}

// codexDistrust says why Codex does not run a hook. The states in the user's config.toml say which hooks a
// person trusts: Codex identifies a hook by the place of its line, and compares its hash.
func codexDistrust(states map[string]any, f *File, text []byte, c *commandLine) string {
	event := strings.ToLower(regexp.MustCompile(`\B[A-Z]`).ReplaceAllString(c.Event, "_$0"))
	paths := []string{f.Path()}
	if real, err := filepath.EvalSymlinks(f.Path()); err == nil {
		paths = append(paths, real)
	}
	var state map[string]any
	for _, path := range paths {
		if s, ok := states[fmt.Sprintf("%s:%s:%d:%d", path, event, c.Group, c.Index)].(map[string]any); ok {
			state = s
		}
	}
	hash, _ := state["trusted_hash"].(string)
	switch {
	case state["enabled"] == false:
		return "it is disabled in hooks.state of config.toml"
	case hash == "":
		return "nobody trusts it yet (/hooks in Codex, or starhost hook install codex --managed)"
	case hash != codexHash(f, text, event, c):
		return "it changed since it was trusted (/hooks in Codex)"
	}
	return ""
}

// codexHash returns the hash that Codex 0.169 computes of a hook: of the sorted JSON of the event, the
// matcher and the hook with its defaults.
func codexHash(f *File, text []byte, event string, c *commandLine) string {
	all, err := f.Values(text)
	if err != nil {
		return ""
	}
	hooks, _ := all["hooks"].(map[string]any)
	groups, _ := hooks[c.Event].([]any)
	if c.Group >= len(groups) {
		return ""
	}
	group, _ := groups[c.Group].(map[string]any)
	list, _ := group["hooks"].([]any)
	if c.Index >= len(list) {
		return ""
	}
	entry, _ := list[c.Index].(map[string]any)
	identity := map[string]any{"type": "command", "async": false, "timeout": 600}
	for _, name := range []string{"command", "timeout", "async", "statusMessage"} {
		if v, ok := entry[name]; ok {
			identity[name] = v
		}
	}
	whole := map[string]any{"event_name": event, "hooks": []any{identity}}
	if matcher, ok := group["matcher"]; ok && event != "user_prompt_submit" && event != "stop" {
		whole["matcher"] = matcher
	}
	if text, err = jsontext.Encode(whole); err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// findGptmeLifts looks for a project whose settings enable other plugins only.
func (d *Doctor) findGptmeLifts(x *Diagnosis, _ []settingsPlace) {
	config := &File{Root: d.Project, Name: "gptme.toml", format: formTOML}
	plugins, _ := valuesOf(config)["plugins"].(map[string]any)
	enabled, ok := plugins["enabled"].([]any)
	if ok && !slices.Contains(enabled, any("starhost")) {
		x.Problems = append(x.Problems, d.inHome(config.Path())+": the project enables other plugins, and not starhost ([plugins] enabled)")
	}
}

// findHermesLifts looks for lines that nobody has allowed. Hermes asks for each line at a terminal, and skips
// it elsewhere.
func (d *Doctor) findHermesLifts(x *Diagnosis, _ []settingsPlace) {
	name := filepath.Join(x.agent.Files.UserFolder(d.Getenv), "shell-hooks-allowlist.json")
	text, err := os.ReadFile(name)
	var all struct {
		Approvals []struct{ Event, Command string }
	}
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	config := &File{Root: x.agent.Files.UserFolder(d.Getenv), Name: "config.yaml", format: formYAML}
	if valuesOf(config)["hooks_auto_accept"] == true {
		return
	}
	for _, l := range x.Lines {
		allowed := slices.ContainsFunc(all.Approvals, func(a struct{ Event, Command string }) bool {
			return a.Command == l.command.Text && x.agent.AsksAt(a.Event)
		})
		if err != nil || !allowed {
			x.addProblem("%s:%d: nobody allowed Hermes this line, so it skips it without a terminal (%s)",
				d.inHome(l.Path), l.Line, d.inHome(name))
		}
	}
}

// findOpencodeLifts looks for other plugins of opencode.
func (d *Doctor) findOpencodeLifts(x *Diagnosis, places []settingsPlace) {
	for _, p := range places {
		for _, folder := range []string{"plugin", "plugins"} {
			folder = filepath.Join(filepath.Dir(filepath.Dir(p.Path())), folder)
			entries, _ := os.ReadDir(folder) // a missing folder has no plugins
			for _, e := range entries {
				if ext := filepath.Ext(e.Name()); (ext == ".js" || ext == ".ts") && e.Name() != "starhost.js" {
					x.addFound("another plugin: %s", d.inHome(filepath.Join(folder, e.Name())))
				}
			}
		}
	}
}

// lacks says what the versions of an agent's program before a certain one do not have.
var lacks = []struct{ agent, version, what string }{
	{"claude-code", "2.1.295", "a call runs if starhost is missing or late (onFailure)"},
}

// checkVersion reports a program that is older than the version that the agent's row describes. npm silently
// installs an old version if Node is old.
func (d *Doctor) checkVersion(x *Diagnosis) {
	version := programVersion(x.Program)
	for _, l := range lacks {
		if l.agent != x.agent.Name || !isOlder(version, l.version) {
			continue
		}
		x.addProblem("%s has version %s, before %s: %s", x.agent.Title, version, l.version, l.what)
		return
	}
	if seen, run := strings.CutSuffix(x.agent.Seen, ", run"); run && isOlder(version, seen) {
		x.addFound("%s has version %s: what starhost says of it is what version %s does", x.agent.Title, version, seen)
	}
}

// programVersion returns the version of a program without running it, if npm installed the program or its
// path has the version. It returns "" otherwise.
func programVersion(program string) string {
	real, err := filepath.EvalSymlinks(program)
	if err != nil {
		return ""
	}
	if v := filepath.Base(real); isVersion(v) { // a program from Claude Code's own installer
		return v
	}
	folder := real
	for range 4 {
		folder = filepath.Dir(folder)
		text, err := os.ReadFile(filepath.Join(folder, "package.json"))
		var pkg struct{ Version string }
		if err == nil && json.Unmarshal(text, &pkg) == nil && isVersion(pkg.Version) {
			return pkg.Version
		}
	}
	return ""
}

// versionForm matches the numbers at the beginning of a version.
var versionForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\d+(\.\d+)+`) })

func isVersion(text string) bool { return versionForm().MatchString(text) && len(text) < 40 }

// isOlder reports whether a version is older than another, by its numbers. Nothing is older than a text that
// is no version.
func isOlder(version, than string) bool {
	if !isVersion(version) || !isVersion(than) {
		return false
	}
	return slices.Compare(versionNumbers(version), versionNumbers(than)) < 0
}

func versionNumbers(version string) (numbers []int) {
	for part := range strings.SplitSeq(versionForm().FindString(version), ".") {
		n, _ := strconv.Atoi(part) // a number that is too large for an int belongs to no version
		numbers = append(numbers, n)
	}
	return numbers
}
