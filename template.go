package starhost

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/near"
)

// A TemplateLoader makes templates from references of the form prefix:arg.
type TemplateLoader struct {
	// Prefix is ^[a-z][a-z0-9_-]+$, unique among a host's template loaders.
	Prefix string
	// Description says what the argument is.
	Description string
	// Load returns the template; a reference without ":" has an empty arg. It must
	// only read.
	Load func(ctx context.Context, t *Turn, arg string) (Template, error)
	// Pos is where the loader was registered.
	Pos Pos

	owner *Plugin
}

// A Template is what a request starts from. What the request says itself wins
// over it. The zero value adds nothing.
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

// inputName is the parameter that is the user's own words.
const inputName = "input"

// Names returns the parameters that the template names, sorted, without $input.
func (tm *Template) Names() ([]string, error) {
	names := map[string]bool{}
	note := func(name string) string { names[name] = true; return "" }
	for _, text := range []string{tm.Prompt, tm.System} {
		if _, err := substitute(text, note); err != nil {
			return nil, err
		}
	}
	delete(names, inputName)
	return sortedKeys(names), nil
}

// Fill returns the prompt and the system text with the user's words and
// parameters in them. Parameters that are missing, and given ones that the
// template does not name, are an error that lists them all.
func (tm *Template) Fill(input string, params map[string]string) (prompt, system string, err error) {
	names, err := tm.Names()
	if err != nil {
		return "", "", err
	}
	values := map[string]string{}
	maps.Copy(values, tm.Defaults)
	maps.Copy(values, params)
	missing := slices.DeleteFunc(slices.Clone(names), func(n string) bool { _, ok := values[n]; return ok })
	unknown := slices.DeleteFunc(sortedKeys(params), func(n string) bool { return slices.Contains(names, n) })
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

// paramProblems says which parameters are missing and which make no sense.
func paramProblems(missing, unknown, names []string) error {
	var problems []string
	if len(missing) > 0 {
		problems = append(problems, "missing parameters: "+strings.Join(missing, ", "))
	}
	for _, n := range unknown {
		problems = append(problems, fmt.Sprintf("unknown parameter %q%s", n, near.DidYouMean(n, names)))
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
			return "", fmt.Errorf("line %d: got %q, want $name or ${name}, or $$ for a dollar", line, clipLine("$"+after))
		default:
			b.WriteString(value(name))
		}
		rest = after[width:]
	}
}

// placeholder returns the name at the start of what follows a dollar, and how
// many bytes it takes; "" if there is none.
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

// identifierLen returns the length of the identifier that s begins with.
func identifierLen(s string) int {
	for i, c := range []byte(s) {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return i
		}
	}
	return len(s)
}

// clipLine returns the start of a text's first line, for messages.
func clipLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	if len(line) > 20 {
		return strings.ToValidUTF8(line[:20], "") + "…"
	}
	return line
}

func (r *registry) addTemplateLoader(p *Plugin, l *TemplateLoader) error {
	switch old := r.templates[l.Prefix]; {
	case !prefixName.MatchString(l.Prefix):
		return refuse(l.Pos, "template loader prefix %q: want a lower-case letter, then one or more of a-z 0-9 _ -", l.Prefix)
	case l.Load == nil:
		return refuse(l.Pos, "template loader %q has no Load", l.Prefix)
	case old != nil:
		return &ConflictError{What: fmt.Sprintf("template loader %q", l.Prefix), Pos: l.Pos, Old: old.Pos}
	}
	l.owner = p
	r.templates[l.Prefix] = l
	return nil
}

// TemplateLoaders returns all template loaders by prefix.
func (h *Host) TemplateLoaders() []LoaderInfo {
	r := h.registry.Load()
	var infos []LoaderInfo
	for _, prefix := range sortedKeys(r.templates) {
		l := r.templates[prefix]
		infos = append(infos, LoaderInfo{Prefix: prefix, Plugin: l.owner.Name, Description: l.Description, Pos: l.Pos})
	}
	return infos
}

// EventTemplate is the event name that traces give to a template loader's call.
const EventTemplate = "template"

// LoadTemplate returns the template that a reference stands for. The error is a
// *RefError, or that of ctx.
func (t *Turn) LoadTemplate(ctx context.Context, ref string) (Template, error) {
	tm, _, err := t.loadTemplate(ctx, ref)
	return tm, err
}

func (t *Turn) loadTemplate(ctx context.Context, ref string) (Template, *TemplateLoader, error) {
	prefix, arg, _ := strings.Cut(ref, ":")
	l := t.registry.templates[prefix]
	if l == nil {
		return Template{}, nil, &RefError{Ref: ref, Err: unknownRef("template", ref, sortedKeys(t.registry.templates))}
	}
	lane := t.lane(ctx, l.owner.Name, true)
	tm, err := protect(func() (Template, error) { return l.Load(lane.with(ctx), t, arg) })
	if err == nil {
		err = tm.check()
	}
	trace := &HookTrace{Event: EventTemplate, Plugin: l.owner.Name, Pos: l.Pos, Steps: lane.Steps, Bytes: lane.Bytes, Detail: ref}
	if err != nil {
		trace.Action, trace.Detail = ActionError, err.Error()
	}
	t.record(lane)
	t.note(lane).full = trace
	if err := cut(ctx, err); err != nil {
		return Template{}, nil, err
	}
	if err != nil {
		failure := &HandlerError{Plugin: l.owner.Name, What: "template loader " + l.Prefix, Pos: l.Pos, Err: err}
		t.tell(ctx, failure)
		return Template{}, nil, &RefError{Ref: ref, Err: failure}
	}
	return tm, l, nil
}

// check says what in a template is not what it should be.
func (tm *Template) check() error {
	if err := checkGlobs("template: tools", tm.Tools); err != nil {
		return err
	}
	if _, err := jsontext.DecodeObject(tm.Options); err != nil {
		return fmt.Errorf("template: options: %w", err)
	}
	if n := len(tm.Fragments) + len(tm.SystemFragments) + len(tm.Attachments); n > maxParts {
		return fmt.Errorf("template: %d fragments and attachments, limit %d", n, maxParts)
	}
	return nil
}

// useTemplate takes over what the request's template says.
func (t *Turn) useTemplate(ctx context.Context) error {
	r := &t.request
	if r.Template == "" {
		if len(r.Params) > 0 {
			return fmt.Errorf("got parameters %s, but no template", strings.Join(sortedKeys(r.Params), ", "))
		}
		return nil
	}
	tm, l, err := t.loadTemplate(ctx, r.Template)
	if err != nil {
		return err
	}
	prompt, system, err := tm.Fill(r.Text, r.Params)
	if err != nil {
		return &RefError{Ref: r.Template, Err: fmt.Errorf("template %q: %w", r.Template, err)}
	}
	t.words, r.Text = prompt, prompt
	r.System, r.Model = cmp.Or(r.System, system), cmp.Or(r.Model, tm.Model)
	r.Options = mergeObjects(tm.Options, r.Options)
	t.only = append(t.only, ToolFilter{Allow: tm.Tools})
	t.refs = append(refsOf(tm.Fragments, l, false), refsOf(tm.SystemFragments, l, true)...)
	t.offers = []Context{Context{Attachments: tm.Attachments}.attribute(r.Template, l.owner.Name, l.Pos.String())}
	return nil
}

// mergeObjects returns the members of two JSON objects, those of b where both
// have one. Empty text is an empty object.
func mergeObjects(a, b json.RawMessage) json.RawMessage {
	switch {
	case len(a) == 0:
		return b
	case len(b) == 0:
		return a
	}
	members := map[string]json.RawMessage{}
	if json.Unmarshal(a, &members) != nil || json.Unmarshal(b, &members) != nil {
		return b // which is refused where it is used
	}
	merged, _ := json.Marshal(members) // what was decoded marshals
	return merged
}

// A reference is one that a prompt resolves.
type reference struct {
	text   string
	system bool            // what it stands for is system text
	by     *TemplateLoader // whose template names it; nil is the user
}

func refsOf(list []string, by *TemplateLoader, system bool) []reference {
	refs := make([]reference, len(list))
	for i, text := range list {
		refs[i] = reference{text, system, by}
	}
	return refs
}

// lookupFor finds the loader of a reference that a template names: the plugin's
// own, or one that resolves it with the plugin's rights.
func (t *Turn) lookupFor(l *TemplateLoader, ref string) (*FragmentLoader, string, error) {
	loader, arg, err := t.lookupRef(ref)
	switch {
	case err == nil && loader.plugin == l.owner.Name:
		return loader, arg, nil
	case l.owner.Resolve != nil:
		prefix, _, _ := strings.Cut(ref, ":")
		return &FragmentLoader{Prefix: prefix, Load: l.owner.Resolve, Pos: l.Pos, plugin: l.owner.Name, relays: true}, ref, nil
	case err != nil:
		return nil, "", err
	}
	return nil, "", fmt.Errorf("template: plugin %s may not load %q: the operator must grant %q", l.owner.Name, ref, "fragment:"+loader.Prefix)
}
