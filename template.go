package starhost

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/near"
)

// A Template is the start of a request. The request's own fields win over it. The zero value adds
// nothing.
type Template struct {
	// Prompt and System may name parameters, as $name or ${name}; $$ is a dollar.
	// $input is the user's own words; a Prompt that does not name them stands before
	// them. An empty Prompt is the user's words alone.
	Prompt, System string
	// Model is the model's name.
	Model string
	// Fragments and SystemFragments are references, resolved with the rights of the
	// plugin that made the template: see [Plugin.Resolve].
	Fragments, SystemFragments []string
	// Attachments go with the message.
	Attachments []fragments.Attachment
	// Tools limit what is offered, by globs on the name, beside the request's own
	// limit; none means all.
	Tools []string
	// Options is a JSON object; the request's members replace its members.
	Options json.RawMessage
	// Defaults are the values of parameters that the request does not give.
	Defaults map[string]string
}

// inputName is the parameter for the user's own words.
const inputName = "input"

// Names returns the sorted names of the template's parameters, without $input.
func (tm *Template) Names() ([]string, error) {
	names := map[string]bool{}
	note := func(name string) string { names[name] = true; return "" }
	for _, text := range []string{tm.Prompt, tm.System} {
		if _, err := substitute(text, note); err != nil {
			return nil, err
		}
	}
	delete(names, inputName)
	return slices.Sorted(maps.Keys(names)), nil
}

// Fill returns the prompt and the system text with the user's words and the parameters. The error
// lists all missing parameters and all given ones that the template does not name.
func (tm *Template) Fill(input string, params map[string]string) (prompt, system string, err error) {
	names, err := tm.Names()
	if err != nil {
		return "", "", err
	}
	values := map[string]string{}
	maps.Copy(values, tm.Defaults)
	maps.Copy(values, params)
	missing := slices.DeleteFunc(slices.Clone(names), func(n string) bool { _, ok := values[n]; return ok })
	unknown := slices.DeleteFunc(slices.Sorted(maps.Keys(params)), func(n string) bool { return slices.Contains(names, n) })
	if err := paramProblems(missing, unknown, names); err != nil {
		return "", "", err
	}
	values[inputName] = input
	named := false
	value := func(name string) string { named = named || name == inputName; return values[name] }
	if prompt, err = substitute(tm.Prompt, value); err != nil {
		return "", "", err
	}
	if !named {
		prompt = joinLines(prompt, input)
	}
	system, err = substitute(tm.System, value)
	return prompt, system, err
}

// paramProblems returns an error that lists missing and unknown parameters, or nil.
func paramProblems(missing, unknown, names []string) error {
	var problems []string
	if len(missing) > 0 {
		text := "missing parameters: " + strings.Join(missing, ", ")
		if n := missing[0]; n == strings.ToUpper(n) { // rather a variable of a shell
			text += " ($$" + n + " is the text $" + n + ")"
		}
		problems = append(problems, text)
	}
	for _, n := range unknown {
		problems = append(problems, errtext.Format("unknown parameter %q%s", n, near.DidYouMean(n, names)))
	}
	if len(problems) == 0 {
		return nil
	}
	return errors.New(strings.Join(problems, "; "))
}

// substitute replaces $name and ${name} in text by their values, and $$ by $.
func substitute(text string, value func(name string) string) (string, error) {
	var b strings.Builder
	for rest := text; ; {
		before, after, found := strings.Cut(rest, "$")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		name, width := placeholder(after)
		switch {
		case strings.HasPrefix(after, "$"):
			b.WriteByte('$')
			width = 1
		case name == "":
			line := 1 + strings.Count(text[:len(text)-len(after)], "\n")
			return "", errtext.Errorf("line %d: got %q, want $name or ${name}, or $$ for a dollar", line, clipLine("$"+after))
		default:
			b.WriteString(value(name))
		}
		rest = after[width:]
	}
}

// placeholder returns the parameter name behind a dollar, and the bytes that it takes; "" if there
// is none.
func placeholder(s string) (name string, width int) {
	if inner, ok := strings.CutPrefix(s, "{"); ok {
		n := identifierLen(inner)
		if n == 0 || !strings.HasPrefix(inner[n:], "}") {
			return "", 0
		}
		return inner[:n], n + 2
	}
	n := identifierLen(s)
	return s[:n], n
}

// identifierLen returns the length of the identifier at the start of s.
func identifierLen(s string) int {
	for i, c := range []byte(s) {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return i
		}
	}
	return len(s)
}

// clipLine returns the start of a text's first line for a message.
func clipLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return errtext.CutTo(line, 20, "…")
}

// joinLines joins two texts by a newline. It returns one of them if the other is empty.
func joinLines(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}
