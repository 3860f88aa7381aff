package builtins

import (
	"context"
	"time"

	"go.starlark.net/starlark"

	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/effects"
)

// ctxExec implements ctx.exec.
func ctxExec(c call.Call, h *handlerCall) (starlark.Value, error) {
	var (
		argv    starlark.Value
		cmd     effects.Command
		stdin   secretArg
		env     secretsArg
		timeout seconds
	)
	if err := c.Bind("argv", &argv, "stdin??", &stdin, "env??", &env, "timeout??", &timeout); err != nil {
		return nil, err
	}
	var words stringOrList
	if _, isText := argv.(starlark.String); isText {
		return nil, c.Fail("E0201", "argv: got string, want a list of strings: there is no shell that splits it")
	}
	if err := words.Unpack(argv); err != nil {
		return nil, c.Fail("E0201", "argv: %v", err)
	}
	cmd.Argv, cmd.Stdin, cmd.Env, cmd.Timeout = words, effects.Secret(stdin), env, time.Duration(timeout)
	if err := c.Pay(20+len(words), 64*len(words)); err != nil {
		return nil, err
	}
	out, err := runEffect(c, func(ctx context.Context) (effects.Output, error) { return h.rec.world.Run(ctx, cmd) })
	if err != nil {
		return nil, err
	}
	size := 2*len(out.Stdout) + len(out.Stderr) // twice, because text that is not UTF-8 is copied
	if err := c.Pay(1+size/64, size); err != nil {
		return nil, err
	}
	return structOf("output", starlark.StringDict{
		"stdout": starlark.String(asText(out.Stdout)), "stdout_bytes": starlark.Bytes(out.Stdout),
		"stderr": starlark.String(asText(out.Stderr)), "code": starlark.MakeInt(out.Code),
	}), nil
}
