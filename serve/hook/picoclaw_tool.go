package hook

import (
	"context"
	"maps"
	"reflect"
	"slices"

	"github.com/starhost/starhost"
)

// about returns the host's event about the call of a request, whose arguments are
// missing where there are none.
func about(r *request, name string) *starhost.Event {
	e := &Event{agent: picoclaw, session: r.session, tool: r.param("tool"), args: r.raw(r.get(r.params, "arguments"))}
	return e.event(name)
}

// beforeTool passes a call through the guards and, where a person is wanted, the
// approvals: PicoClaw has nobody to ask.
func beforeTool(ctx context.Context, p *pico, s *picoSession, r *request) (picoAnswer, error) {
	pre := about(r, "pre_tool_call")
	var v *verdict
	err := s.in(ctx, p, r.session, func(t *starhost.Turn) (err error) {
		v, err = guard(ctx, t, pre)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case v.answer != nil:
		return says(map[string]any{"action": "respond", "result": picoResult(v.answer)}), nil
	case v.stop:
		s.endTurn(ctx)
		return refusals["hook.before_llm"](v.reason), nil
	case v.block:
		return refusals[r.method](v.reason), nil
	case v.ask:
		return refusals[r.method](unanswerable(v.reason)), nil
	case v.args != nil:
		return r.modifies("call", []edit{r.set(r.params, "arguments", v.args)}), nil
	}
	return pass, nil
}

// picoResult returns a result as PicoClaw reads it.
func picoResult(r *starhost.Result) map[string]any {
	out := map[string]any{"for_llm": r.ForLLM, "silent": r.Silent, "is_error": r.IsError}
	if r.ForUser != "" {
		out["for_user"] = r.ForUser
	}
	if r.Handled {
		out["response_handled"] = true
	}
	var media []string
	for i := range r.Attachments {
		media = append(media, mediaURL(&r.Attachments[i]))
	}
	if len(media) > 0 {
		out["media"] = media
	}
	return out
}

// afterTool tells what a tool returned.
func afterTool(ctx context.Context, p *pico, s *picoSession, r *request) (picoAnswer, error) {
	post := about(r, "post_tool_call")
	result := r.get(r.params, "result")
	post.Result = starhost.Result{
		ForLLM: r.stringAt(r.get(result, "for_llm")), ForUser: r.stringAt(r.get(result, "for_user")),
		Silent: r.yes(r.get(result, "silent")), IsError: r.yes(r.get(result, "is_error")),
	}
	given := picoResult(&post.Result)
	post.IsError, post.DurationMS = post.Result.IsError, int(r.integer(r.get(r.params, "duration"))/1e6) // of nanoseconds
	err := s.in(ctx, p, r.session, func(t *starhost.Turn) error {
		_, err := t.Fire(ctx, post)
		return err
	})
	if err != nil || !r.is(result, isObject) {
		return pass, err
	}
	var edits []edit
	changed := picoResult(&post.Result)
	for _, key := range slices.Sorted(maps.Keys(changed)) {
		if !reflect.DeepEqual(changed[key], given[key]) {
			edits = append(edits, r.set(result, key, mustJSON(changed[key])))
		}
	}
	if edits == nil {
		return pass, nil
	}
	return r.modifies("result", edits), nil
}

// approved is the answer to an approval that nobody refuses.
var approved = text(`{"approved":true}`)

// approveTool asks the approvals. What nobody decides is approved: a call that a
// person must approve was denied by [beforeTool], which is asked here where PicoClaw
// does not.
func approveTool(ctx context.Context, p *pico, s *picoSession, r *request) (picoAnswer, error) {
	ask := about(r, "approve_tool_call")
	v := &verdict{}
	err := s.in(ctx, p, r.session, func(t *starhost.Turn) error {
		if p.unguarded.Load() {
			pre := *ask
			pre.Name = "pre_tool_call"
			var err error
			if v, err = guard(ctx, t, &pre); err != nil || v.block || v.ask {
				return err
			}
		}
		out, err := t.Fire(ctx, ask)
		v = judge(out)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case v.block:
		return refusals[r.method](v.reason), nil
	case v.ask:
		return refusals[r.method](unanswerable(v.reason)), nil
	}
	return approved, nil
}
