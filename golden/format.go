package golden

import (
	"embed"

	"github.com/starhost/starhost/builtins/call"
)

// formatCases has a whole case for each section, which shows its use.
//
//go:embed format
var formatCases embed.FS

// A formatPart is a part of the format of cases.
type formatPart struct {
	kind partKind
	name string // the name of the part; the name of a member begins with that of its section: session.json.turn
	doc  string // a description, whose first line is a complete sentence
	// example is the name of a file in formatCases without its suffix; "" for a part without an example.
	example string
}

// A partKind is the kind of a part of the format.
type partKind int

const (
	fileSection   partKind = iota
	folderSection          // a folder, so that the name in a case is FOLDER/FILE
	member                 // the name of a member in a section's JSON
	heading                // the beginning of a line in a section
)

// A formatChapter is a chapter of the description of cases.
type formatChapter struct {
	title, doc string
	parts      []formatPart
}

// format is the only description of the sections of a case. The parser, the reference pages and the tests
// read it.
var format = []formatChapter{
	{"The file", `A case is a txtar file: a sentence that says what must hold, then sections.
A line such as -- case.star -- begins a section, which ends at the next such line. A case with a
section that this page does not have fails. A case also fails if it has a part that no
plugin and no step used: a file, a fragment, a variable, a time, an effect, an event or a key of a row. Such a part
tests nothing, and starhost test --prune removes it. A line of a file that would begin a section, such
as -- want --, has a backslash in front, which the file does not have.`, []formatPart{
		{fileSection, scriptSection, `The steps of the case, in Starlark.
Each step prints a heading and its result. All steps share one session and one store. A turn lasts
from one prompt step to the next, to a step that fails, or to a step that changes the time. A step
outside of a turn begins a turn with an empty message. In a case without this section, the plugins
must not load: see want.load.`, "case.star"},
		{fileSection, wantSection, `The output that the steps must have; starhost test --update writes it.
A text of one line is quoted, except a JSON object or list. The lines of a longer text follow a "|".
A line that would begin a section has a backslash in front. A second prompt shows only the messages
that differ from the first prompt. One line about the prompt follows: its fragments, attachments and
tools, and what is not sent. prompt(…, report = True) has their sizes and hashes too, and a want that
an earlier version of starhost wrote keeps them.`, "want"},
		{heading, wantSection + ".load", `The error of plugins that must not load, as with a setting that they refuse.
Such a case has no case.star. If the plugins load, the case fails.`, "refused"},
		{fileSection, configSection, `The operator's config; the case reads no other one.
Paths in the config begin at the case's folder. In a case, each plugin gets all permissions that it declares.
If the section has grants for a plugin, the plugin gets only these grants: with NAME = [] it gets none.`, "config.toml"},
		{fileSection, envSection, `Environment variables and secrets, in lines NAME=VALUE.
A variable or secret NAME that the section does not set has the value test-NAME. Nothing of the
machine's environment is visible.`, "env"},
		{folderSection, pluginsDir + "/NAME.star", `A further plugin, or a file of one: plugins/NAME/plugin.star.
A case that is not beside a plugin has all its plugins in this folder. Such a case may have any name.`, "plugins"},
		{folderSection, workspaceDir + "/FILE", `A file of the workspace, which is in memory.
Nothing of the machine's files is visible. A picture or other data is workspace/FILE.base64, in
base64.`, "workspace"},
		{folderSection, fragmentsDir + "/ALIAS", `A text in the store of fragments, under that alias.
The case's prompts add their fragments to the store.`, "fragments"},
		{fileSection, eventsFile, `The app.* events that the program around the plugins declares, a line each.
The step fire fires them.`, "events.jsonl"},
		{member, eventsFile + ".name", "The name of the event, as app.deploy.", ""},
		{member, eventsFile + ".args", "The names of the event's arguments, a list.", ""},
		{member, eventsFile + ".actions", `The decisions that hooks may return, a list, as ["context", "deny"].`, ""},
		{member, eventsFile + ".modify", "The arguments that hooks may change, a list.", ""},
		{member, eventsFile + ".guard", "Whether a hook that fails denies.", ""},
	}},
	{"Tables of inputs", `A case with the section rows.jsonl runs its steps once for each line of it.
Each row runs as a separate case: it has its session, its store and its replies to effects. It passes
or fails at its line, starhost test PATH::CASE/ROW runs it alone, and --update rewrites its output
alone. A part of the case counts as used if one row used it. --prune and --record run all rows.`, []formatPart{
		{fileSection, rowsFile, `The table, a JSON object a line.
The step row returns a value of the row that runs. All lines have the same keys, and a case uses each
of them. At most 1000 rows with 65536 bytes each.`, "rows.jsonl"},
		{member, rowsFile + ".name", "The name of the row, the first key: " + rowNameRule + ".", ""},
		{folderSection, wantSection + "/ROW", `The output that the steps must have for the row of that name.
A case with rows has these sections in place of want.`, "want_row"},
	}},
	{"Clock", `The time of a case stands still, except when a step moves it.
The time begins at 2026-01-01T00:00:00Z, unless the section now says otherwise. The steps advance and
set_now change it from the next turn on, so that a turn has one time. Plugins read the time as ctx.now.`, []formatPart{
		{fileSection, nowSection, "The time at the start, as 2026-03-01T09:00:00Z, or a day.", "now"},
	}},
	{"Effects", `A case reaches neither the network nor programs: effects.jsonl replies in their place.
A request or program without a reply fails the case, and the error shows the line to add. The flag
--record of starhost test runs each such request and program once, writes the lines and lists what it ran. The
flag works only in a project that you trust, and if the variable CI is not set. The lines lack headers that differ each time, as date. Secrets appear in the lines as <secret NAME>. Other effects, such as files and
the store, need no line.`, []formatPart{
		{fileSection, effectsFile, `Replies to effects, a line each, in the form of the decision log.
A line answers every effect whose request has all members that the line states, each as a whole: a
line may leave out the headers, or state all of them. The body of a request is a text, also if the
plugin gave json. Lines with the same request answer in turn, and the last of them answers all further
requests.`, "effects.jsonl"},
		{member, effectsFile + ".http.get", `The request, as {"url": "https://x.test/", "headers": {}}. http.post and http.request have a body, too.`, ""},
		{member, effectsFile + ".exec", `The program, as {"argv": ["date", "-u"]}, with stdin and env if the plugin sets them.`, ""},
		{member, effectsFile + ".reply", `The reply: {"status": 200, "headers": {}, "body": ""} of a request, {"code": 0, "stdout": "", "stderr": ""} of a program. Data that is not UTF-8 is {"base64": "…"}.`, ""},
	}},
	{"Errors of effects", `A line of effects.jsonl can say that the effect fails.
So a case shows what a plugin does when the network is down. A guard that fails denies.`, []formatPart{
		{member, effectsFile + ".error", `The error with which the effect fails, in place of a reply.
The object has the members message and, if needed, code and cause. code is the code of an error of effects,
as E0511. cause is not-exist or no-reference, for a file or reference that is absent.`, "errors"},
	}},
	{"Sessions", `A case begins a new session, unless session.json says what happened before.
So a case can begin in turn 4, with the state that earlier turns left.`, []formatPart{
		{fileSection, sessionFile, `The session at the start, an object.
Each member of the object may be absent.`, "session.json"},
		{member, sessionFile + ".id", "The id of the session; case if it is absent.", ""},
		{member, sessionFile + ".platform", "The platform of the session; test if it is absent.", ""},
		{member, sessionFile + ".model", "The model of the session.", ""},
		{member, sessionFile + ".roles", "The roles of the user, a list.", ""},
		{member, sessionFile + ".workspace", "The folder that the session names as its workspace.", ""},
		{member, sessionFile + ".turn", "The number of turns that began before, at most 1000000.", ""},
		{member, sessionFile + ".between_turns", "Whether fire fires events between two turns, as an agent's hook does.", ""},
		{member, sessionFile + ".state", `The values of ctx.state, as {"PLUGIN": {"KEY": 1}}.`, ""},
		{member, sessionFile + ".store", `The values of ctx.store, as {"PLUGIN": {"KEY": 1}}.`, ""},
	}},
	{"Recorded turns", `The command starhost eval --record FILE.txtar writes a turn as a case.
The file is private to its owner, because it has everything that the plugins read. Of secrets it has only
the names. starhost eval PATH --replay FILE.txtar runs the steps of the case, a prompt and behind it one call or
event, with the plugins at PATH, shows
what eval shows of any turn, and names the plugins that have changed since. starhost test runs the case too,
if it lies beside its plugin.`, []formatPart{
		{fileSection, recordedFile, `What the turn began with, an object.
In a case with this section, effects.jsonl has every effect of the turn, also of files and of the store, with
the lane of its handler and its plugin. Each effect must be the next one of its lane, and gets the reply that
the line has. The section now has the time of the whole turn.`, "recorded"},
		{member, recordedFile + ".seed", "The number that random draws started from.", ""},
		{member, recordedFile + ".time_given", "Whether the user gave the time, with --now.", ""},
		{member, recordedFile + ".config", "The SHA-256 sum of the settings that change turns.", ""},
		{member, recordedFile + ".plugins", "The SHA-256 sum of each plugin, by its name.", ""},
	}},
}

// Format describes the sections of a case, chapter by chapter. The description of a section has a whole case
// as its example. A topic named like session.json.turn describes a member of the JSON in a section.
func Format() []call.Topic {
	topics := make([]call.Topic, len(format))
	for i, c := range format {
		topics[i] = call.Topic{Name: c.title, Doc: c.doc}
		for _, p := range c.parts {
			e := call.Entry{Name: p.name, Doc: p.doc}
			if p.example != "" {
				text, err := formatCases.ReadFile("format/" + p.example + caseSuffix)
				if err != nil {
					panic(err) // not reached, because a test reads all examples
				}
				e.Example = string(text)
			}
			topics[i].Entries = append(topics[i].Entries, e)
		}
	}
	return topics
}

// sectionNames returns the names of the sections of a kind.
func sectionNames(kind partKind) []string {
	var names []string
	for _, c := range format {
		for _, p := range c.parts {
			if p.kind == kind {
				names = append(names, p.name)
			}
		}
	}
	return names
}
