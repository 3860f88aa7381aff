package docgen

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins"
	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/guard"
	"github.com/starhost/starhost/internal/page"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/report"
	"github.com/starhost/starhost/starlark"
)

// WriteText explains the names of a part, or lists all names.
func (r Reference) WriteText(p *page.Page) {
	if r.Name == "" {
		printContents(p, r)
		return
	}
	if r.Name != casesName {
		for _, t := range r.Topics {
			p.Section("")
			printEntries(p, t.Entries, r.Name)
		}
	}
	printCases(p, r)
	printEach(p, r.Events, printEvent)
	printEach(p, r.Permissions, printPermission)
	printEach(p, r.Keys, printKey)
	printEach(p, r.Codes, printCode)
	printEach(p, r.Packs, printPack)
	printEach(p, r.Subjects, printSubject)
}

func printEach[T any](p *page.Page, items []T, print func(*page.Page, T)) {
	for _, item := range items {
		p.Section("")
		print(p, item)
	}
}

// printContents prints a line for each name.
func printContents(p *page.Page, r Reference) {
	for _, part := range []struct {
		title string
		rows  [][]string
	}{
		{"Builtins", summaryRows(r.Entries())},
		{"Golden cases", summaryRows(Reference{Topics: r.Cases}.Entries())},
		{"Events", nameRows(r.Events, func(e starhost.EventSpec) (string, string) { return e.Name, e.Fires })},
		{"Permissions", nameRows(r.Permissions, func(k effects.PermissionKind) (string, string) { return k.Name, firstSentence(k.Doc) })},
		{"Config", nameRows(r.Keys, func(k loader.Key) (string, string) { return k.Name, firstSentence(k.Doc) })},
		{"Errors", nameRows(r.Codes, func(c starlark.Code) (string, string) { return c.Code, c.Title })},
		{"Packs of rules", nameRows(r.Packs, func(pack guard.Pack) (string, string) { return packsName + "." + pack.Name, pack.About })},
		{"Topics", nameRows(r.Subjects, func(s subject) (string, string) { return s.Words()[0], firstSentence(s.text) })},
	} {
		p.Section(part.title + "\n")
		p.Table(part.rows)
	}
}

// firstSentence returns the text up to the first full stop and space.
func firstSentence(text string) string {
	if i := strings.Index(text, ". "); i >= 0 {
		return text[:i+1]
	}
	return text
}

// printEntries prints the builtin of the name in full, and its members in two lines each.
func printEntries(p *page.Page, entries []call.Entry, name string) {
	for i, e := range entries {
		if e.Name != name {
			fmt.Fprintf(p, "%s\n    %s\n", Signature(e), texttable.FirstLine(e.Doc))
			continue
		}
		fmt.Fprintf(p, "%s\n\n%s\n", Signature(e), strings.TrimSpace(e.Doc))
		printExample(p, "Example", e.Example)
		if i < len(entries)-1 {
			p.WriteString("\n")
		}
	}
}

func printEvent(p *page.Page, e starhost.EventSpec) {
	fmt.Fprintf(p, "%s fires when: %s.\n\n", e.Name, e.Fires)
	report.WriteLine(p, "arguments", strings.Join(e.Args, ", "))
	returns := strings.Join(allowedReturns(e), ", ")
	report.WriteLine(p, "may return", strings.Replace(returns, "context", "context (a string, fragments, attachments)", 1))
	report.WriteLine(p, "match", matchDoc(e))
	report.WriteLine(p, "failure", failureDoc(e))
}

func printPermission(p *page.Page, k effects.PermissionKind) {
	fmt.Fprintf(p, "%s\n\n%s\n", PermissionForm(k), k.Doc)
	printExample(p, "Example", PermissionExample(k))
}

// PermissionExample returns a declaration of a permission.
func PermissionExample(k effects.PermissionKind) string {
	return "plugin(permissions = [" + strconv.Quote(k.Example) + "])"
}

func printKey(p *page.Page, k loader.Key) {
	fmt.Fprintf(p, "%s\n\n%s\n\n", k.Name, k.Doc)
	report.WriteLine(p, "value", k.Wants)
	report.WriteLine(p, "default", k.Default)
	report.WriteLine(p, "project", k.Project)
	printExample(p, "Example", k.Example)
}

func printCode(p *page.Page, c starlark.Code) {
	fmt.Fprintf(p, "%s: %s\n\n%s\n", c.Code, c.Title, c.Text)
	printExample(p, "Fails", c.Bad)
	printExample(p, "Works", c.Good)
}

// printExample prints an example, if there is one.
func printExample(p *page.Page, title, text string) {
	if text = printableExample(text); text == "" {
		return
	}
	fmt.Fprintf(p, "\n%s:\n", title)
	for line := range strings.Lines(text + "\n") {
		p.WriteString(strings.TrimRight("    "+line, " \n") + "\n")
	}
}

// ReferenceJSON is the reference as JSON. Lists are never null.
type ReferenceJSON struct {
	Schema      string                   `json:"schema"`
	Builtins    []builtinJSON            `json:"builtins"`
	Cases       []casePartJSON           `json:"cases"`
	Events      []eventJSON              `json:"events"`
	Permissions []effects.PermissionKind `json:"permissions"`
	Config      []loader.Key             `json:"config"`
	Errors      []codeJSON               `json:"errors"`
	Topics      []subjectJSON            `json:"topics"`
	Rules       []ruleJSON               `json:"rules"`
}

type builtinJSON struct {
	Name       string  `json:"name"`
	Topic      string  `json:"topic"`
	Signature  string  `json:"signature"` // "" for a value that is not called
	Parameters []Param `json:"parameters"`
	Type       string  `json:"type"` // the type of the value or of a call's result; "" if Python defines the name
	Doc        string  `json:"doc"`
	Example    string  `json:"example"`
}

// A casePartJSON is a section of golden cases, a member of one, or a way to run them.
type casePartJSON struct {
	Name    string `json:"name"`
	Topic   string `json:"topic"`
	Doc     string `json:"doc"`
	Example string `json:"example"`
}

type eventJSON struct {
	Name      string         `json:"name"`
	Fires     string         `json:"fires"`
	Arguments []builtins.Arg `json:"arguments"`
	Returns   []string       `json:"returns"`
	Modify    []string       `json:"modify"` // the arguments that modify may replace
	Guard     bool           `json:"guard"`  // a failing handler denies
}

type codeJSON struct {
	Code  string `json:"code"`
	Title string `json:"title"`
	Doc   string `json:"doc"`
	Exit  int    `json:"exit"`
	Fails string `json:"fails"`
	Works string `json:"works"`
}

type subjectJSON struct {
	Words []string `json:"words"`
	Doc   string   `json:"doc"`
	Page  string   `json:"page"` // below docs
	See   []string `json:"see"`
}

// WriteJSON writes the reference as JSON.
func (r Reference) WriteJSON(p *page.Page) error {
	out := ReferenceJSON{
		Schema: "starhost.docs/1", Builtins: []builtinJSON{}, Cases: []casePartJSON{}, Events: []eventJSON{},
		Permissions: append([]effects.PermissionKind{}, r.Permissions...), Config: append([]loader.Key{}, r.Keys...), Errors: []codeJSON{}, Topics: []subjectJSON{}, Rules: []ruleJSON{},
	}
	for _, t := range r.Topics {
		for _, e := range t.Entries {
			_, result := builtins.TypeOf(e)
			params := append([]Param{}, ParamsOf(e)...)
			out.Builtins = append(out.Builtins, builtinJSON{e.Name, t.Name, e.Signature, params, result, e.Doc, e.Example})
		}
	}
	for _, t := range r.Cases {
		for _, e := range t.Entries {
			out.Cases = append(out.Cases, casePartJSON{e.Name, t.Name, e.Doc, e.Example})
		}
	}
	for _, e := range r.Events {
		event := eventJSON{e.Name, e.Fires, append([]builtins.Arg{}, argsOf(e)...), []string{}, append([]string{}, e.Modify...), e.Guard}
		for _, act := range e.Actions {
			event.Returns = append(event.Returns, string(act))
		}
		out.Events = append(out.Events, event)
	}
	for _, c := range r.Codes {
		out.Errors = append(out.Errors, codeJSON{c.Code, c.Title, c.Text, r.Exit(c.Code), c.Bad, c.Good})
	}
	for _, s := range r.Subjects {
		out.Topics = append(out.Topics, subjectJSON{s.Words(), s.text, s.page, append([]string{}, s.See()...)})
	}
	for _, pack := range r.Packs {
		for _, rule := range pack.Rules {
			out.Rules = append(out.Rules, ruleJSON{pack.Name, rule.Name, rule.Decision, rule.Reason, exampleOf(rule.Match), exampleOf(rule.NotMatch)})
		}
	}
	return p.JSON(out)
}

// A Param is a parameter of a builtin.
type Param struct {
	Name    string `json:"name"` // with the stars of *args and **kwargs
	Type    string `json:"type"`
	Default string `json:"default"` // "" means that there is none
}

// ParamsOf returns the parameters of a builtin. Their types are "" if Python defines the
// builtin.
func ParamsOf(e call.Entry) []Param {
	list := strings.TrimSuffix(strings.TrimPrefix(e.Signature, e.Name+"("), ")")
	types, _ := builtins.TypeOf(e)
	var params []Param
	for i, text := range builtins.SplitParams(list) {
		var p Param
		p.Name, p.Default, _ = strings.Cut(text, "=")
		if types != nil {
			p.Type = types[i]
		}
		params = append(params, p)
	}
	return params
}

// stubsHead begins the stubs. Python has no load statement, so the stubs declare a function.
// Editors do not see the names that load binds.
const stubsHead = `# The names that plugins can use, for editors that check Starlark as Python: Pyright reads
# them from __builtins__.pyi in the project's folder. Written by starhost docs --format pyi.
#
# The parameters of handlers have types where a comment behind the def gives them:
#     def runbook(ctx, service):
#         # type: (Ctx, str) -> list[Fragment]

from builtins import bytes as Bytes
from typing import Any, Callable, Iterable, Mapping, NoReturn, Sequence

def load(file: str, *names: str, **aliases: str) -> None:
    """Binds names of another file: load("lib/text.star", "shorten")."""

`

const eventsHead = "# Events: the parameters and results of their handlers. Each handler may also name ctx: Ctx.\n"

// WriteStubs prints Python's type stubs of the builtins, and the events as comments. It
// returns an error for a name that stubs cannot declare.
func (r Reference) WriteStubs(p *page.Page) error {
	if r.Name == "" {
		p.WriteString(stubsHead + builtins.Classes)
	}
	for _, t := range r.Topics {
		if stubs := stubsOf("", t.Entries); stubs != "" {
			p.Section(fmt.Sprintf("# %s: %s\n\n%s\n", t.Name, t.Doc, strings.TrimRight(stubs, "\n")))
		}
	}
	if r.Name == "" {
		p.Section(eventsHead)
	}
	for _, e := range r.Events {
		printEventStub(p, e)
	}
	if p.Len() == 0 {
		return fmt.Errorf("docs: stubs do not have %s, only what plugins call, and events", r.Name)
	}
	return nil
}

// stubsOf declares the builtins below a module, "" for the top level. It declares a module as a
// class without instances, and a module in a module as a class in a class.
func stubsOf(module string, entries []call.Entry) string {
	var out strings.Builder
	done := map[string]bool{}
	for _, e := range entries {
		if e.Type == "" || IsParameter(e) {
			continue // Python defines it, or it is a parameter of handlers
		}
		member, _, inner := strings.Cut(strings.TrimPrefix(e.Name, module), ".")
		below := module + member + "."
		switch {
		case !inner:
			out.WriteString(entryStub(e, member, module != ""))
		case !done[below]:
			done[below] = true
			members := filter(entries, func(e call.Entry) bool { return strings.HasPrefix(e.Name, below) })
			fmt.Fprintf(&out, "class %s:\n%s\n", className(member), indentBlock(strings.TrimRight(stubsOf(below, members), "\n")+"\n"))
		}
	}
	return out.String()
}

// IsParameter reports whether handlers receive the value as a parameter.
func IsParameter(e call.Entry) bool {
	isArg := func(a builtins.Arg) bool { return a.Name == e.Name }
	return e.Value == nil && (e.Name == "ctx" || slices.ContainsFunc(builtins.Args(), isArg))
}

// className returns the name of a module's class. The class of ctx is Ctx, because ctx is a
// parameter of handlers; other modules are values of their class's name.
func className(module string) string {
	if module == "ctx" {
		return "Ctx"
	}
	return module
}

// entryStub declares a builtin under a name, in a class or at the top level.
func entryStub(e call.Entry, name string, inClass bool) string {
	_, result := builtins.TypeOf(e)
	if e.Signature == "" {
		return fmt.Sprintf("%s: %s\n%s\n", name, result, docstring(e.Doc))
	}
	var params []string
	for _, p := range ParamsOf(e) {
		text := p.Name + ": " + p.Type
		if p.Default != "" {
			text += " = " + p.Default
		}
		params = append(params, text)
	}
	static := ""
	if inClass {
		static = "@staticmethod\n"
	}
	return fmt.Sprintf("%sdef %s(%s) -> %s:\n%s\n", static, name, strings.Join(params, ", "), result, indentBlock(docstring(e.Doc)))
}

// docstring returns a text as a docstring of Python.
func docstring(doc string) string {
	doc = strings.NewReplacer(`\`, `\\`, `"""`, `\"""`).Replace(strings.TrimSpace(doc))
	if strings.Contains(doc, "\n") || strings.HasSuffix(doc, `"`) {
		doc += "\n"
	}
	return `"""` + doc + `"""` + "\n"
}

// indentBlock indents lines as a block of Python.
func indentBlock(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if line != "\n" {
			out.WriteString("    ")
		}
		out.WriteString(line)
	}
	return out.String()
}

// printEventStub prints an event as a comment.
func printEventStub(p *page.Page, e starhost.EventSpec) {
	args := make([]string, len(e.Args))
	for i, arg := range argsOf(e) {
		args[i] = arg.Name + ": " + arg.Type
	}
	returns := strings.Join(append(allowedReturns(e), "None"), ", ")
	p.Section(fmt.Sprintf("# %s: %s\n#   takes   %s\n#   returns %s\n", e.Name, e.Fires, strings.Join(args, ", "), returns))
}
