package loader

import (
	"errors"
	"slices"
	"time"
)

// A Key describes one key of the config, for the reference.
type Key struct {
	// Name is the key with its tables: "plugin.NAME.mode". Parts in capitals stand for any name.
	Name string `json:"key"`
	// Wants describes the valid values: "one of enforce, warn".
	Wants string `json:"value"`
	// Default is the built-in value as TOML; "" means none.
	Default string `json:"default"`
	// Project says in words whether a project's config may set the key, and for which plugins.
	Project string `json:"untrusted"`
	// Doc describes the key in sentences.
	Doc string `json:"doc"`
	// Example is a line of TOML that sets the key, with the names of the tables in front of the key.
	Example string `json:"example"`
	// Task says what users set the key for: a title, and a sentence about all keys of the task.
	Task struct{ Title, Doc string } `json:"-"`
}

// Keys describes all keys of the config, in the order of the reference.
func Keys() []Key {
	var keys []Key
	for _, s := range settings() {
		k := s.about
		k.Wants, k.Project = s.wants(), projects[s.right]
		for _, task := range tasks() {
			if slices.Contains(task.tables, s.key[0]) {
				k.Task.Title, k.Task.Doc = task.title, task.doc
			}
		}
		keys = append(keys, k)
	}
	return keys
}

// projects describes in words which rights a project's config has, by projectRight.
var projects = [...]string{
	ifTrusted: "if you trust it", userOnly: "never", always: "always", ownPlugins: "for its own plugins; if you trust it, for all",
	ownLimits: "for its own plugins; without trust, lower only", onlyOwnPlugins: "for its own plugins",
	managedOnly: "never, nor the user's: only the managed config",
	ownFolder:   "in its folder, for its own plugins; if you trust it, for all",
}

// A task is a purpose for which a user sets keys of the config.
type task struct {
	title, doc string
	tables     []string // the first parts of the keys
}

// tasks returns the tasks. Each table of the config serves one.
func tasks() []task {
	return []task{
		{"Choose plugins", "These keys say which plugins starhost loads, and where their libraries lie.", []string{"plugins", "libraries"}},
		{"Set up a plugin", "These keys give a plugin its settings, try it out with `mode`, and bound it.", []string{"plugin"}},
		{"Grant permissions and secrets", "A plugin reaches nothing outside of the sandbox without a grant. [Permissions](permissions.md) lists what you can grant.", []string{"grants", "secrets", "trust"}},
		{"Bound prompts", "These keys say how fragments become text, when starhost sends a fragment again, and how much fits.", []string{"prompt"}},
		{"Bound plugins and turns", "Work beyond one of these limits fails, and the error names the key.", []string{"limits"}},
		{"Guard calls", "`kinds` lets a guard see what a tool does that no agent's table has. `shell` names the runners that guards trust. `process` asks a program that is no plugin.", []string{"kinds", "shell", "process"}},
		{"Offer tools", "These keys choose the tools that a model gets, and add those of MCP servers.", []string{"tools", "mcp", "serve"}},
		{"Ask models", "`starhost run`, `chat` and `serve --proxy` ask these models. [Run](run.md) describes them.", []string{"model"}},
		{"Keep values and fragments", "`ctx.store`, aliases and `sha256:` references use one database. [Store](store.md) describes it.", []string{"store"}},
		{"Share a policy with many machines", "`starhost sync` keeps the bundles of a machine current. Only the managed config names them. [Fleet](fleet.md) describes it.", []string{"bundles", "status"}},
		{"Record decisions", "The decision log has a record of each event that a plugin heard. [Replay](replay.md) describes it.", []string{"log", "redact"}},
	}
}

// wants describes the valid values of the setting. It gets the words from the error that the setting returns
// for a date, because no setting accepts a date.
func (s *setting) wants() string {
	err := s.set(newConfig(), layerSetting{setting: s, key: s.key, value: time.Time{}, layer: &layer{}})
	if err == nil {
		err = errors.New("any value")
	}
	return err.Error()
}
