package builtins

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/near"
)

// registerTemplateLoader implements register_template_loader.
func registerTemplateLoader(c call.Call) (starlark.Value, error) {
	var (
		prefix  string
		handler starlark.Callable
	)
	if err := c.Bind("prefix", &prefix, "handler", &handler); err != nil {
		return nil, err
	}
	r, err := startRegistration(c)
	if err != nil {
		return nil, err
	}
	p, err := readPositionalHandler(c, r, "handler", handler, 1)
	if err != nil {
		return nil, err
	}
	pos, err := claimName(c, r, "template loader", prefix)
	if err != nil {
		return nil, err
	}
	load := positionalCall(r, p, func(v starlark.Value) (t starhost.Template, err error) {
		made, ok := v.(*templateValue)
		if !ok {
			return t, call.Errorf("E0312", "got %s, want template(...)", v.Type())
		}
		t = made.t
		t.Attachments = slices.Clone(t.Attachments) // copied, because the plugin may return the same value again
		return r.cleanTemplate(t), nil
	})
	r.plugin.TemplateLoaders = append(r.plugin.TemplateLoaders, starhost.TemplateLoader{
		Prefix: prefix, Description: firstParagraph(p.fn.Doc()), Load: load, Pos: pos,
	})
	return starlark.None, c.Pay(10, 1024)
}

// A templateValue is the value of template(...). It is immutable.
type templateValue struct{ t starhost.Template }

var templateFields = []field[starhost.Template]{
	{"prompt", func(t *starhost.Template) starlark.Value { return starlark.String(t.Prompt) }},
	{"system", func(t *starhost.Template) starlark.Value { return starlark.String(t.System) }},
	{"model", func(t *starhost.Template) starlark.Value { return starlark.String(t.Model) }},
	{"fragments", func(t *starhost.Template) starlark.Value { return freeze(stringList(t.Fragments)) }},
	{"system_fragments", func(t *starhost.Template) starlark.Value { return freeze(stringList(t.SystemFragments)) }},
	{"attachments", func(t *starhost.Template) starlark.Value { return attachmentList(t.Attachments) }},
	{"tools", func(t *starhost.Template) starlark.Value { return freeze(stringList(t.Tools)) }},
	{"options", func(t *starhost.Template) starlark.Value { return objectOrText(t.Options) }},
	{"defaults", func(t *starhost.Template) starlark.Value { return textDict(t.Defaults) }},
}

// textDict returns a frozen dict of texts, sorted by name.
func textDict(texts map[string]string) starlark.Value {
	d := starlark.NewDict(len(texts))
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		setKey(d, name, starlark.String(texts[name]))
	}
	return freeze(d)
}

func (v *templateValue) String() string        { return printFields("template", templateFields, &v.t) }
func (v *templateValue) Type() string          { return "template" }
func (v *templateValue) Freeze()               {}
func (v *templateValue) Truth() starlark.Bool  { return true }
func (v *templateValue) Hash() (uint32, error) { return unhashable("template") }
func (v *templateValue) Parts() []starlark.Value {
	held := nonEmptyTexts(v.t.Prompt, v.t.System, v.t.Model, string(v.t.Options))
	for _, list := range [][]string{v.t.Fragments, v.t.SystemFragments, v.t.Tools} {
		held = append(held, nonEmptyTexts(list...)...)
	}
	for _, a := range v.t.Attachments {
		held = append(held, &attachmentValue{a})
	}
	if len(v.t.Defaults) > 0 {
		held = append(held, textDict(v.t.Defaults))
	}
	return held
}
func (v *templateValue) ComparedBytes() int  { return comparedSize(v.Parts()) }
func (v *templateValue) AttrNames() []string { return fieldNames(templateFields) }
func (v *templateValue) Attr(name string) (starlark.Value, error) {
	return fieldOf(templateFields, &v.t, name), nil
}
func (v *templateValue) CompareSameType(op syntax.Token, y starlark.Value, depth int) (bool, error) {
	return sameFields(op, "template", templateFields, &v.t, &y.(*templateValue).t, depth)
}

// makeTemplate implements template.
func makeTemplate(c call.Call) (starlark.Value, error) {
	var (
		t                 starhost.Template
		refs, systemRefs  stringOrList
		tools             stringOrList
		attachments       attachmentArg
		options, defaults *starlark.Dict
	)
	err := c.Bind("prompt?", &t.Prompt, "system?", &t.System, "model??", &t.Model, "fragments??", &refs, "system_fragments??", &systemRefs,
		"attachments??", &attachments, "tools??", &tools, "options??", &options, "defaults??", &defaults)
	if err != nil {
		return nil, err
	}
	t.Fragments, t.SystemFragments, t.Tools, t.Attachments = refs, systemRefs, tools, attachments
	if n := len(refs) + len(systemRefs) + len(tools) + len(attachments); n > 0 {
		if err := c.Pay(n, 64*n); err != nil {
			return nil, err
		}
	}
	size := len(t.Prompt) + len(t.System)
	marks := strings.Count(t.Prompt, "$") + strings.Count(t.System, "$")
	if err := c.Pay(4+size/64+16*marks, 512+64*marks+len(t.Prompt)+len(t.System)); err != nil {
		return nil, err
	}
	if t.Options, err = optionsJSON(c, options); err != nil {
		return nil, err
	}
	names, err := t.Names()
	if err != nil {
		return nil, c.Fail("E0202", "%v", err)
	}
	if t.Defaults, err = stringParameters(c, "defaults", defaults); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(t.Defaults)) {
		if _, found := slices.BinarySearch(names, name); !found {
			return nil, c.Fail("E0202", "defaults: the template does not name %s%s", errtext.Quote("$"+name), near.DidYouMean(name, names))
		}
	}
	return &templateValue{t}, nil
}

// optionsJSON converts a dict of options to JSON. It returns nil for nil.
func optionsJSON(c call.Call, options *starlark.Dict) (json.RawMessage, error) {
	if options == nil {
		return nil, nil
	}
	return encodeJSON(c, "options", options)
}

// stringParameters converts the values of a template's parameters, which are strings, numbers and bools, to
// texts.
func stringParameters(c call.Call, arg string, d *starlark.Dict) (map[string]string, error) {
	if d == nil {
		return nil, nil
	}
	params := make(map[string]string, d.Len())
	for k, v := range d.Entries() {
		name, ok := starlark.AsString(k)
		if !ok {
			return nil, c.Fail("E0201", "%s: got a key that is %s, want string", arg, k.Type())
		}
		text, ok := scalarText(v)
		if !ok {
			return nil, c.Fail("E0201", "%s: %s: got %s, want a string, a number or a bool", arg, name, v.Type())
		}
		params[name] = text
	}
	return params, nil
}

// scalarText returns the text of a string, a number or a bool.
func scalarText(v starlark.Value) (string, bool) {
	switch v := v.(type) {
	case starlark.String:
		return string(v), true
	case starlark.Int, starlark.Float:
		return v.String(), true
	case starlark.Bool:
		return strings.ToLower(v.String()), true
	}
	return "", false
}

// attachmentArg is an argument that is an attachment or a list of them.
type attachmentArg []fragments.Attachment

// Unpack implements starlark.Unpacker.
func (a *attachmentArg) Unpack(v starlark.Value) error {
	got, err := toContext(v)
	if err != nil || len(got.Fragments) > 0 {
		return fmt.Errorf("got %s, want a list of attachments", v.Type())
	}
	*a = got.Attachments
	return nil
}
