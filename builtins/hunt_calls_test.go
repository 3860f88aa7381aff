//go:build !race && unix

package builtins_test

import (
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/syntax"

	"github.com/starhost/starhost/builtins"
	"github.com/starhost/starhost/starlark"
)

// A huntValue is a value of the hunt. Its size grows with n.
type huntValue struct{ name, expr string }

// huntValues are globals of the hunt's file. The names of values without a size begin with "c".
var huntValues = []huntValue{
	{"c_none", "None"}, {"c_text", "'a'"}, {"c_empty", "''"}, {"c_int", "7"}, {"c_zero", "0"}, {"c_minus", "-1"},
	{"c_word", "1 << 40"}, {"c_float", "1.5"}, {"c_huge", "1.7e308"}, {"c_tiny", "5e-324"}, {"c_inf", "float('inf')"},
	{"c_list", "['a']"}, {"c_dict", "{'a': 1}"}, {"c_set", "set([1])"}, {"c_bytes", "b'a'"}, {"c_func", "len"},
	{"c_struct", "struct(a = 1)"}, {"c_time", "time.time(2026)"}, {"c_duration", "time.hour"}, {"c_range", "range(10)"},
	{"c_format", "'%f'"}, {"c_decimal", "'%d'"}, {"c_shown", "'%s'"}, {"c_braces", "'{}'"}, {"c_pattern", "'a|b'"},
	{"c_match", "re.search('(a)(?P<b>b)?', 'xa')"}, {"c_zone", "'Europe/Berlin'"}, {"c_layout", "'2006-01-02'"},
	{"long_text", "'x' * n"}, {"words", "'a b ' * (n // 4)"}, {"spaces", "' ' * n"}, {"escapes", "'\\x1b' * n"},
	{"accents", "'é' * (n // 2)"}, {"lines", "'a\\n' * (n // 2)"}, {"digits", "'1' * n"}, {"fraction", "'0.' + '1' * n"},
	{"slashes", "'A/' * (n // 2)"}, {"formats", "'%s' * (n // 2)"}, {"fields", "'{}' * (n // 2)"}, {"keys", "'a: 1\\n' * (n // 5)"},
	{"brackets", "'[' * n"}, {"json_text", "'[' + '1,' * (n // 2) + '1]'"}, {"tiny_texts", "'[' + '5e-324,' * (n // 8) + '1]'"}, {"c_tiny_text", "'5e-324'"}, {"c_tiny_array", "'a = [5e-324]'"},
	{"tiny_array", "'a = [' + '5e-324,' * (n // 8) + ']'"}, {"floats", "'[' + '1e308,' * (n // 6) + '1]'"},
	{"big", "big_int(min(4 * n, 65000))"}, {"huge_float_int", "big_int(1000)"},
	{"minus_big", "-big_int(min(4 * n, 65000)) + 1"}, {"bytes_", "bytes('x' * n)"},
	{"ints", "list(range(n))"}, {"texts", "['x'] * n"}, {"long_texts", "['x' * n] * 8"}, {"tinies", "[5e-324] * n"},
	{"mixed", "[5e-324, 1] * (n // 2)"}, {"bigs", "[big_int(min(4 * n, 65000))] * 64"}, {"pairs", "[('a', 1)] * n"},
	{"rows", "[['a', 1]] * (n // 2)"}, {"dicts", "[{'a': 1}] * (n // 2)"}, {"tuple_", "('x',) * n"}, {"shared", "share(n)"},
	{"counts", "{k: k for k in range(n // 4)}"}, {"names", "{'k%d' % k: k for k in range(n // 4)}"},
	{"float_keys", "{k + 0.5: k for k in range(n // 16)}"}, {"numbers", "set(range(n // 4))"},
	{"range_", "range(n)"}, {"fields_", "struct(**{'k%d' % k: k for k in range(n // 16)})"},
	{"long_fields", "struct(**{'k' * 64 + str(k): k for k in range(n // 64)})"},
	{"classes", "'\\\\pL{%d}' % min(n // 8, 990)"}, {"optional", "'(?:a?){%d}x' % min(n // 8, 900)"},
	{"near", "'x' * (n // 8) + 'b'"}, {"groups", "'(x?)' * min(n // 64, 99) + 'z'"},
	{"c_file", "'a.md'"}, {"c_deep", "'d/' * 60 + 'a.md'"}, {"deep", "'d/' * min(n // 32, 250)"}, {"c_all", "'**'"},
	{"stars", "'*x' * (n // 16)"}, {"choices", "'{x,*}' * 6 + 'x*' * (n // 32)"}, {"c_tool", "'echo'"}, {"c_reference", "'book:x'"},
	{"c_variable", "'TEAM'"}, {"c_url", "'https://a.test/x'"}, {"c_level", "'info'"}, {"argv", "['echo'] + ['x' * 100] * (n // 128)"},
	{"tables", "'[[a]]\\n' * (n // 8)"}, {"arrays", "'a = [' + '1,' * (n // 2) + ']'"}, {"c_hour", "'1h'"}, {"durations", "'1ns' * (n // 4)"},
	{"documents", "'---\\na\\n' * (n // 8)"}, {"c_date", "'2026-01-02'"}, {"cells", "'a,b\\n' * (n // 4)"}, {"b64", "'QUJD' * (n // 4)"},
	{"headings", "'# a\\nb\\n' * (n // 8)"}, {"members", "{'a': [{'b': 1}] * (n // 8)}"}, {"command", "'a b;' * (n // 4)"},
	{"c_text_list", "['a', 'b']"}, {"c_callable", "lambda *args, **kwargs: True"}, {"c_fragment", "fragment('a')"}, {"c_pair_list", "[('a', 1)]"}, {"c_tag", "'!a'"}, {"line", "shell.parse('a b;' * (n // 64))"},
}

// huntFile returns the source of the file whose globals are the hunt's values.
func huntFile(n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `n = %d

def big_int(bits):
    x = 1
    for _ in range(bits // 500):
        x = x << 500
    return x + 1

def share(n):
    x = ["x"]
    for _ in range(n // 1024):
        x = [x, x]
    return x

`, n)
	for _, v := range huntValues {
		fmt.Fprintf(&b, "%s = %s\n", v.name, v.expr)
	}
	b.WriteString("shouted = 'B' * n\nparsed = shell.parse('a b;' * (n // 32))\nc_command = shell.parse('a -b c').commands[0]\n")
	return b.String()
}

// A huntCall is an operation on some of huntValues. In its expression, %[1]s stands for the name of the first
// value.
type huntCall struct {
	op    string // the name in the report
	expr  string
	arity int
}

// huntOperators are the operators and the forms of syntax that can do more than constant work.
func huntOperators() []huntCall {
	var calls []huntCall
	for op := syntax.PLUS; op <= syntax.NOT_IN; op++ { // the operators among the tokens
		if isBinary(op) {
			calls = append(calls, huntCall{"x " + op.String() + " y", "(%[1]s " + strings.ReplaceAll(op.String(), "%", "%%") + " %[2]s)", 2})
		}
	}
	return append(calls,
		huntCall{"x not in y", "(%[1]s not in %[2]s)", 2},
		huntCall{"-x", "-%[1]s", 1}, huntCall{"~x", "~%[1]s", 1}, huntCall{"+x", "+%[1]s", 1}, huntCall{"not x", "not %[1]s", 1},
		huntCall{"x[y]", "%[1]s[%[2]s]", 2}, huntCall{"x[1:]", "%[1]s[1:]", 1}, huntCall{"x[::-1]", "%[1]s[::-1]", 1},
		huntCall{"{x: 1}", "{%[1]s: 1}", 1}, huntCall{"[*x]", "[y for y in %[1]s]", 1}, huntCall{"f(*x)", "max(0, *%[1]s)", 1},
		huntCall{"f(**x)", "dict(**%[1]s)", 1}, huntCall{"{k: v for x}", "{y: 1 for y in %[1]s}", 1},
	)
}

// isBinary reports whether the parser reads x op y.
func isBinary(op syntax.Token) bool {
	if op == syntax.DOT || op == syntax.COMMA {
		return false
	}
	_, err := (&syntax.FileOptions{}).ParseExpr("x", "x "+op.String()+" y", 0)
	return err == nil
}

// methods are the methods of values. Receivers that a method changes are copied.
func (h *hunter) methods() []huntCall {
	var calls []huntCall
	for _, m := range starlark.MethodNames() {
		kind, name, _ := strings.Cut(m, ".")
		recv := map[string]string{"list": "list(%[1]s)", "dict": "dict(%[1]s)", "set": "set(%[1]s)"}[kind]
		if recv == "" {
			recv = "%[1]s"
		}
		for arity := 1; arity <= 3; arity++ {
			args := []string{"", "%[2]s", "%[2]s, %[3]s"}[arity-1]
			calls = append(calls, huntCall{m, recv + "." + name + "(" + args + ")", arity})
		}
	}
	// These values of the host have methods or fields.
	for _, kind := range []string{
		"re.search('(a)(?P<b>b)?', 'xa')", "re.search('(a)(?P<b>b)?', 'xa' + words)", "time.time(2026)", "time.hour", "fragment(long_text)",
		"attachment(content = long_text)", "result(ints)", "template(prompt = words)", "struct(a = ints)", "shell.parse(command)",
	} {
		for _, name := range h.attributes(kind) {
			calls = append(calls,
				huntCall{kind + "." + name, kind + "." + name, 0},
				huntCall{kind + "." + name, kind + "." + name + "()", 0},
				huntCall{kind + "." + name, kind + "." + name + "(%[1]s)", 1})
		}
	}
	return calls
}

// huntBuiltins are the functions of the language, of the table of builtins and of ctx.
func huntBuiltins() []huntCall {
	var calls []huntCall
	add := func(name string, most int) {
		for arity := range most + 1 {
			args := []string{"", "%[1]s", "%[1]s, %[2]s", "%[1]s, %[2]s, %[3]s"}[arity]
			calls = append(calls, huntCall{name, name + "(" + args + ")", arity})
		}
	}
	language := starlark.New(starlark.Options{}).Names()
	for _, name := range language {
		if !slices.Contains([]string{"None", "True", "False", "json"}, name) {
			add(name, 3)
		}
	}
	for _, e := range builtins.Table(starlark.New(starlark.Options{})) {
		if e.Signature != "" && !slices.Contains(language, e.Name) {
			add(e.Name, min(3, 1+strings.Count(e.Signature, ",")))
		}
	}
	return calls
}

// huntNamed are calls with arguments that generated calls do not have: names, functions, nested
// values.
func huntNamed() []huntCall {
	var calls []huntCall
	for _, expr := range []string{
		"sorted(%[1]s, key = lambda x: x)", "sorted(%[1]s, reverse = True)", "max(%[1]s, key = lambda x: x)", "min(%[1]s, key = len)",
		"'%%s %%r' %% (%[1]s, %[2]s)", "'%%d %%x %%o' %% (%[1]s, %[1]s, %[1]s)", "'%%e %%f %%g' %% (%[1]s, %[1]s, %[1]s)", "'%%c' %% %[1]s",
		"'{a!r} {b}'.format(a = %[1]s, b = %[2]s)", "'{0}{1}{0}'.format(%[1]s, %[2]s)", "dict(a = %[1]s, **%[2]s)", "dict(%[1]s, **%[2]s)",
		"re.sub(%[1]s, lambda m: 'y', %[2]s)", "re.findall('x|a', %[1]s)", "re.findall('(x)|(a)', %[1]s)", "re.split('x', %[1]s)",
		"text.markdown_table(%[1]s, columns = ['a'])", "text.truncate(%[1]s, len(%[1]s) // 2)", "text.pad(%[1]s, 5000)",
		"text.wrap(%[1]s, 20)", "text.wrap(%[1]s, 1)", "text.indent(%[1]s, '  ')", "text.format_number(%[1]s, sep = ',')",
		"csv.decode(%[1]s, header = False)", "csv.decode(%[1]s)", "csv.encode(%[1]s, columns = ['a'])", "json.encode(%[1]s)",
		"json.decode(%[1]s, default = %[2]s)", "json.indent(json.encode(%[1]s))", "yaml.encode(%[1]s)", "yaml.encode(yaml.tagged('!a', %[1]s))", "toml.encode({'a': %[1]s})",
		"time.parse_time(%[1]s, %[2]s)", "time.time(2026).format(%[1]s)", "time.time(2026).in_location(%[1]s)", "time.time(2026, location = %[1]s)",
		"template(prompt = %[1]s)", "result(%[1]s, data = %[2]s)", "attachment(content = %[1]s)", "attachment(content = %[1]s, type = %[2]s)",
		"modify(a = %[1]s)", "respond(%[1]s)", "struct(a = %[1]s) == struct(a = %[2]s)", "struct(**{%[1]s: 1})", "getattr(fields_, %[1]s)",
		"ctx.log('info', %[1]s, a = %[2]s)", "ctx.tools.call('echo', text = %[1]s)", "ctx.state.set('k', %[1]s)", "ctx.store.set('k', %[1]s)", "ctx.store.add('number', %[1]s)",
		"ctx.state.set(%[1]s, 1)", "[ctx.state.set('k', %[1]s), ctx.state.get('k')]", "ctx.fs.write('out/a', %[1]s)", "ctx.fs.read(%[1]s, None)", "ctx.progress(1, 2, %[1]s)",
		"ctx.exec(argv, stdin = %[1]s)", "ctx.exec(%[1]s, env = %[2]s)", "ctx.http.post(c_url, body = %[1]s)", "ctx.http.post(c_url, json = %[1]s)",
		"ctx.http.get(c_url, params = %[1]s)", "ctx.http.get(c_url, headers = %[1]s)", "base64.decode(base64.encode(%[1]s))", "hash.sha256(%[1]s)",
		"shell.flag(shell.parse(%[1]s).commands[0], %[2]s)", "shell.quote(%[1]s)",
		"shell.runs(parsed, %[1]s)", "shell.runs(parsed, shouted, %[1]s)", "shell.runs(parsed, 'a', %[1]s, %[2]s)", "shell.runs(%[1]s, 'a', *%[2]s)",
		"shell.option(shell.parse(%[1]s).commands[0], %[2]s, all = True)", "shell.option(c_command, *%[1]s)",
		"shell.flag(c_command, *%[1]s)", "shell.flag(struct(argv = %[1]s), *%[2]s)", "list(%[1]s).remove(list(%[1]s)[-1])",
		"set(%[1]s).remove(list(%[1]s)[-1])", "list(%[1]s).index(list(%[1]s)[-1])", "%[1]s.index(%[1]s[1:])", "%[1]s.count(%[2]s[0:1])",
		"%[1]s.replace(%[2]s[0:1], %[1]s)", "'xx'.join([%[1]s] * 20)", "[%[1]s] * 20", "(%[1]s, 1) == (%[1]s, 1)", "[[%[1]s]] == [[%[2]s]]",
		"(%[1]s in c_range)", "(%[1]s in range_)",
		"[re.match('%%d\\\\pL{900}' %% k, '') for k in range(12)]", "[re.search('^%%d\\\\pL{900}' %% k, '') for k in range(12)]",
		"{(%[1]s, 1): 1}", "set([(%[1]s, %[2]s)])", "[ctx.fs.write('out/b', %[1]s), ctx.fs.read_bytes('out/b')]",
	} {
		arity := min(1, strings.Count(expr, "%[1]s")) + min(1, strings.Count(expr, "%[2]s"))
		calls = append(calls, huntCall{huntOperation(expr), expr, arity})
	}
	return calls
}

// huntOperation returns the operation that an expression of huntNamed hunts.
func huntOperation(expr string) string {
	for _, o := range []struct{ part, op string }{
		{" in c_range", "x in y"}, {" in range_", "x in y"}, {") == (", "x == y"}, {"]] == [[", "x == y"}, {"'xx'.join(", "string.join"},
		{"] * 20", "x * y"}, {"'.format(", "string.format"}, {"' %% ", "x % y"}, {"{(", "{x: 1}"},
	} {
		if strings.Contains(expr, o.part) && !strings.HasPrefix(expr, "[re.") {
			return o.op
		}
	}
	name, rest, _ := strings.Cut(strings.TrimLeft(expr, "["), "(")
	_, method, _ := strings.Cut(rest, ").")
	switch {
	case strings.HasPrefix(name, "%[1]s."):
		return "string." + strings.TrimPrefix(name, "%[1]s.")
	case name == "list" || name == "set" && method != "":
		method, _, _ = strings.Cut(method, "(")
		return name + "." + method
	}
	return name
}

// notHunted gives the reason for each name that has no value in a handler.
var notHunted = map[string]string{
	"plugin":                   "starhost reads its arguments before it runs the file",
	"register_tool":            "testdata/hostile/register: a registration in a handler is an error",
	"register_hook":            "as register_tool",
	"register_fragment_loader": "as register_tool",
	"register_template_loader": "as register_tool",
	"register_command":         "as register_tool",
	"register_skill":           "as register_tool",
	"register_model":           "as register_tool",
	"register_guard":           "as register_tool",
	"hash":                     "the module hash hides it",
	"fail":                     "it always fails",
	"ctx.http.get":             "there is no network; the checks of its arguments run",
	"ctx.http.post":            "as ctx.http.get",
	"ctx.http.request":         "as ctx.http.get",
	"ctx.exec":                 "there are no programs; the checks of its arguments run",
	"ctx.fire":                 "it fires only events of the manifest, to handlers that have their own price",
}
