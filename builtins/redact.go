package builtins

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
)

// What follows takes the values of secrets out of what handlers return, before it
// gets an identity. It is a second net: a handler cannot read a secret, but what
// it talks to may say one.

// cleanAttachments changes attachments in place.
func (r *Recorder) cleanAttachments(list []fragments.Attachment) {
	for i := range list {
		for _, text := range []*string{&list[i].Content, &list[i].URL, &list[i].Name, &list[i].Source} {
			*text = r.world.Redact(*text)
		}
	}
}

func (r *Recorder) cleanContext(c starhost.Context) starhost.Context {
	for i := range c.Fragments {
		f := &c.Fragments[i]
		for _, text := range []*string{&f.Content, &f.Source, &f.Title} {
			*text = r.world.Redact(*text)
		}
	}
	r.cleanAttachments(c.Attachments)
	return c
}

func (r *Recorder) cleanResult(x starhost.Result) starhost.Result {
	x.ForLLM, x.ForUser = r.world.Redact(x.ForLLM), r.world.Redact(x.ForUser)
	x.Attachments = slices.Clone(x.Attachments) // a result may be kept and returned again
	r.cleanAttachments(x.Attachments)
	return x
}

func (r *Recorder) cleanDecision(d *starhost.Decision) {
	if d.Result == nil && !r.world.Redacts() {
		return
	}
	d.Reason, d.Context = r.world.Redact(d.Reason), r.cleanContext(d.Context)
	if d.Result != nil {
		clean := r.cleanResult(*d.Result)
		d.Result = &clean
	}
	for name, v := range d.Changes {
		d.Changes[name] = r.cleanChange(v)
	}
}

// cleanChange returns a new value of an argument, as [starhost.Decision] has it.
// Names of tools are those of tools on offer, so they stay.
func (r *Recorder) cleanChange(v any) any {
	switch v := v.(type) {
	case string:
		return r.world.Redact(v)
	case json.RawMessage:
		return r.world.RedactJSON(v)
	case starhost.Result:
		return r.cleanResult(v)
	case *starhost.Messages:
		return r.cleanMessages(v)
	}
	return v
}

// cleanMessages returns the list itself if there is nothing to change.
func (r *Recorder) cleanMessages(list *starhost.Messages) *starhost.Messages {
	items := list.Items()
	var clean []starhost.Message
	for i := range items {
		text := r.world.Redact(items[i].Content.String())
		if text == items[i].Content.String() {
			continue
		}
		if clean == nil {
			clean = slices.Clone(items)
		}
		clean[i].Content = fragments.NewText(text)
	}
	if clean == nil {
		return list
	}
	return starhost.NewList(clean)
}

func (r *Recorder) cleanTemplate(t starhost.Template) starhost.Template {
	t.Prompt, t.System, t.Options = r.world.Redact(t.Prompt), r.world.Redact(t.System), r.world.RedactJSON(t.Options)
	r.cleanAttachments(t.Attachments)
	return t
}

func (r *Recorder) cleanTexts(list []string) []string {
	clean := make([]string, len(list))
	for i, s := range list {
		clean[i] = r.world.Redact(s)
	}
	return clean
}

// A redactedError stands for an error that said a secret and has no place. Nobody
// finds that one behind it, but what callers test for is still there.
type redactedError struct {
	msg, code string
	cause     error
}

func (e *redactedError) Error() string { return e.msg }
func (e *redactedError) Unwrap() error { return e.cause }
func (e *redactedError) Code() string  { return e.code }

// A located error knows its place and source, of which the evaluator makes what a
// terminal shows.
type locatedError interface {
	error
	Detail() string
	Redact(redact func(string) string, cause error) error
}

// cleanError returns err itself if it says no secret.
func (r *Recorder) cleanError(err error) error {
	if err == nil {
		return nil
	}
	var at locatedError
	said := err.Error()
	if errors.As(err, &at) {
		said += at.Detail()
	}
	switch clean := r.world.Redact(said); {
	case clean == said:
		return err
	case at != nil:
		return at.Redact(r.world.Redact, r.cleanCause(err))
	default:
		return &redactedError{clean, codeOf(err), r.cleanCause(err)}
	}
}

// codeOf returns the code of an error that said a secret.
func codeOf(err error) string {
	if coded := interface{ Code() string }(nil); errors.As(err, &coded) {
		return coded.Code()
	}
	return "E0313"
}

// cleanCause returns what callers test an error for, nil if that is nothing.
func (r *Recorder) cleanCause(err error) error {
	if failed := new(failError); errors.As(err, &failed) {
		return &failError{r.world.Redact(failed.message)}
	}
	if aborted := new(starhost.AbortError); errors.As(err, &aborted) {
		clean := *aborted
		clean.Reason = r.world.Redact(clean.Reason)
		return &clean
	}
	for _, cause := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, cause) {
			return cause
		}
	}
	return nil
}
