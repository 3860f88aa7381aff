package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/starhost/starhost/internal/console"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/report"
)

// trustFlags are the flags of trust.
type trustFlags struct{ path, list, revoke, yes bool }

func (p *program) trustCommand() *cobra.Command {
	var f trustFlags
	cmd := &cobra.Command{
		Use:   "trust",
		Short: "Show what a project's config wants, and let it",
		Long: `Show what would hold if the project of the nearest starhost.toml were trusted:
grants, libraries, secrets, servers, higher limits. Trust covers the files as they are
now: the config and all of its plugins and libraries. After a change, trust asks again
and shows the difference. Cloning a repository never gives its plugins anything.`,
		Example: `  starhost trust --yes
  starhost trust --path --yes
  starhost trust --list`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			catchSignals(cmd.Context())
			r, err := runTrust(p.env, &p.res, f)
			p.res.addError(err)
			if r == nil {
				return nil
			}
			return p.env.printResult(&p.res, r)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.path, "path", false, "trust the folder whatever its files are: for your own folder, while you edit it")
	flags.BoolVar(&f.list, "list", false, "list what is trusted")
	flags.BoolVar(&f.revoke, "revoke", false, "trust the project no longer")
	flags.BoolVar(&f.yes, "yes", false, "do not ask")
	return cmd
}

// A trustResult is the result of trust: a project that the user trusts now, the list of trusted projects, or
// the project that the user no longer trusts.
type trustResult struct {
	plan     *loader.TrustPlan // nil unless the user trusts a project
	state    loader.TrustState // the state of the project
	projects []loader.TrustedProject
	revoked  string // the folder of the project
	home     string
}

// runTrust runs the command. If the user declined, the result is nil.
func runTrust(env Env, res *Result, f trustFlags) (*trustResult, error) {
	r := &trustResult{home: env.getenv("HOME")}
	o := loader.TrustOptions{Dir: env.dir, Getenv: env.getenv, Managed: env.managed}
	switch {
	case f.list && (f.path || f.revoke || f.yes), f.revoke && f.path:
		return r, &report.UsageError{Msg: "trust: got several of --path, --list and --revoke, or --list and --yes, want one", Help: "starhost trust --help"}
	case f.list:
		var err error
		r.projects, err = o.List()
		return r, err
	case f.revoke:
		folder, err := o.Revoke()
		if err == nil {
			r.state, r.revoked = loader.Untrusted, folder
		}
		return r, err
	}
	plan, err := o.Plan()
	if err != nil {
		return r, err
	}
	want := loader.Trusted
	if f.path {
		want = loader.TrustedPath
	}
	if plan.State != want || want == loader.Trusted && len(plan.Changes) > 0 {
		yes, err := confirmTrust(env, res, plan, f.yes)
		if err != nil {
			return r, err
		}
		if !yes {
			res.code = report.ExitNegative
			return nil, nil
		}
		if err := o.Trust(plan, f.path); err != nil {
			return r, err
		}
	}
	r.plan, r.state = plan, want
	return r, nil
}

// confirmTrust shows the plan and asks the user, unless yes is set.
func confirmTrust(env Env, res *Result, plan *loader.TrustPlan, yes bool) (bool, error) {
	if yes {
		return true, nil
	}
	show := env.stderr // standard output is for one document of JSON
	if env.format == "pretty" && env.output == "" {
		show = env.stdout
	}
	res.printPlan(plan)
	io.WriteString(show, texttable.Escape(res.out.String()))
	res.out.Reset()
	if yes, asked := env.askPerson("Trust it?"); asked {
		return yes, nil
	}
	return false, &report.UsageError{Msg: "trust: nobody can be asked, as standard input is no terminal", Help: "starhost trust --yes"}
}

// askPerson asks a question at the terminal. If nobody can be asked, asked is false.
func (env Env) askPerson(question string) (yes, asked bool) {
	if !console.IsTerminal(env.stdin) {
		return false, false
	}
	fmt.Fprint(env.stderr, question+" [y/N] ")
	answer, err := bufio.NewReader(env.stdin).ReadString('\n')
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes", err == nil
}

// printPlan prints a plan as text.
func (res *Result) printPlan(p *loader.TrustPlan) {
	report.WriteLine(&res.out, "project", p.Config+": "+trustWords[p.State])
	report.WriteLine(&res.out, "changes", stringsOf(p.Changes)...)
	report.WriteLine(&res.out, "would hold", heldBy(p)...)
	report.WriteLine(&res.out, "files", limitLines(p.Files, maxFilesShown)...)
	res.printUnpinned(p)
}

// heldBy returns what applies because the user trusts the project.
func heldBy(p *loader.TrustPlan) []string {
	return append(stringsOf(p.Settings), "what its plugins approve and change")
}

// printUnpinned prints which files may change without ending the trust.
func (res *Result) printUnpinned(p *loader.TrustPlan) {
	report.WriteLine(&res.out, "not pinned", p.Unpinned...)
	if len(p.Unpinned) > 0 {
		report.WriteLine(&res.out, "", "such files may change, and the project stays trusted: [trust] pin = [\"srv/**\"] ends that")
	}
}

// maxFilesShown is the most files that printPlan names.
const maxFilesShown = 30

// limitLines returns the first n lines, and a line that counts the others.
func limitLines(lines []string, n int) []string {
	if len(lines) <= n {
		return lines
	}
	return append(lines[:n:n], fmt.Sprintf("and %d more (-F json lists all)", len(lines)-n))
}

// trustWords has a sentence for each state of trust.
var trustWords = map[loader.TrustState]string{
	loader.Untrusted:   "not trusted",
	loader.Changed:     "changed since it was trusted",
	loader.Trusted:     "trusted, as it is now",
	loader.TrustedPath: "trusted, whatever its files are",
}

func stringsOf[T fmt.Stringer](items []T) []string {
	return jsontext.List(items, func(item *T) string { return (*item).String() })
}

// WriteText writes the project and what its config may do now, or the list of projects.
func (r *trustResult) WriteText(res *Result) {
	switch {
	case r.plan != nil:
		report.WriteLine(&res.out, "project", r.plan.Config+": "+trustWords[r.state])
		report.WriteLine(&res.out, "holds", heldBy(r.plan)...)
		res.printUnpinned(r.plan)
	case r.revoked != "":
		report.WriteLine(&res.out, "project", errtext.InHome(r.home, r.revoked)+": "+trustWords[r.state])
	}
	for _, p := range r.projects {
		what := fmt.Sprintf("%d files", len(p.Files)+len(p.Cases))
		if p.Path {
			what = "whatever its files are"
		}
		fmt.Fprintf(&res.out, "%s  %s\n", texttable.EscapeLine(errtext.InHome(r.home, p.Folder)), what)
	}
}

// trustJSON is the JSON result of trust. Members that the user did not ask for are empty.
type trustJSON struct {
	Config   string          `json:"config"`
	State    string          `json:"state"`
	Settings []settingJSON   `json:"settings"`
	Files    []string        `json:"files"`
	Changes  []loader.Change `json:"changes"` // changes since the user trusted the project before
	Unpinned []string        `json:"unpinned"`
	Projects []projectJSON   `json:"projects"`
}

type projectJSON struct {
	Folder string `json:"folder"`
	Path   bool   `json:"path"`
	Files  int    `json:"files"`
}

func newProjectJSON(p *loader.TrustedProject) projectJSON {
	return projectJSON{p.Folder, p.Path, len(p.Files)}
}

func (r *trustResult) WriteJSON(res *Result) error {
	out := trustJSON{
		State:    string(r.state),
		Settings: []settingJSON{}, Files: []string{}, Changes: []loader.Change{}, Unpinned: []string{},
		Projects: jsontext.List(r.projects, newProjectJSON),
	}
	if p := r.plan; p != nil {
		out.Config, out.Settings, out.Files = p.Config, jsontext.List(p.Settings, newSettingJSON), p.Files
		out.Unpinned = append(out.Unpinned, p.Unpinned...)
		out.Changes = append(out.Changes, p.Changes...)
	}
	return res.out.JSON(res.head("starhost.trust/1"), out, res.errors())
}
