package main

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

	"github.com/starhost/starhost/serve/hook"
	"github.com/starhost/starhost/serve/settings"
)

// The grades that are no agent's own.
const (
	gradeHolds = "holds"
	gradeOff   = "off"
)

// unseen is what doctor cannot see of any agent.
const unseen = "the agent's flags, variables of other shells, and settings that an organisation sends"

// isManaged reports whether the settings of all users have a line.
func (x *diagnosis) isManaged() bool {
	return slices.ContainsFunc(x.lines, func(l hookLine) bool { return l.scope == "managed" })
}

// grade returns how the agent's guard holds, and what could lift it.
func (x *diagnosis) grade() (grade, by string) {
	if len(x.problems) > 0 {
		return gradeOff, "or could be"
	}
	return x.agent.Grade(x.isManaged())
}

// addFound adds something that runs beside starhost, or could lift its guard.
func (x *diagnosis) addFound(format string, args ...any) {
	x.found = append(x.found, fmt.Sprintf(format, args...))
}

// A settingsPlace is a settings file that doctor reads, with its scope.
type settingsPlace struct {
	scope string
	*settings.File
}

// allPlaces returns the agent's settings files, and those that can switch its hooks off.
func (d *doctor) allPlaces(agent *hook.Agent, files []*settings.File, scopes []string) (places []settingsPlace) {
	for i, f := range files {
		places = append(places, settingsPlace{scopes[i], f})
	}
	for _, name := range agent.Files.OffIn {
		scope, name, _ := strings.Cut(name, ":")
		folder := d.project
		switch scope {
		case "user":
			folder = agent.Files.UserFolder(d.getenv)
		case "managed":
			folder = filepath.Dir(filepath.Join(managedRoot, agent.Files.Managed(runtime.GOOS)))
		}
		path := filepath.Join(folder, filepath.FromSlash(name))
		f := &settings.File{Root: filepath.Dir(path), Name: filepath.Base(path), Format: settings.FormatOf(path)}
		places = append(places, settingsPlace{scope, f})
	}
	return places
}

// values returns the values of a settings file, nil if it does not exist or has a mistake, which
// other checks report.
func values(f *settings.File) map[string]any {
	text, exists, err := f.Read()
	if err != nil || !exists || f.Format == settings.Whole {
		return nil
	}
	all, err := f.Values(text)
	if err != nil {
		return nil
	}
	return all
}

// findLifts lists what runs beside starhost, and what lifts its guard in this agent.
func (d *doctor) findLifts(x *diagnosis, places []settingsPlace) {
	only := slices.ContainsFunc(places, func(p settingsPlace) bool {
		return p.scope == "managed" && x.agent.Files.ManagedOnly != "" && hasSetting(values(p.File), x.agent.Files.ManagedOnly, "")
	})
	var seen []string
	for _, p := range places {
		text, _, err := p.Read()
		if err != nil || slices.Contains(seen, p.Path()) {
			continue
		}
		seen = append(seen, p.Path())
		commands, _ := p.Commands(text) // a mistake has been reported
		for _, c := range commands {
			if x.agent.AsksAt(c.Event) && !ownerOf(x.agent)(c.Argv) && (p.scope == "managed" || !only) {
				x.addFound("%s: another hook runs at %s: %s", d.placeOf(p.File, c.Line), c.Event, limitText(c.Text))
			}
		}
	}
	if find := liftFinders[x.agent.Name]; find != nil {
		find(d, x, places)
	}
	d.checkVersion(x)
}

// placeOf returns a place for people.
func (d *doctor) placeOf(f *settings.File, line int) string {
	if line == 0 {
		return d.abbreviateHome(f.Path())
	}
	return fmt.Sprintf("%s:%d", d.abbreviateHome(f.Path()), line)
}

// liftFinders look at what only one agent has.
var liftFinders = map[string]func(*doctor, *diagnosis, []settingsPlace){
	"claude-code": (*doctor).findClaudeLifts,
	"codex":       (*doctor).findCodexLifts,
	"gptme":       (*doctor).findGptmeLifts,
	"hermes":      (*doctor).findHermesLifts,
	"opencode":    (*doctor).findOpencodeLifts,
}

func (d *doctor) findClaudeLifts(x *diagnosis, places []settingsPlace) {
	for _, p := range places {
		enabled, _ := values(p.File)["enabledPlugins"].(map[string]any)
		maps.DeleteFunc(enabled, func(_ string, on any) bool { return on != true })
		if len(enabled) > 0 {
			x.addFound("%s: plugins, whose hooks and code run beside starhost: %s", d.abbreviateHome(p.Path()),
				limitText(strings.Join(slices.Sorted(maps.Keys(enabled)), ", ")))
		}
	}
	remote := &settings.File{Root: x.agent.Files.UserFolder(d.getenv), Name: "remote-settings.json"}
	switch {
	case len(values(remote)) == 0:
	case x.isManaged():
		x.problems = append(x.problems, d.abbreviateHome(remote.Path())+" replaces the managed file, and with it starhost's line")
	default:
		x.addFound("%s has settings of an organisation", d.abbreviateHome(remote.Path()))
	}
}

// findCodexLifts looks for hooks that Codex does not run: those of the user and of projects run
// only after a person trusts them.
func (d *doctor) findCodexLifts(x *diagnosis, places []settingsPlace) {
	config := &settings.File{Root: x.agent.Files.UserFolder(d.getenv), Name: "config.toml", Format: settings.TOML}
	all := values(config)
	hooks, _ := all["hooks"].(map[string]any)
	state, _ := hooks["state"].(map[string]any)
	for _, p := range places {
		text, _, err := p.Read()
		if err != nil || p.scope == "managed" || p.Format != settings.JSON {
			continue
		}
		commands, _ := p.Commands(text)
		for _, c := range commands {
			if !ownerOf(x.agent)(c.Argv) || !x.agent.AsksAt(c.Event) {
				continue
			}
			if why := codexDistrust(state, p.File, text, &c); why != "" {
				x.problems = append(x.problems, fmt.Sprintf("%s: Codex does not run it: %s", d.placeOf(p.File, c.Line), why))
			}
		}
	}
	profiles, _ := all["profiles"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(profiles)) {
		profile, _ := profiles[name].(map[string]any)
		if !x.isManaged() && hasSetting(profile, "features.hooks=false", "") {
			x.addFound("%s: the profile %s switches hooks off", d.abbreviateHome(config.Path()), strconv.Quote(limitText(name)))
		}
	}
}

// codexDistrust says why Codex does not run a hook, by the states in the user's config.toml. Codex
// knows a hook by the place of its line, and trusts it with its hash.
func codexDistrust(states map[string]any, f *settings.File, text []byte, c *settings.Command) string {
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

// codexHash returns the hash of a hook as Codex 0.169 computes it: of the sorted JSON of the event,
// the matcher and the hook with its defaults.
func codexHash(f *settings.File, text []byte, event string, c *settings.Command) string {
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
	sum := sha256.Sum256(mustJSON(whole))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// findGptmeLifts looks for a project that enables other plugins alone.
func (d *doctor) findGptmeLifts(x *diagnosis, _ []settingsPlace) {
	config := &settings.File{Root: d.project, Name: "gptme.toml", Format: settings.TOML}
	plugins, _ := values(config)["plugins"].(map[string]any)
	enabled, ok := plugins["enabled"].([]any)
	if ok && !slices.Contains(enabled, any("starhost")) {
		x.problems = append(x.problems, d.abbreviateHome(config.Path())+": the project enables other plugins, and not starhost ([plugins] enabled)")
	}
}

// findHermesLifts looks for lines that nobody allowed. Hermes asks for each at a terminal, and
// skips it elsewhere.
func (d *doctor) findHermesLifts(x *diagnosis, _ []settingsPlace) {
	name := filepath.Join(x.agent.Files.UserFolder(d.getenv), "shell-hooks-allowlist.json")
	text, err := os.ReadFile(name)
	var all struct {
		Approvals []struct{ Event, Command string }
	}
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	config := &settings.File{Root: x.agent.Files.UserFolder(d.getenv), Name: "config.yaml", Format: settings.YAML}
	if values(config)["hooks_auto_accept"] == true {
		return
	}
	for _, l := range x.lines {
		allowed := slices.ContainsFunc(all.Approvals, func(a struct{ Event, Command string }) bool {
			return a.Command == l.Text && x.agent.AsksAt(a.Event)
		})
		if err != nil || !allowed {
			x.problems = append(x.problems, fmt.Sprintf("%s:%d: nobody allowed Hermes this line, so it skips it without a terminal (%s)",
				d.abbreviateHome(l.path), l.Line, d.abbreviateHome(name)))
		}
	}
}

// findOpencodeLifts looks for other plugins.
func (d *doctor) findOpencodeLifts(x *diagnosis, places []settingsPlace) {
	for _, p := range places {
		for _, folder := range []string{"plugin", "plugins"} {
			folder = filepath.Join(filepath.Dir(filepath.Dir(p.Path())), folder)
			entries, _ := os.ReadDir(folder) // no folder has no plugins
			for _, e := range entries {
				if ext := filepath.Ext(e.Name()); (ext == ".js" || ext == ".ts") && e.Name() != "starhost.js" {
					x.addFound("another plugin: %s", d.abbreviateHome(filepath.Join(folder, e.Name())))
				}
			}
		}
	}
}

// lacks says what versions of an agent's program before one do not have.
var lacks = map[string]struct{ version, what string }{
	"claude-code": {"2.1.295", "a call runs if starhost is missing or late (onFailure)"},
}

// checkVersion reports a program that is older than the one that the agent's row describes: npm
// installs an old version without a word if Node is old.
func (d *doctor) checkVersion(x *diagnosis) {
	version := programVersion(x.program)
	if l, ok := lacks[x.agent.Name]; ok && isOlder(version, l.version) {
		x.problems = append(x.problems, fmt.Sprintf("%s has version %s, before %s: %s", x.agent.Title, version, l.version, l.what))
		return
	}
	if seen, run := strings.CutSuffix(x.agent.Seen, ", run"); run && isOlder(version, seen) {
		x.addFound("%s has version %s: what starhost says of it is what version %s does", x.agent.Title, version, seen)
	}
}

// programVersion returns the version of a program that npm installed, or whose path has it, without
// running it; "" for any other.
func programVersion(program string) string {
	real, err := filepath.EvalSymlinks(program)
	if err != nil {
		return ""
	}
	if v := filepath.Base(real); isVersion(v) { // Claude Code's own installer
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

var versionForm = regexp.MustCompile(`^\d+(\.\d+)+`)

func isVersion(text string) bool { return versionForm.MatchString(text) && len(text) < 40 }

// isOlder compares the numbers of two versions. Nothing is older than a text that is no version.
func isOlder(version, than string) bool {
	if !isVersion(version) || !isVersion(than) {
		return false
	}
	return slices.Compare(versionNumbers(version), versionNumbers(than)) < 0
}

func versionNumbers(version string) (numbers []int) {
	for part := range strings.SplitSeq(versionForm.FindString(version), ".") {
		n, _ := strconv.Atoi(part) // a number too large for an int is no version
		numbers = append(numbers, n)
	}
	return numbers
}
