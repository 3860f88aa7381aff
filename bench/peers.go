package main

import (
	"context"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/ext"
	"github.com/expr-lang/expr"
	"github.com/open-policy-agent/opa/v1/rego"
)

// regoHook is the standard hook as a prepared query of OPA.
func regoHook() side {
	ctx := context.Background()
	query := must(rego.New(rego.Query("data.hook.text"), rego.Module("hook.rego", `package hook

text := sprintf("roles %s; tools %s", [
	concat(",", [m.role | some m in input.messages]),
	concat(",", [t.name | some t in input.tools]),
])
`)).PrepareForEval(ctx))
	input := decodedRequest()
	return loop(func() {
		results := must(query.Eval(ctx, rego.EvalInput(input)))
		check(results[0].Expressions[0].Value)
	})
}

// celHook is the standard hook as a compiled expression of CEL.
func celHook() side {
	list := cel.ListType(cel.DynType)
	env := must(cel.NewEnv(ext.Strings(), cel.Variable("messages", list), cel.Variable("tools", list)))
	tree, issues := env.Compile(`"roles " + messages.map(m, m.role).join(",") + "; tools " + tools.map(t, t.name).join(",")`)
	try(issues.Err())
	program := must(env.Program(tree))
	input := decodedRequest()
	return loop(func() {
		value, _, err := program.Eval(input)
		try(err)
		check(value.Value())
	})
}

// exprHook is the standard hook as a compiled expression of expr.
func exprHook() side {
	program := must(expr.Compile(`"roles " + join(map(Messages, .Role), ",") + "; tools " + join(map(Tools, .Name), ",")`, expr.Env(wireRequest{})))
	input := request()
	return loop(func() {
		check(must(expr.Run(program, input)))
	})
}
