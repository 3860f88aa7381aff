package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/near"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/report"
)

// A commandMaker has the name of a command, the group of the help that the command belongs to, and the
// function that makes the command.
type commandMaker struct {
	name  string
	group int // an index in commandGroups
	make  func(*program) *cobra.Command
}

// commandGroups are the purposes of commands, in the order of the help. The last one also has the commands
// that cobra adds.
var commandGroups = []string{"Write plugins", "Test plugins", "Run in agents", "Look back", "Serve", "More"}

// commandTable returns the commands. A variable would make a cycle of initialisation, because the page of ui
// runs commands itself.
func commandTable() []commandMaker {
	const write, test, run, back, serve, more = 0, 1, 2, 3, 4, 5
	return []commandMaker{
		{"new", write, (*program).newCommand},
		{"demo", write, (*program).demoCommand},
		{"check", write, (*program).checkCommand},
		{"fmt", write, (*program).fmtCommand},
		{"repl", write, (*program).replCommand},
		{"docs", write, (*program).docsCommand},
		{"lsp", write, (*program).lspCommand},
		{"eval", test, (*program).evalCommand},
		{"test", test, (*program).testCommand},
		{"list", test, (*program).listCommand},
		{"bench", test, (*program).benchCommand},
		{"hook", run, (*program).hookCommand},
		{"bundle", run, (*program).bundleCommand},
		{"sync", run, (*program).syncCommand},
		{"trust", run, (*program).trustCommand},
		{"run", run, (*program).modelRunCommand},
		{"chat", run, (*program).chatCommand},
		{"command", run, (*program).commandCommand},
		{"log", back, (*program).logCommand},
		{"replay", back, (*program).replayCommand},
		{"sessions", back, (*program).sessionsCommand},
		{"fragments", back, (*program).fragmentsCommand},
		{"ui", back, (*program).uiCommand},
		{"serve", serve, (*program).serveCommand},
		{"config", more, (*program).configCommand},
		{"version", more, (*program).versionCommand},
	}
}

// grantless are the commands that run no effect which the config grants to the project's plugins. CI runs
// them without trust. So it does not matter to them which grants an untrusted project gives.
var grantless = []string{"fmt", "test", "log", "sessions"}

// rootCommand returns the program with the command that args name, because making all commands takes longer
// than a short run. If args name none, as for help, it makes all commands.
func (p *program) rootCommand(args []string) *cobra.Command {
	p.args = args
	root := p.emptyCommand()
	add := func(named bool) {
		for _, c := range commandTable() {
			if slices.Contains(args, c.name) == named {
				cmd := c.make(p)
				cmd.GroupID = commandGroups[c.group]
				root.AddCommand(cmd)
			}
		}
	}
	add(true)
	if cmd, _, err := root.Find(args); err == nil && cmd != root {
		root.CompletionOptions.DisableDefaultCmd = true
		return root
	}
	add(false)
	root.InitDefaultCompletionCmd()
	p.finishCompletion(root)
	return root
}

// emptyCommand returns the program with help as its only command.
func (p *program) emptyCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "starhost",
		Annotations:   formats(""),
		Short:         "Plugins that decide what a language model reads, and what it may do",
		Args:          refuseArguments,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	for _, title := range commandGroups {
		root.AddGroup(&cobra.Group{ID: title, Title: title})
	}
	root.SetOut(&p.res.out)
	root.SetErr(&p.res.out)
	root.SetFlagErrorFunc(flagError)
	f := root.PersistentFlags()
	f.StringVarP(&p.env.dir, "directory", "C", "", "act as if started in this `DIR`")
	f.StringVarP(&p.env.config, "config", "c", "", "read this config `FILE` instead of the user's and the project's")
	f.BoolVar(&p.env.noConfig, "no-config", false, "read no config file")
	f.BoolVarP(&p.env.quiet, "quiet", "q", false, "show no warnings and logs")
	f.BoolVarP(&p.env.verbose, "verbose", "v", false, "show debug logs")
	f.StringVarP(&p.env.output, "output", "o", "", "write the result to `FILE`")
	f.StringVarP(&p.env.format, "format", "F", "", formatUsage(root))
	f.StringVar(&p.env.logFormat, "log-format", "text", "`FORMAT` of logs: text or json")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if err := p.readEnvironment(cmd); err != nil {
			return err
		}
		p.res.grantless = slices.Contains(grantless, strings.Fields(cmd.CommandPath() + " -")[1])
		if info, err := os.Stat(cmp.Or(p.env.dir, ".")); err != nil || !info.IsDir() {
			return usagef("-C %s: no such folder", p.env.dir)
		}
		if err := checkChoice("--log-format", p.env.logFormat, []string{"text", "json"}, &p.env.logFormat); err != nil {
			return err
		}
		if cmd.RunE != nil { // cobra only parses
			p.chosen, cmd.RunE = cmd.RunE, func(*cobra.Command, []string) error { return nil }
		}
		return p.chooseFormat(formatNames(cmd))
	}
	if err := root.RegisterFlagCompletionFunc("format", completeFormat); err != nil {
		panic(err) // not reached: the flag exists
	}
	if !isEventLine(p.args) {
		root.SetHelpCommand(p.helpCommand(root))
	}
	root.SetHelpCommandGroupID(commandGroups[len(commandGroups)-1])
	root.SetCompletionCommandGroupID(commandGroups[len(commandGroups)-1])
	root.SetUsageFunc(printUsage)
	printHelp := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		f.Lookup("format").Usage = formatUsage(cmd)
		printHelp(cmd, args)
	})
	return root
}

// refuseArguments returns an error for an argument that is no command.
func refuseArguments(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names, below []string
	for _, c := range root.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
		for _, sub := range c.Commands() {
			if sub.Name() == args[0] {
				below = append(below, commandName(sub))
			}
		}
	}
	hint := near.DidYouMean(args[0], names)
	if len(below) > 0 {
		hint = near.Hint(strings.Join(below, " or "))
	}
	e := &report.UsageError{Msg: "unknown command " + quote(args[0]) + hint, Help: "starhost --help"}
	if strings.HasSuffix(args[0], ".star") {
		e.Msg = "unknown command " + quote(args[0]) + near.Hint("starhost eval "+args[0])
	}
	return e
}

// flagHabits maps flags of other programs to those of starhost.
var flagHabits = map[string]string{
	"attachment-type": "-a REF;type=TYPE",
	"at":              "-a REF;type=TYPE",
	"debug":           "-v",
	"json":            "-F json",
	"m":               "[model] default in the config",
	"model":           "[model] default in the config",
	"version":         "starhost version",
	"V":               "starhost version",
}

// valueKinds says in words which values flags accept, by the type of the value.
var valueKinds = map[string]string{
	"bool":     "true or false",
	"duration": "a time span as 500ms or 2s",
	"int":      "a whole number",
	"session":  "an id of 1 to 200 bytes without control characters and without - first",
	"size":     "bytes as 1048576 or 64MiB (units B, KiB, MiB, GiB)",
	"span":     "a time span over 0 as 500ms or 2s",
	"steps":    "a whole number from 1",
	"uint64":   "a whole number",
}

// flagError turns an error of the flag parser into a UsageError with a suggestion.
func flagError(cmd *cobra.Command, err error) error {
	var (
		unknown *pflag.NotExistError
		invalid *pflag.InvalidValueError
		missing *pflag.ValueRequiredError
	)
	msg := err.Error()
	switch {
	case errors.As(err, &unknown):
		msg = "unknown flag " + flagName(unknown.GetSpecifiedName()) + suggestFlag(cmd, unknown.GetSpecifiedName())
		if file := unknown.GetSpecifiedShortnames(); strings.HasSuffix(file, ".star") {
			msg = "unknown flag -" + file + near.Hint("the file ./-"+file)
		}
	case errors.As(err, &invalid):
		f := invalid.GetFlag()
		msg = flagName(f.Name) + ": got " + quote(invalid.GetValue()) + ", want " + valueKinds[f.Value.Type()]
	case errors.As(err, &missing):
		_, usage := pflag.UnquoteUsage(missing.GetFlag())
		msg = flagName(missing.GetSpecifiedName()) + ": got nothing, want a value (" + usage + ")"
	case errors.Is(err, pflag.ErrHelp):
		return err
	}
	return &report.UsageError{Msg: msg, Help: cmd.CommandPath() + " --help"}
}

// suggestFlag suggests a flag for an unknown one.
func suggestFlag(cmd *cobra.Command, name string) string {
	if habit := flagHabits[name]; habit != "" {
		return near.Hint(habit)
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	slices.Sort(names)
	return near.DidYouMean("--"+name, names)
}

// flagArguments returns the flags that the user gave, except those named, as arguments that mean the same in
// any folder. It copies all other flags, so that a command line that starhost writes never lacks a new flag.
// If the help of a flag names a FILE or a DIR, the value becomes an absolute path.
func (env Env) flagArguments(cmd *cobra.Command, except ...string) (argv []string, err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if slices.Contains(except, f.Name) {
			return
		}
		values := []string{f.Value.String()}
		if l, ok := f.Value.(*stringList); ok {
			values = *l
		}
		for _, v := range values {
			switch kind, _ := pflag.UnquoteUsage(f); {
			case f.Name == "directory":
				v, err = filepath.Abs(v)
			case kind == "FILE" || kind == "DIR":
				v, err = filepath.Abs(env.path(v))
			}
			if f.NoOptDefVal == v {
				argv = append(argv, "--"+f.Name)
			} else if f.NoOptDefVal != "" {
				argv = append(argv, "--"+f.Name+"="+v)
			} else {
				argv = append(argv, "--"+f.Name, v)
			}
		}
	})
	return argv, err
}

func flagName(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

func quote(s string) string { return `"` + s + `"` }

// completeEval adds completions of the values of eval's flags. It loads the plugins that the command line
// names to list their names. If they cannot be loaded, it offers none.
func (p *program) completeEval(cmd *cobra.Command, f *evalFlags) {
	complete := func(flag string, names func(paths []string) []string) {
		values := func(_ *cobra.Command, paths []string, _ string) ([]string, cobra.ShellCompDirective) {
			return names(paths), cobra.ShellCompDirectiveNoFileComp
		}
		if err := cmd.RegisterFlagCompletionFunc(flag, values); err != nil {
			panic(err) // not reached: the flag exists, and has one completion
		}
	}
	loaded := func(paths []string, names func(*loader.Set) []string) []string {
		return p.env.registeredNames(cmd.Context(), &p.res, &f.loadFlags, paths, names)
	}
	complete("fire", func([]string) []string {
		return jsontext.List(starhost.Events(), func(e *starhost.EventSpec) string { return e.Name })
	})
	complete("call", func(paths []string) []string {
		return loaded(paths, func(set *loader.Set) []string {
			return jsontext.List(set.Host.Tools(), func(t *starhost.Tool) string { return t.Name })
		})
	})
	complete("template", func(paths []string) []string {
		return loaded(paths, func(set *loader.Set) []string {
			return jsontext.List(set.Host.TemplateLoaders(), func(l *host.LoaderInfo) string { return l.Prefix + ":" })
		})
	})
	complete("fragment", func(paths []string) []string {
		return loaded(paths, func(set *loader.Set) []string {
			return jsontext.List(report.OwnLoaders(set), func(l *host.LoaderInfo) string { return l.Prefix + ":" })
		})
	})
}

// registeredNames returns the names that plugins register. If loading fails, it returns none.
func (env Env) registeredNames(
	ctx context.Context, res *Result, f *loadFlags, paths []string, names func(*loader.Set) []string,
) []string {
	set, err := env.load(ctx, res, f, paths)
	res.problems, res.warnings, res.logs = nil, nil, nil
	if err != nil {
		return nil
	}
	defer set.Close()
	return names(set)
}

// finishCompletion adds examples to cobra's own commands, as all other commands have them, and an error for
// an unknown shell.
func (p *program) finishCompletion(root *cobra.Command) {
	shell := func(name string) string { return "  starhost completion " + name }
	for _, cmd := range root.Commands() {
		if cmd.Name() != "completion" {
			continue
		}
		cmd.Args, cmd.RunE = refuseSubcommand, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		cmd.Example = shell("bash") + " > starhost.bash\n" + shell("fish") + " > starhost.fish"
		for _, sub := range cmd.Commands() {
			sub.Annotations = formats("")
			sub.Example = shell(sub.Name()) + " > starhost." + sub.Name() + "\n" + shell(sub.Name()) + " --no-descriptions"
		}
	}
}
