package main

import (
	"cmp"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/starhost/starhost/agents/install"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/near"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/report"
	"github.com/starhost/starhost/serve/hook"
	"github.com/starhost/starhost/store"
)

// findRoot makes the root of the event's session the current folder, before starhost reads any config. If the
// session has no root yet, it belongs to the project that the agent names, if the current folder is in that
// project. findRoot returns the session's pin.
func (r *hookRun) findRoot(f *hookFlags, e *hook.Event, states *hook.States, paths []string) *hook.Pin {
	pin := states.Pin(e, append([]string{fmt.Sprint(f.inProject, r.noConfig), f.projectRoot, r.config}, paths...)...)
	if isHomeless(r.Env) && len(paths) == 0 {
		f.lineError = cmp.Or(f.lineError, error(usagef("hook: got no home folder, want HOME or XDG_CONFIG_HOME: your config may name guards")))
	}
	if project := r.agentProject(); pin.Root != "" {
		r.dir = pin.Root
	} else if rel, err := filepath.Rel(project, r.path(".")); err == nil && project != "" && filepath.IsLocal(rel) {
		r.dir = project
	}
	return pin
}

// eventFolder returns the folder whose files plugins read for an event; "" means the current one. It is the
// folder that the session worked in when it got its root, because later folders are the model's choice. If
// the session has no root, it is the event's folder: the model chooses that as it chooses the folder of the
// process.
func eventFolder(pin *hook.Pin, e *hook.Event) string {
	folder := pin.Folder
	if pin.Root == "" {
		folder = e.Workspace()
	}
	if info, err := os.Stat(folder); err != nil || !info.IsDir() || !filepath.IsAbs(folder) {
		return ""
	}
	root, err := loader.Workspace(folder)
	if err != nil {
		return ""
	}
	return root
}

// agentProject returns the absolute folder that the agent names as the project's, or "".
func (r *hookRun) agentProject() string {
	if name := r.agent.Files.ProjectEnv; name != "" && filepath.IsAbs(r.getenv(name)) {
		return r.getenv(name)
	}
	return ""
}

// projectPlace returns the place of the project that an event is about. root is the root that the session
// has; "" for none.
func (r *hookRun) projectPlace(f *hookFlags, e *hook.Event, root string) install.ProjectPlace {
	start := cmp.Or(root, r.agentProject(), e.Workspace(), r.dir)
	return install.ProjectPlace{Root: f.projectRoot, Start: start, Home: r.getenv("HOME")}
}

// isHomeless reports whether nobody can tell where the user's config is.
func isHomeless(env Env) bool {
	return env.getenv("HOME") == "" && !filepath.IsAbs(env.getenv("XDG_CONFIG_HOME")) &&
		cmp.Or(env.config, env.getenv("STARHOST_CONFIG")) == "" && !env.noConfig
}

// sessionRoot returns the folder that the session should keep, or "" if nothing was loaded from there. If the
// config names the plugins, it is the folder of the config, so that a new config below it changes nothing.
func (r *hookRun) sessionRoot(f *hookFlags, set *loader.Set, paths []string) string {
	root := cmp.Or(f.argsRoot, r.path("."))
	switch {
	case set == nil:
		return ""
	case len(paths) == 0 && len(set.Config.Plugins.Paths) > 0:
		if folder, err := loader.Workspace(root); err == nil {
			root = folder
		}
	}
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	return root
}

// withHome returns getenv, with the home of the user database in place of an empty HOME. Whoever starts
// starhost without HOME must not lose the guards that the user's config names.
func withHome(getenv func(string) string, home func() string) func(string) string {
	home = sync.OnceValue(home)
	return func(name string) string {
		switch value := getenv(name); {
		case name != "HOME", filepath.IsAbs(value):
			return value
		case value == "":
			return home()
		}
		return "" // a relative path would mean another folder in each folder
	}
}

// userHome returns the home that the user database has, or "" if it has none.
func userHome() string {
	u, err := user.LookupId(strconv.Itoa(os.Getuid()))
	if err != nil || !filepath.IsAbs(u.HomeDir) {
		return ""
	}
	return u.HomeDir
}

func (p *program) hookResetCommand() *cobra.Command {
	return &cobra.Command{
		Use:         "reset SESSION",
		Annotations: formats(""),
		Short:       "Let a session go on that starhost refuses",
		Long: `Let a session of an agent go on without the guards that it had, with the config of another
folder, or though a call ran otherwise than guards judged it. A session remembers its guards, the
folder whose config it has, and such a call, so that its calls are refused: the model may change
folders and files, and another hook may change a call, and a person ends this on purpose.

reset asks at a terminal. The refusal names the SESSION.`,
		Example: `  starhost hook reset 0b1f6c1e-4c1b-4d0f-9e57-0c2f6f3d8b11
  starhost hook reset s && starhost hook doctor`,
		Args: wantArguments("a session's id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			catchSignals(cmd.Context())
			return resetHook(p.env, &p.res, args[0])
		},
	}
}

// resetHook forgets the guards of a session, if the user agrees.
func resetHook(env Env, res *Result, session string) error {
	states := &hook.States{Dir: hook.StateDir(env.getenv)}
	all, err := states.Pins()
	if err != nil {
		return store.AsFailure(err)
	}
	found := slices.DeleteFunc(slices.Clone(all), func(r *hook.Pin) bool { return r.Session != session })
	if len(found) == 0 {
		ids := jsontext.List(all, func(r **hook.Pin) string { return (*r).Session })
		return &store.Failure{ErrorCode: "E0714", Err: fmt.Errorf("no session %s has guards%s", errtext.Brief(session), near.DidYouMean(session, ids))}
	}
	for _, r := range found {
		for _, g := range r.Guards {
			fmt.Fprintf(env.stderr, "%s, session %s in %s: %s\n", r.Agent, r.Session, r.Root, strings.TrimSpace(g.Name+" "+g.From))
		}
		if r.Ran != "" {
			fmt.Fprintf(env.stderr, "%s, session %s: %s\n", r.Agent, r.Session, r.Ran)
		}
	}
	switch yes, asked := env.askPerson("Let it go on without them?"); {
	case !asked:
		return usagef("hook reset: nobody can be asked, as standard input is no terminal: a person decides this")
	case !yes:
		res.code = report.ExitNegative
		return nil
	}
	for _, r := range found {
		if err := states.Unpin(r); err != nil {
			return store.AsFailure(err)
		}
	}
	return nil
}
