package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/spf13/cobra"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/decision"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/report"
)

// runFlags are the flags of run.
type runFlags struct {
	loadFlags
	requestFlags
	session  sessionChoice
	approve  string
	noStream bool
}

func (p *program) modelRunCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:         "run [PATH...] -p PROMPT",
		Annotations: formats("text json"),
		Short:       "Ask a model, and run the tools that it calls",
		Long: `Ask a model, and run the tools that it calls, with the hooks and approvals of the
plugins at the paths, up to the final answer. The paths are those of eval.

The text of the model goes to standard output as it arrives. Everything else goes to
standard error: tool calls, denials, warnings. If a plugin has a post_llm_call hook,
the text waits for the hook, because the hook may change it.

With --approve later, a turn waits for its approvals: run stores it and ends. Answer the
question by starhost sessions answer, within 24 hours and from any terminal; run --session
ID without a prompt then goes on with the turn. The guards are asked again.

The exit code is 0 if the model answered, also when a guard denied a tool on the way; 1
if a hook aborted the turn; 4 if the turn waits for an approval; and 5 if the model did
not answer.`,
		Example: `  starhost run -m openai/MODEL -p "Why is p99 up?"
  starhost run plugins -f runbook:checkout -p "Why is p99 up?"
  git diff | starhost run -p - -s "Review this change."
  starhost run plugins -p "Why?" -F json --approve never
  starhost run plugins --session monday`,
		RunE: func(cmd *cobra.Command, paths []string) error {
			f.promptGiven = cmd.Flags().Changed("prompt") || f.promptFile != ""
			return runModel(cmd.Context(), p.env, &p.res, &f, paths)
		},
	}
	f.loadFlags.add(cmd)
	f.requestFlags.addRequest(cmd)
	f.requestFlags.addModel(cmd)
	f.session.add(cmd)
	addApprove(cmd, &f.approve, "later")
	cmd.Flags().BoolVar(&f.noStream, "no-stream", false, "ask for whole answers, for endpoints that cannot stream")
	return cmd
}

// A runResult is the result of run.
type runResult struct {
	turn   *host.TurnResult // nil if the turn did not begin
	model  string
	text   string
	loaded []report.ErrorJSON // the errors of plugins that failed
	waits  *waitingError      // set if the turn waits for an approval
}

// runModel runs the command.
func runModel(ctx context.Context, env Env, res *Result, f *runFlags, paths []string) error {
	var result runResult
	res.addError(askOnce(ctx, env, res, f, paths, &result))
	return env.printResult(res, &result)
}

// check returns an error for flags that do not go together.
func (f *runFlags) check() error {
	switch {
	case f.wantsPrompt():
	case !f.session.isGiven():
		return usagef("run: got no prompt, want -p, -t or -i (or --session ID of a turn that waits for an approval)")
	case f.model != "":
		return usagef("run: got -m without a prompt, want none: a turn that waits has its model")
	}
	return f.requestFlags.check()
}

// askOnce runs one turn, or goes on with one that waits for an approval.
func askOnce(ctx context.Context, env Env, res *Result, f *runFlags, paths []string, result *runResult) error {
	if err := f.check(); err != nil {
		return err
	}
	resumes := !f.wantsPrompt()
	f.session.waits = resumes
	request, config, err := env.readRequest(&f.requestFlags)
	if err != nil {
		return err
	}
	approve, err := env.newApprover(res, f.approve, "later")
	if err != nil {
		return err
	}
	configure := func(o *loader.Options) {
		o.Host.Approver = approve
		o.Host.PauseTurns = f.approve == "later" || resumes && f.approve == "ask"
	}
	set, err := loadForModel(ctx, env, res, &f.loadFlags, paths, &f.session, configure)
	if err != nil {
		return err
	}
	defer set.Close()
	if err := set.Missing(); err != nil {
		return nil // loadWith has reported it
	}
	if f.approve == "later" && f.session.used == "" {
		return errNoStore
	}
	end, err := env.mountTools(ctx, res, set, nil, allServers)
	defer end()
	if err != nil {
		return err
	}
	result.loaded = res.errorsJSON()
	env.report(res)
	res.code = report.ExitOK // plugins that are not required may fail
	result.model = cmp.Or(f.model, request.Model, config.Model, set.Config.Model.Default)
	if err := checkModel(set, result.model, resumes || request.Template != ""); err != nil {
		return err
	}
	config.Model, config.Seed = result.model, rand.Uint64()
	if len(request.History) > 0 && f.session.isGiven() {
		return usagef("%s: got earlier messages beside --session, which has its own, want only the new one", f.input)
	}
	c, err := env.newConversation(ctx, res, set, f.session.used, config, !f.noStream)
	if err != nil {
		return err
	}
	defer c.close(ctx)
	result.turn, err = c.answer(ctx, request, resumes)
	if result.waits, _ = errors.AsType[*waitingError](err); err != nil {
		result.text = c.partialText()
	} else {
		result.text = result.turn.Text
	}
	return err
}

// allServers accepts all MCP servers of the config, for mountTools.
func allServers(string) bool { return true }

// loadForModel loads the plugins for a conversation. It needs no plugin. The decision log records the events,
// unless the config turns it off.
func loadForModel(
	ctx context.Context, env Env, res *Result, f *loadFlags, paths []string, session *sessionChoice, choose func(*loader.Options),
) (*loader.Set, error) {
	var failed error
	var records *decision.Log
	set, err := env.loadAny(ctx, res, f, paths, func(o *loader.Options) {
		choose(o)
		records = env.recordEvents(o)
		if failed = session.resolve(ctx, env, o.Config); failed == nil {
			session.used.useStore(env, o)
		}
	})
	if err == nil && failed != nil {
		set.Close()
		return nil, failed
	}
	useSet(records, set)
	return set, err
}

// checkModel returns an error for a model that does not exist or whose key is missing. later is true if a
// template may name another model.
func checkModel(set *loader.Set, choice string, later bool) error {
	if choice == "" {
		if later {
			return nil
		}
		return &report.UsageError{
			Msg:  "got no model, want -m NAME/MODEL, or default in [model] of the config",
			Help: "starhost list models shows the endpoints; [model.NAME] base_url adds one",
		}
	}
	e, _, err := set.Host.Endpoint(choice)
	if err != nil {
		return &report.UsageError{Msg: err.Error(), Help: "starhost list models"}
	}
	if e.APIKey != "" {
		_, err = set.Secret(e.APIKey)
	}
	return err
}

// A runJSON is the JSON result of run.
type runJSON struct {
	head
	Text      string           `json:"text"`
	Session   string           `json:"session"`
	Turn      int              `json:"turn"`
	Rounds    int              `json:"rounds"`
	Model     string           `json:"model"`
	Usage     starhost.Usage   `json:"usage"`
	ToolCalls []runCallJSON    `json:"tool_calls"`
	Question  *report.Question `json:"question,omitempty"` // set if the turn waits for the answer
	tail
}

type runCallJSON struct {
	Tool      string `json:"tool"`
	Arguments any    `json:"arguments"`
	Decision  string `json:"decision"` // "allow" or "deny"
	Output    string `json:"output"`
	IsError   bool   `json:"is_error"`
}

func (r *runResult) WriteJSON(res *Result) error {
	out := runJSON{
		head: head{"starhost.run/1", len(res.problems) == 0}, Text: r.text, Model: r.model, ToolCalls: []runCallJSON{},
		tail: tail{res.warningsJSON(), append(append([]report.ErrorJSON{}, r.loaded...), res.errorsJSON()...)},
	}
	if t := r.turn; t != nil {
		out.Session, out.Turn, out.Rounds, out.Usage = t.Turn.Session().ID(), t.Turn.Number(), t.Rounds, t.Usage
		if t.Prompt != nil {
			out.Model = cmp.Or(t.Prompt.Model, out.Model)
		}
		out.Model = cmp.Or(out.Model, t.Turn.Request().Model) // for a turn that waited, its own model
		out.ToolCalls = jsontext.List(t.Calls, newRunCallJSON)
	}
	if r.waits != nil {
		out.Question = r.waits.question
	}
	return res.out.JSON(out)
}

func newRunCallJSON(r *host.ToolReply) runCallJSON {
	out := runCallJSON{r.Call.Name, rawOrText(r.Call.Arguments), "allow", r.Result.ForLLM, r.Result.IsError}
	if r.Denied != nil {
		out.Decision = "deny"
	}
	return out
}

// rawOrText returns a text that is JSON as JSON, and any other text as a string.
func rawOrText(raw json.RawMessage) any {
	switch {
	case len(raw) == 0:
		return struct{}{}
	case json.Valid(raw):
		return raw
	}
	return string(raw)
}

// WriteText only ends the text on standard output, because the conversation has written the text.
func (*runResult) WriteText(res *Result) {}

// callLine returns one line about a tool call, for people.
func callLine(r *host.ToolReply) string {
	arguments := cutArguments(string(r.Call.Arguments))
	line := "tool: " + r.Call.Name + " " + arguments
	switch {
	case r.Denied != nil:
		line = "denied: " + r.Call.Name + " " + arguments + ": " + r.Denied.Plugin + ": " + r.Denied.Reason
	case r.Result.IsError:
		line = "failed: " + r.Call.Name + " " + arguments + ": " + errtext.Clip(r.Result.ForLLM)
	case r.Result.ForUser != "" && !r.Result.Silent:
		line += ": " + errtext.Clip(r.Result.ForUser)
	}
	return texttable.EscapeLine(line)
}

// cutArguments returns the arguments of a call, cut for one line.
func cutArguments(text string) string {
	text = strings.TrimSpace(text)
	return errtext.CutTo(text, maxShownArguments, fmt.Sprintf("… (%d B)", len(text)))
}

// maxShownArguments is the most bytes of arguments in a line about a tool call.
const maxShownArguments = 200
