package docgen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins"
	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/internal/page"
)

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
		if _, hasType := builtins.TypeOf(e.Name); !hasType || IsParameter(e) {
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
	typ, _ := builtins.TypeOf(e.Name)
	if e.Signature == "" {
		return fmt.Sprintf("%s: %s\n%s\n", name, typ.Result, docstring(e.Doc))
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
	return fmt.Sprintf("%sdef %s(%s) -> %s:\n%s\n", static, name, strings.Join(params, ", "), typ.Result, indentBlock(docstring(e.Doc)))
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
