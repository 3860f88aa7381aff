package main

import (
	"context"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/ext"
	"github.com/expr-lang/expr"
	"github.com/open-policy-agent/opa/v1/rego"
)

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
	input := decodedRequest()
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
	list := cel.ListType(cel.DynType)
	env, err := cel.NewEnv(ext.Strings(), cel.Variable("messages", list), cel.Variable("tools", list))
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
	input := decodedRequest()
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
