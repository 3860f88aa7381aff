package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/starhost/starhost/agents"
	"github.com/starhost/starhost/builtins"
	"github.com/starhost/starhost/bundle"
	"github.com/starhost/starhost/editor/check"
	"github.com/starhost/starhost/editor/format"
	"github.com/starhost/starhost/editor/lint"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/fleet"
	"github.com/starhost/starhost/internal/docgen"
	"github.com/starhost/starhost/internal/near"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/report"
	"github.com/starhost/starhost/starlark"
)

func (p *program) docsCommand() *cobra.Command {
	return &cobra.Command{
		Use:         "docs [NAME|CODE|WORD]",
		Annotations: formats("pretty json md pyi"),
		Short:       "Explain a builtin, an event, a permission, a config key or an error code",
		Long: `Explain a builtin, an event, a module, a kind of permission, a config key, an error
code, golden cases (docs golden, docs effects.jsonl), or a word as docs trust, docs image,
docs uninstall; without a name, list them all.
--format is pretty, json, md (the pages of the reference) or pyi (stubs for editors:
write them to __builtins__.pyi).`,
		Example: `  starhost docs register_tool
  starhost docs pre_tool_call
  starhost docs text
  starhost docs prompt.dedup
  starhost docs E0203
  starhost docs golden
  starhost docs trust
  starhost docs --format pyi -o __builtins__.pyi`,
		RunE: func(_ *cobra.Command, args []string) error {
			r := wholeReference()
			if name := strings.Join(args, "."); name != "" { // docs packs git is docs packs.git
				if r = r.Part(name); r.IsEmpty() {
					return unknownTopic(name)
				}
			}
			return p.env.printResult(&p.res, reference{r})
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return topics(), cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// wholeReference returns everything that docs can explain.
func wholeReference() docgen.Reference {
	flags := new(program).testCommand().Flags()
	return docgen.New(allCodes(), report.ExitOf, func(flag string) string { return flags.Lookup(flag).Usage })
}

// allCodes returns the error codes of all packages, sorted.
func allCodes() []starlark.Code {
	all := slices.Concat(starlark.Codes(), builtins.Codes(), effects.Codes(), loader.Codes(), bundle.Codes, fleet.Codes, report.Codes, format.Codes, check.Codes, lint.Codes)
	slices.SortFunc(all, func(x, y starlark.Code) int { return strings.Compare(x.Code, y.Code) })
	return all
}

// topics returns everything that docs can explain.
func topics() []string { return wholeReference().Names() }

func unknownTopic(name string) error {
	if docgen.IsCode(name) {
		all := allCodes()
		return &report.UsageError{Msg: "docs: no error has the code " + strings.ToUpper(name), Help: "codes are " + all[0].Code + " to " +
			all[len(all)-1].Code + ", with gaps: starhost docs lists all names"}
	}
	names := topics()
	hint := near.DidYouMean(name, names)
	// The last part of a name is enough for a suggestion: dedent suggests text.dedent.
	if i := slices.IndexFunc(names, func(n string) bool { return strings.HasSuffix(n, "."+name) }); i >= 0 {
		hint = near.Hint(names[i])
	}
	if ours := agents.EventHint(name); ours != "" {
		hint = " (" + ours + ")"
	}
	return &report.UsageError{Msg: "docs: nothing is named " + quote(name) + hint, Help: "starhost docs lists all names"}
}

// A reference is the result of docs.
type reference struct{ docgen.Reference }

func (r reference) WriteText(res *Result)           { r.Reference.WriteText(&res.out) }
func (r reference) WriteJSON(res *Result) error     { return r.Reference.WriteJSON(&res.out) }
func (r reference) WriteMarkdown(res *Result) error { return r.Reference.WriteMarkdown(&res.out) }
func (r reference) WriteStubs(res *Result) error    { return r.Reference.WriteStubs(&res.out) }
