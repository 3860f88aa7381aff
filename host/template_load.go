// This file loads and checks a template, which becomes the beginning of a request.

package host

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
)

// LoadTemplate returns the template of a reference. The error is a *RefError or the error of ctx.
func (t *Turn) LoadTemplate(ctx context.Context, ref string) (starhost.Template, error) {
	tm, _, err := t.loadTemplate(ctx, ref)
	return tm, err
}

func (t *Turn) loadTemplate(ctx context.Context, ref string) (starhost.Template, *starhost.TemplateLoader, error) {
	prefix, arg, _ := strings.Cut(ref, ":")
	l := t.registry.templates[prefix]
	if l == nil {
		return starhost.Template{}, nil, &RefError{Ref: ref, Err: newUnknownRefError("template", ref, slices.Sorted(maps.Keys(t.registry.templates)))}
	}
	lane, start := t.newLane(ctx, l.Plugin.Name, true), time.Now()
	tm, err := protect(func() (starhost.Template, error) { return l.Load(lane.context(ctx), arg) })
	if err == nil {
		err = checkTemplate(&tm)
	}
	trace := &HookTrace{Event: eventTemplate, Plugin: l.Plugin.Name, Pos: l.Pos, Steps: lane.Steps, Bytes: lane.Bytes,
		Detail: ref}
	if err != nil {
		trace.Action, trace.Detail = starhost.ActionError, err.Error()
	}
	t.finishLoad(ctx, starhost.EventTemplateRun, ref, lane, l.Pos, time.Since(start), err)
	t.addNote(lane).trace = trace
	if err := endingError(ctx, err); err != nil {
		return starhost.Template{}, nil, err
	}
	if err != nil {
		failure := &HandlerError{Plugin: l.Plugin.Name, What: "template loader " + l.Prefix, Pos: l.Pos, Err: err}
		t.fireError(ctx, failure)
		return starhost.Template{}, nil, &RefError{Ref: ref, Err: failure}
	}
	return tm, l, nil
}

// useTemplate adds what the template says to the request.
func (t *Turn) useTemplate(ctx context.Context) error {
	r := &t.request
	if r.Template == "" {
		if len(r.Params) > 0 {
			return errtext.Errorf("got parameters %s, but no template", strings.Join(slices.Sorted(maps.Keys(r.Params)), ", "))
		}
		return nil
	}
	tm, l, err := t.loadTemplate(ctx, r.Template)
	if err != nil {
		return err
	}
	prompt, system, err := tm.Fill(r.Text, r.Params)
	if err != nil {
		return &RefError{Ref: r.Template, Err: errtext.Errorf("template %q: %w", r.Template, err)}
	}
	t.words, r.Text = prompt, prompt
	r.System, r.Model = cmp.Or(r.System, system), cmp.Or(r.Model, tm.Model)
	r.Options = mergeObjects(tm.Options, r.Options)
	t.filters = append(t.filters, ToolFilter{Allow: tm.Tools})
	t.refs = append(refsOf(tm.Fragments, l, false), refsOf(tm.SystemFragments, l, true)...)
	t.offers = []starhost.Context{attribute(starhost.Context{Attachments: tm.Attachments}, r.Template, l.Plugin.Name, l.Pos.String())}
	return nil
}

// checkTemplate returns an error if a template is not valid.
func checkTemplate(tm *starhost.Template) error {
	if err := checkGlobs("template: tools", tm.Tools); err != nil {
		return err
	}
	if _, err := jsontext.DecodeObject(tm.Options); err != nil {
		return errtext.Errorf("template: options: %w", err)
	}
	if n := len(tm.Fragments) + len(tm.SystemFragments) + len(tm.Attachments); n > maxParts {
		return errtext.Errorf("template: %d fragments and attachments, limit %d", n, maxParts)
	}
	return nil
}

// mergeObjects returns a JSON object with the members of a and b. If both have a member, that of b wins.
// Empty text stands for an empty object.
func mergeObjects(a, b json.RawMessage) json.RawMessage {
	switch {
	case len(a) == 0:
		return b
	case len(b) == 0:
		return a
	}
	members := map[string]json.RawMessage{}
	if json.Unmarshal(a, &members) != nil || json.Unmarshal(b, &members) != nil {
		return b // checkTemplate or the model will refuse it
	}
	merged, _ := json.Marshal(members) // marshalling decoded values cannot fail
	return merged
}
