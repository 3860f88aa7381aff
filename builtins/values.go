package builtins

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"
	"unicode/utf8"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/near"
)

// A field describes one attribute of values of the Go type T.
type field[T any] struct {
	name string
	get  func(*T) starlark.Value
}

// fieldNames returns the names of fields, in their order.
func fieldNames[T any](fields []field[T]) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return names
}

// fieldOf returns the attribute of x with a name, or nil if no field has the name.
func fieldOf[T any](fields []field[T], x *T, name string) starlark.Value {
	for _, f := range fields {
		if f.name == name {
			return f.get(x)
		}
	}
	return nil
}

// printFields returns the text of the call that creates a value, without the fields that are empty.
func printFields[T any](typ string, fields []field[T], x *T) string {
	var parts []string
	for _, f := range fields {
		if v := f.get(x); v.Truth() {
			parts = append(parts, f.name+" = "+v.String())
		}
	}
	return typ + "(" + strings.Join(parts, ", ") + ")"
}

// sameFields compares two values field by field. It supports only == and !=.
func sameFields[T any](op syntax.Token, typ string, fields []field[T], x, y *T, depth int) (bool, error) {
	if op != syntax.EQL && op != syntax.NEQ {
		return false, fmt.Errorf("%s %s %s not implemented", typ, op, typ)
	}
	for _, f := range fields {
		same, err := starlark.EqualDepth(f.get(x), f.get(y), depth-1)
		if err != nil {
			return false, err
		}
		if !same {
			return op == syntax.NEQ, nil
		}
	}
	return op == syntax.EQL, nil
}

func unhashable(typ string) (uint32, error) { return 0, fmt.Errorf("unhashable type: %s", typ) }

// nonEmptyTexts returns those texts that are not empty, as Starlark values.
func nonEmptyTexts(texts ...string) []starlark.Value {
	var held []starlark.Value
	for _, text := range texts {
		if text != "" {
			held = append(held, starlark.String(text))
		}
	}
	return held
}

// comparedSize returns how many bytes comparing these parts of a value reads.
func comparedSize(held []starlark.Value) int {
	n := 0
	for _, v := range held {
		switch v := v.(type) {
		case starlark.String:
			n += len(v)
		case *attachmentValue:
			n += 64 + v.ComparedBytes()
		case *starlark.Dict:
			n += 64 * v.Len()
		}
	}
	return n
}

// A fragmentValue is the value of fragment(...). It is immutable.
type fragmentValue struct{ f fragments.Fragment }

var fragmentFields = []field[fragments.Fragment]{
	{"content", func(f *fragments.Fragment) starlark.Value { return starlark.String(f.Content) }},
	{"source", func(f *fragments.Fragment) starlark.Value { return starlark.String(f.Source) }},
	{"target", func(f *fragments.Fragment) starlark.Value { return starlark.String(f.Target.String()) }},
	{"priority", func(f *fragments.Fragment) starlark.Value { return starlark.MakeInt(f.Priority) }},
	{"title", func(f *fragments.Fragment) starlark.Value { return starlark.String(f.Title) }},
}

func (v *fragmentValue) String() string        { return printFields("fragment", fragmentFields, &v.f) }
func (v *fragmentValue) Type() string          { return "fragment" }
func (v *fragmentValue) Freeze()               {}
func (v *fragmentValue) Truth() starlark.Bool  { return true }
func (v *fragmentValue) Hash() (uint32, error) { return unhashable("fragment") }
func (v *fragmentValue) TextBytes() int        { return len(v.f.Content) + len(v.f.Source) + len(v.f.Title) }
func (v *fragmentValue) AttrNames() []string   { return fieldNames(fragmentFields) }
func (v *fragmentValue) Attr(name string) (starlark.Value, error) {
	return fieldOf(fragmentFields, &v.f, name), nil
}
func (v *fragmentValue) CompareSameType(op syntax.Token, y starlark.Value, depth int) (bool, error) {
	return sameFields(op, "fragment", fragmentFields, &v.f, &y.(*fragmentValue).f, depth)
}

// makeFragment implements fragment.
func makeFragment(c call.Call) (starlark.Value, error) {
	made, target := new(fragmentValue), "prompt"
	f := &made.f
	if err := c.Bind("content", &f.Content, "source?", &f.Source, "target?", &target, "priority?", &f.Priority, "title?", &f.Title); err != nil {
		return nil, err
	}
	if err := setTarget(c, f, target); err != nil {
		return nil, err
	}
	return made, c.Pay(1, 256)
}

// setTarget sets a fragment's target.
func setTarget(c call.Call, f *fragments.Fragment, target string) (err error) {
	start := target[:min(len(target), errtext.MaxText)] // cut, because the parser's error quotes its whole argument
	f.Target, err = fragments.ParseTarget(start)
	if err != nil {
		return c.Fail("E0202", "target: got %s, want \"prompt\" or \"system\"%s", errtext.Quote(target), near.DidYouMean(target, []string{"prompt", "system"}))
	}
	return nil
}

// maxAttachment is the most bytes of an attachment that a plugin makes.
const maxAttachment = 8 << 20

// An attachmentValue is the value of attachment(...). It is immutable.
type attachmentValue struct{ a fragments.Attachment }

var attachmentFields = []field[fragments.Attachment]{
	{"content", func(a *fragments.Attachment) starlark.Value { return starlark.Bytes(a.Content) }},
	{"url", func(a *fragments.Attachment) starlark.Value { return starlark.String(a.URL) }},
	{"type", func(a *fragments.Attachment) starlark.Value { return starlark.String(a.Type) }},
	{"name", func(a *fragments.Attachment) starlark.Value { return starlark.String(a.Name) }},
	{"width", func(a *fragments.Attachment) starlark.Value { return starlark.MakeInt(a.Width) }},
	{"height", func(a *fragments.Attachment) starlark.Value { return starlark.MakeInt(a.Height) }},
}

// String omits the content, because nobody reads megabytes of it.
func (v *attachmentValue) String() string {
	return fmt.Sprintf("<attachment %q %s %d B>", v.a.Name+v.a.URL, v.a.Type, v.a.Bytes())
}
func (v *attachmentValue) Type() string          { return "attachment" }
func (v *attachmentValue) Freeze()               {}
func (v *attachmentValue) Truth() starlark.Bool  { return true }
func (v *attachmentValue) Hash() (uint32, error) { return unhashable("attachment") }
func (v *attachmentValue) Parts() []starlark.Value {
	return nonEmptyTexts(v.a.Name, v.a.URL, v.a.Type)
}
func (v *attachmentValue) ComparedBytes() int  { return len(v.a.Content) + comparedSize(v.Parts()) }
func (v *attachmentValue) AttrNames() []string { return fieldNames(attachmentFields) }
func (v *attachmentValue) Attr(name string) (starlark.Value, error) {
	return fieldOf(attachmentFields, &v.a, name), nil
}
func (v *attachmentValue) CompareSameType(op syntax.Token, y starlark.Value, depth int) (bool, error) {
	return sameFields(op, "attachment", attachmentFields, &v.a, &y.(*attachmentValue).a, depth)
}

// makeAttachment implements attachment.
func makeAttachment(c call.Call) (starlark.Value, error) {
	var (
		content                optionalText
		file, ref              string
		mimeType, name, source string
	)
	if err := c.Bind("content??", &content, "path??", &file, "url??", &ref, "type??", &mimeType, "name??", &name, "source??", &source); err != nil {
		return nil, err
	}
	given := 0
	for _, ok := range []bool{content.given, file != "", ref != ""} {
		if ok {
			given++
		}
	}
	if given != 1 {
		return nil, c.Fail("E0201", "got %d of content, path and url, want exactly one", given)
	}
	switch {
	case ref != "":
		return urlAttachment(c, fragments.Attachment{URL: ref, Type: mimeType, Name: name, Source: source})
	case file != "":
		data, err := attachmentFile(c, file)
		if err != nil {
			return nil, err
		}
		content.text = call.TextOrBytes(data)
		if name == "" {
			name = path.Base(file)
		}
	}
	if len(content.text) > maxAttachment {
		return nil, c.Fail("E0316", "got %d bytes, limit %d", len(content.text), maxAttachment)
	}
	if err := c.Pay(attachmentSteps+len(content.text)/256, len(content.text)+512); err != nil {
		return nil, err
	}
	a := effects.NewAttachment([]byte(content.text), name, mimeType)
	a.Source = source
	return &attachmentValue{a}, nil
}

// attachmentSteps is the price of guessing the type of an attachment from its first kilobytes.
const attachmentSteps = 256

// optionalText is an argument that may be missing and is a string or bytes. An empty string is not missing.
type optionalText struct {
	text  call.TextOrBytes
	given bool
}

// Unpack implements starlark.Unpacker.
func (o *optionalText) Unpack(v starlark.Value) error {
	o.given = true
	return o.text.Unpack(v)
}

// urlAttachment returns an attachment whose content the model's provider fetches.
func urlAttachment(c call.Call, a fragments.Attachment) (starlark.Value, error) {
	if err := c.Pay(1+len(a.URL)/16, 512); err != nil {
		return nil, err
	}
	u, err := url.Parse(a.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, c.Fail("E0202", "url: got %s, want an http or https URL", errtext.Quote(a.URL))
	}
	if base := path.Base(u.Path); a.Name == "" && base != "." && base != "/" {
		a.Name = base
	}
	return &attachmentValue{a}, nil
}

// A resultValue is the value of result(...). It is immutable.
type resultValue struct{ r starhost.Result }

var resultFields = []field[starhost.Result]{
	{"for_llm", func(r *starhost.Result) starlark.Value { return starlark.String(r.ForLLM) }},
	{"for_user", func(r *starhost.Result) starlark.Value { return starlark.String(r.ForUser) }},
	{"silent", func(r *starhost.Result) starlark.Value { return starlark.Bool(r.Silent) }},
	{"is_error", func(r *starhost.Result) starlark.Value { return starlark.Bool(r.IsError) }},
	{"attachments", func(r *starhost.Result) starlark.Value { return attachmentList(r.Attachments) }},
	{"handled", func(r *starhost.Result) starlark.Value { return starlark.Bool(r.Handled) }},
}

// attachmentList returns a frozen list of attachments.
func attachmentList(list []fragments.Attachment) starlark.Value {
	elems := make([]starlark.Value, len(list))
	for i, a := range list {
		elems[i] = &attachmentValue{a}
	}
	return freeze(starlark.NewList(elems))
}

func freeze[V starlark.Value](v V) V {
	v.Freeze()
	return v
}

func (v *resultValue) String() string          { return printFields("result", resultFields, &v.r) }
func (v *resultValue) Type() string            { return "result" }
func (v *resultValue) Freeze()                 {}
func (v *resultValue) Truth() starlark.Bool    { return true }
func (v *resultValue) Hash() (uint32, error)   { return unhashable("result") }
func (v *resultValue) Parts() []starlark.Value { return partsOfResult(&v.r) }
func (v *resultValue) ComparedBytes() int      { return comparedSize(v.Parts()) }
func (v *resultValue) AttrNames() []string     { return fieldNames(resultFields) }
func (v *resultValue) Attr(name string) (starlark.Value, error) {
	return fieldOf(resultFields, &v.r, name), nil
}
func (v *resultValue) CompareSameType(op syntax.Token, y starlark.Value, depth int) (bool, error) {
	return sameFields(op, "result", resultFields, &v.r, &y.(*resultValue).r, depth)
}

// partsOfResult returns the texts and the attachments of a result, as Starlark values.
func partsOfResult(r *starhost.Result) []starlark.Value {
	held := nonEmptyTexts(r.ForLLM, r.ForUser)
	for _, a := range r.Attachments {
		held = append(held, &attachmentValue{a})
	}
	return held
}

// makeResult implements result.
func makeResult(c call.Call) (starlark.Value, error) {
	var (
		forLLM      starlark.Value
		attachments starlark.Iterable
		r           starhost.Result
	)
	err := c.Bind("for_llm", &forLLM, "for_user?", &r.ForUser, "silent?", &r.Silent, "is_error?", &r.IsError, "attachments?", &attachments, "handled?", &r.Handled)
	if err != nil {
		return nil, err
	}
	if r.ForLLM, err = resultText(forLLM); err != nil {
		return nil, c.Fail("E0204", "for_llm: %v", err)
	}
	if err := c.Pay(len(r.ForUser)/64, 0); err != nil { // textError reads the whole text
		return nil, err
	}
	if err := textError(r.ForUser); err != nil {
		return nil, c.Fail("E0204", "for_user: %v", err)
	}
	if attachments != nil {
		if n := max(starlark.Len(attachments), 0); n > 0 {
			if err := c.Pay(n, 512*n); err != nil { // adding to the list copies it
				return nil, err
			}
		}
		for v := range starlark.Elements(attachments) {
			a, ok := v.(*attachmentValue)
			if !ok {
				return nil, c.Fail("E0201", "attachments[%d]: got %s, want attachment", len(r.Attachments), v.Type())
			}
			r.Attachments = append(r.Attachments, a.a)
		}
	}
	return &resultValue{r}, c.Pay(2+len(r.ForLLM)/64, 256+len(r.ForLLM))
}

// resultText returns the text that a model reads for a value: a string itself, "" for None, and compact JSON
// for any other value.
func resultText(v starlark.Value) (string, error) {
	switch v := v.(type) {
	case starlark.String:
		return string(v), textError(string(v))
	case starlark.NoneType:
		return "", nil
	}
	text, err := toJSON(v)
	return string(text), err
}

// toResult converts the value that a tool returned to a result.
func toResult(v starlark.Value) (starhost.Result, error) {
	switch v := v.(type) {
	case *resultValue:
		return v.r, nil
	case *attachmentValue:
		return starhost.Result{Attachments: []fragments.Attachment{v.a}}, nil
	case *decision:
		return starhost.Result{}, call.Errorf("E0312", "got the decision %s, want a result: decisions are for hooks; a tool says fail(...) or result(..., is_error = True)", v.action)
	case *fragmentValue:
		return starhost.Result{}, call.Errorf("E0312", "got fragment, want a result: return its .content")
	}
	text, err := resultText(v)
	if errors.Is(err, errNotText) {
		return starhost.Result{}, call.Errorf("E0312", "%v", err)
	}
	if err != nil {
		return starhost.Result{}, call.Errorf("E0312", "%v; or a string, None, an attachment or result(...)", err)
	}
	return starhost.Result{ForLLM: text, IsError: saysError(v)}, nil
}

// saysError reports whether a dict says that the call failed, in the words of [makeResult] or of MCP. Such a
// dict must not pass for a success.
func saysError(v starlark.Value) bool {
	return dictMember(v, "is_error") == starlark.True || dictMember(v, "isError") == starlark.True
}

// toContext converts the value that a loader or a hook returned to context for the prompt.
func toContext(v starlark.Value) (starhost.Context, error) {
	var c starhost.Context
	list, ok := v.(starlark.Indexable)
	if !ok || v.Type() == "string" {
		return c, addPart(&c, v)
	}
	c.Fragments = make([]fragments.Fragment, 0, min(list.Len(), 16)) // bounded, because a range can be long
	for i := range list.Len() {
		if err := addPart(&c, list.Index(i)); err != nil {
			return c, call.Errorf("E0312", "[%d]: %v", i, err)
		}
	}
	return c, nil
}

// addPart adds one part to a context. Empty text and None add nothing.
func addPart(c *starhost.Context, v starlark.Value) error {
	switch v := v.(type) {
	case starlark.NoneType:
	case starlark.String:
		return addText(c, fragments.Fragment{Content: string(v)})
	case *fragmentValue:
		return addText(c, v.f)
	case *attachmentValue:
		c.Attachments = append(c.Attachments, v.a)
	default:
		return call.Errorf("E0312", "got %s, want a string, a fragment, an attachment, a list of these or None", v.Type())
	}
	return nil
}

// errNotText refuses a text for a model that is not UTF-8. In texts for people (fail, logs, reasons), such
// bytes become U+FFFD instead: see asText.
var errNotText = errors.New("got text that is not UTF-8, want text (data goes into attachment(content = ...))")

// textError returns errNotText for a text that a model cannot read, because strings of Starlark can have any
// bytes.
func textError(text string) error {
	if utf8.ValidString(text) {
		return nil
	}
	return errNotText
}

// addText adds a fragment to a context.
func addText(c *starhost.Context, f fragments.Fragment) error {
	if err := textError(f.Content); err != nil {
		return call.Errorf("E0312", "%v", err)
	}
	if f.Content != "" {
		c.Fragments = append(c.Fragments, f)
	}
	return nil
}

// setKey sets a key of a dict that is being built.
func setKey(d *starlark.Dict, key string, v starlark.Value) { d.SetKey(starlark.String(key), v) }
