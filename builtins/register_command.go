package builtins

import (
	"context"
	"encoding/json"

	"go.starlark.net/starlark"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/host"
)

// commandArgs are the arguments that the handler of a command may name, besides ctx.
var commandArgs = []string{"args", "full_args", "messages", "confirm"}

// maxQuestion is the most bytes of a question that confirm asks.
const maxQuestion = 1000

// registerCommand implements register_command.
func registerCommand(c call.Call) (starlark.Value, error) {
	var (
		cmd               starhost.Command
		handler, complete starlark.Callable
		aliases           stringOrList
	)
	err := c.Bind("name", &cmd.Name, "handler", &handler, "description??", &cmd.Description, "aliases??", &aliases, "complete??", &complete)
	if err != nil {
		return nil, err
	}
	r, err := startRegistration(c, listArg{"aliases", aliases})
	if err != nil {
		return nil, err
	}
	sig, err := signatureOf(c, r, "handler", handler)
	if err != nil {
		return nil, err
	}
	if err := checkNames(c, sig, "a command", commandArgs); err != nil {
		return nil, err
	}
	if cmd.Description == "" {
		cmd.Description = firstParagraph(sig.fn.Doc())
	}
	if complete != nil {
		if cmd.Complete, err = completion(c, r, complete); err != nil {
			return nil, err
		}
	}
	for _, name := range append([]string{cmd.Name}, aliases...) {
		if cmd.Pos, err = claimName(c, r, "command", name); err != nil {
			return nil, err
		}
	}
	cmd.Aliases, cmd.Call = aliases, r.commandCall(sig)
	r.plugin.Commands = append(r.plugin.Commands, cmd)
	return starlark.None, c.Pay(10, 1024)
}

// commandCall returns the Go function that calls a command's handler.
func (r *Recorder) commandCall(
	sig *signature,
) func(context.Context, starhost.CommandCall) (starhost.Result, error) {
	return func(ctx context.Context, call starhost.CommandCall) (starhost.Result, error) {
		h := r.beginCall(ctx)
		kwargs, err := sig.keywordArguments(h, commandArgs, func(name string) (starlark.Value, error) {
			switch name {
			case "args":
				return stringList(call.Args), nil
			case "full_args":
				return starlark.String(call.Line), nil
			case "confirm":
				return h.confirm(call), nil
			}
			conversation := h.turn.Conversation()
			return argumentValue(&conversation)
		})
		if err != nil {
			return starhost.Result{}, err
		}
		v, err := h.call(sig.fn, nil, kwargs)
		return r.resultOf(sig.fn, v, err)
	}
}

// confirm returns the function that asks the user a question for a command:
//
//	confirm(question)
func (h *handlerCall) confirm(command starhost.CommandCall) starlark.Value {
	return starlark.NewBuiltin("confirm", func(
		th *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple,
	) (starlark.Value, error) {
		c := call.Call{Runtime: h.rec.rt, Thread: th, Name: "confirm", Args: args, Kwargs: kwargs}
		var question string
		if err := c.Bind("question", &question); err != nil {
			return nil, err
		}
		if len(question) > maxQuestion {
			return nil, c.Fail("E0202", "question: got %d bytes, want at most %d", len(question), maxQuestion)
		}
		if err := c.Pay(10, 4*maxQuestion+len(command.Line)); err != nil {
			return nil, err
		}
		words, err := json.Marshal(map[string][]string{"args": append([]string{}, command.Args...)})
		if err != nil {
			return nil, err
		}
		yes, err := runEffect(c, func(ctx context.Context) (bool, error) {
			return h.turn.Confirm(ctx, host.ApprovalRequest{
				Call:   starhost.ToolCall{Name: "/" + command.Name, Arguments: words},
				Plugin: h.rec.plugin.Name, Reasons: h.rec.cleanTexts([]string{question}),
			})
		})
		return starlark.Bool(yes), err
	})
}

// completion returns the Go function that calls a handler to complete the arguments of a command.
func completion(
	c call.Call, r *Recorder, handler starlark.Callable,
) (func(context.Context, string) ([]string, error), error) {
	p, err := readPositionalHandler(c, r, "complete", handler, 1)
	if err != nil {
		return nil, err
	}
	return positionalCall(r, p, func(v starlark.Value) ([]string, error) {
		if v == starlark.None {
			return nil, nil
		}
		var list stringOrList
		err := list.Unpack(v)
		return r.cleanTexts(list), err
	}), nil
}
