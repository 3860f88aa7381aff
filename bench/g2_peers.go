package main

import (
	"context"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/ext"
	"github.com/dop251/goja"
	"github.com/expr-lang/expr"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/starhost/starhost"
)

// goStandard is the standard hook in Go.
func goStandard(_ context.Context, _ *starhost.Turn, e *starhost.Event) (starhost.Decision, error) {
	var roles, names []string
	for _, m := range e.Messages.Items() {
		roles = append(roles, m.Role)
	}
	for _, t := range e.Tools.Items() {
		names = append(names, t.Name)
	}
	return starhost.TextContext("roles " + strings.Join(roles, ",") + "; tools " + strings.Join(names, ",")), nil
}

// regoHook is the standard hook as a prepared query of OPA.
func regoHook() (side, error) {
	ctx := context.Background()
	query, err := rego.New(rego.Query("data.hook.text"), rego.Module("hook.rego", `package hook

text := sprintf("roles %s; tools %s", [
	concat(",", [m.role | some m in input.messages]),
	concat(",", [t.name | some t in input.tools]),
])
`)).PrepareForEval(ctx)
	if err != nil {
		return nil, err
	}
	input := plain()
	return loop(func() error {
		results, err := query.Eval(ctx, rego.EvalInput(input))
		if err != nil {
			return err
		}
		text, _ := results[0].Expressions[0].Value.(string)
		return check(text, nil)
	}), nil
}

// celHook is the standard hook as a compiled expression of CEL.
func celHook() (side, error) {
	env, err := cel.NewEnv(ext.Strings(), cel.Variable("messages", cel.ListType(cel.DynType)), cel.Variable("tools", cel.ListType(cel.DynType)))
	if err != nil {
		return nil, err
	}
	tree, issues := env.Compile(`"roles " + messages.map(m, m.role).join(",") + "; tools " + tools.map(t, t.name).join(",")`)
	if issues.Err() != nil {
		return nil, issues.Err()
	}
	program, err := env.Program(tree)
	if err != nil {
		return nil, err
	}
	input := plain()
	return loop(func() error {
		value, _, err := program.Eval(input)
		if err != nil {
			return err
		}
		text, _ := value.Value().(string)
		return check(text, nil)
	}), nil
}

// exprHook is the standard hook as a compiled expression of expr.
func exprHook() (side, error) {
	program, err := expr.Compile(`"roles " + join(map(Messages, .Role), ",") + "; tools " + join(map(Tools, .Name), ",")`, expr.Env(wireRequest{}))
	if err != nil {
		return nil, err
	}
	input := request()
	return loop(func() error {
		value, err := expr.Run(program, input)
		if err != nil {
			return err
		}
		text, _ := value.(string)
		return check(text, nil)
	}), nil
}

// gojaHook is the standard hook in JavaScript, over values that were converted once.
func gojaHook() (side, error) {
	vm := goja.New()
	if _, err := vm.RunString(`function standard(messages, tools) {
  return "roles " + messages.map(m => m.role).join(",") + "; tools " + tools.map(t => t.name).join(",");
}`); err != nil {
		return nil, err
	}
	fn, _ := goja.AssertFunction(vm.Get("standard"))
	input := plain()
	messages, tools := vm.ToValue(input["messages"]), vm.ToValue(input["tools"])
	return loop(func() error {
		value, err := fn(goja.Undefined(), messages, tools)
		if err != nil {
			return err
		}
		return check(value.String(), nil)
	}), nil
}
