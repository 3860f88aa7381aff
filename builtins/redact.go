package builtins

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
)

// The functions of this file remove the values of secrets from everything that handlers return, before its
// hash is computed. Handlers cannot read secrets, but the servers and programs that they call may repeat one.

// cleanAttachments removes secrets from the attachments in a list.
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
	x.Attachments = slices.Clone(x.Attachments) // copied, because a handler may return one result several times
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

// cleanChange returns a copy of an argument's new value, as in [starhost.Decision], without secrets. Names of
// tools stay, because only registered names are valid.
func (r *Recorder) cleanChange(v any) any {
	switch v := v.(type) {
	case string:
		return r.world.Redact(v)
	case json.RawMessage:
		return r.cleanJSON(v)
	case starhost.Result:
		return r.cleanResult(v)
	case *starhost.Messages:
		return r.cleanMessages(v)
	case []starhost.Tool:
		for i := range v {
			v[i].Description = r.world.Redact(v[i].Description)
		}
	}
	return v
}

func (r *Recorder) cleanJSON(text json.RawMessage) json.RawMessage {
	if !r.world.Redacts() {
		return text
	}
	return r.world.RedactJSON(text)
}

// cleanMessages returns the list without secrets. If no message contains one, it returns the list itself.
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
	t.Prompt, t.System, t.Options = r.world.Redact(t.Prompt), r.world.Redact(t.System), r.cleanJSON(t.Options)
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

// A redactedError replaces an error without a place whose message contained a secret. It hides that error,
// but keeps the cause that callers test for.
type redactedError struct {
	msg, code string
	cause     error
}

func (e *redactedError) Error() string { return e.msg }
func (e *redactedError) Unwrap() error { return e.cause }
func (e *redactedError) Code() string  { return e.code }

// A locatedError has a place and a source text, which a terminal shows.
type locatedError interface {
	error
	Detail() string
	Redact(redact func(string) string, cause error) error
}

// cleanError returns err without secrets. If err contains none, it returns err itself.
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

// codeOf returns the code of an error whose message contained a secret.
func codeOf(err error) string {
	if coded := interface{ Code() string }(nil); errors.As(err, &coded) {
		return coded.Code()
	}
	return "E0313"
}

// cleanCause returns the cause of an error that callers test for, or nil.
func (r *Recorder) cleanCause(err error) error {
	if failed := new(failError); errors.As(err, &failed) {
		return &failError{r.world.Redact(failed.message)}
	}
	if aborted := new(host.AbortError); errors.As(err, &aborted) {
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
