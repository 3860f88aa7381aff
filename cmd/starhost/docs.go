package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/starlark"
)

func (a *app) docsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "docs [NAME|CODE]",
		Short: "Explain a builtin, an event, a module or an error code",
		Example: `  starhost docs register_tool
  starhost docs pre_tool_call
  starhost docs text
  starhost docs E0203`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("docs: got %d names, want one", len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if err := a.wantFormat("pretty"); err != nil {
				return err
			}
			if len(args) == 0 {
				return a.printContents()
			}
			return a.printDocs(args[0])
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return topics(), cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// allCodes returns the error codes of all packages, sorted.
func allCodes() []starlark.Code {
	all := slices.Concat(starlark.Codes(), builtins.Codes(), effects.Codes(), loader.Codes(), codes)
	slices.SortFunc(all, func(x, y starlark.Code) int { return strings.Compare(x.Code, y.Code) })
	return all
}

// topics returns everything that docs can explain.
func topics() []string {
	var names []string
	for _, e := range builtins.Table(nil) {
		names = append(names, e.Name)
		if module, _, ok := strings.Cut(e.Name, "."); ok {
			names = append(names, module)
		}
	}
	for _, e := range starhost.Events() {
		names = append(names, e.Name)
	}
	for _, c := range allCodes() {
		names = append(names, c.Code)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// printContents prints a line for each topic.
func (a *app) printContents() error {
	var names, events, errors [][]string
	for _, e := range builtins.Table(nil) {
		names = append(names, []string{"  " + e.Name, firstLine(e.Doc)})
	}
	for _, e := range starhost.Events() {
		events = append(events, []string{"  " + e.Name, e.Fires})
	}
	for _, c := range allCodes() {
		errors = append(errors, []string{"  " + c.Code, c.Title})
	}
	for _, part := range []struct {
		title string
		rows  [][]string
	}{{"Builtins", names}, {"\nEvents", events}, {"\nErrors", errors}} {
		a.out.WriteString(part.title + "\n")
		a.printTable(part.rows)
	}
	return nil
}

// printDocs explains one topic.
func (a *app) printDocs(name string) error {
	found := false
	for _, e := range builtins.Table(nil) {
		switch module, _, member := strings.Cut(e.Name, "."); {
		case e.Name == name:
			a.printEntry(e)
			found = true
		case member && module == name:
			fmt.Fprintf(&a.out, "%s\n    %s\n", signature(e), firstLine(e.Doc))
			found = true
		}
	}
	for _, e := range starhost.Events() {
		if e.Name == name {
			a.printEvent(e)
			return nil
		}
	}
	for _, c := range allCodes() {
		if strings.EqualFold(c.Code, name) {
			a.printCode(c)
			return nil
		}
	}
	if !found {
		return a.unknownTopic(name)
	}
	return nil
}

func (a *app) unknownTopic(name string) error {
	names := topics()
	hint := didYouMean(name, names)
	if hint == "" {
		// A member is known by its last part as well: dedent is text.dedent.
		i := slices.IndexFunc(names, func(n string) bool { return strings.HasSuffix(n, "."+name) })
		if i >= 0 {
			hint = " (did you mean " + names[i] + "?)"
		}
	}
	return &usageError{msg: fmt.Sprintf("docs: nothing is named %q%s", name, hint), help: "starhost docs lists all names"}
}

// signature is how an entry is called, or its name.
func signature(e builtins.Entry) string {
	switch {
	case e.Signature == "":
		return e.Name
	case strings.HasPrefix(e.Signature, "("):
		return e.Name + e.Signature
	}
	return e.Signature
}

func (a *app) printEntry(e builtins.Entry) {
	fmt.Fprintf(&a.out, "%s\n\n%s\n", signature(e), strings.TrimSpace(e.Doc))
	a.printExample("Example", e.Example)
}

func (a *app) printEvent(e starhost.EventSpec) {
	fmt.Fprintf(&a.out, "%s fires when: %s.\n\n", e.Name, e.Fires)
	a.line("arguments", strings.Join(e.Args, ", "))
	var actions []string
	for _, act := range e.Actions {
		switch act {
		case starhost.ActionContext:
			actions = append(actions, "context (a string, fragments, attachments)")
		case starhost.ActionModify:
			actions = append(actions, "modify("+strings.Join(e.Modify, "=, ")+"=)")
		default:
			actions = append(actions, string(act))
		}
	}
	a.line("may return", strings.Join(actions, ", "))
	if e.Tool {
		a.line("match", "globs on the tool's name")
	}
	if e.Guard {
		a.line("failure", "denies, unless on_error says otherwise")
	} else {
		a.line("failure", "is logged and skipped, unless on_error says otherwise")
	}
}

func (a *app) printCode(c starlark.Code) {
	fmt.Fprintf(&a.out, "%s: %s\n\n%s\n", c.Code, c.Title, c.Text)
	a.printExample("Fails", c.Bad)
	a.printExample("Works", c.Good)
}

// printExample prints an example, if there is one.
func (a *app) printExample(title, text string) {
	if text = strings.Trim(text, "\n"); text == "" {
		return
	}
	fmt.Fprintf(&a.out, "\n%s:\n", title)
	for line := range strings.Lines(text + "\n") {
		a.out.WriteString(strings.TrimRight("    "+line, " \n") + "\n")
	}
}
