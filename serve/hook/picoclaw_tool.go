package hook

import (
	"context"
	"encoding/json"

	"github.com/starhost/starhost"
)

// A picoCall is what the methods about tools ask about.
type picoCall struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"` // missing for a call without any
	Result    struct {
		ForLLM  string `json:"for_llm"`
		ForUser string `json:"for_user"`
		Silent  bool   `json:"silent"`
		IsError bool   `json:"is_error"`
	} `json:"result"`
	Duration int64 `json:"duration"` // nanoseconds
}

// about returns the host's event about the call of a request.
func about(r *request, name string) (*picoCall, *starhost.Event, error) {
	var c picoCall
	if json.Unmarshal(r.Params, &c) != nil {
		return nil, nil, errShape
	}
	e := &Event{agent: picoclaw, session: r.meta.session(), tool: c.Tool, args: c.Arguments}
	return &c, e.event(name), nil
}

// beforeTool passes a call through the guards and, where a person is wanted, the
// approvals: PicoClaw has nobody to ask.
func beforeTool(ctx context.Context, p *pico, s *picoSession, r *request) (picoAnswer, error) {
	_, pre, err := about(r, "pre_tool_call")
	if err != nil {
		return nil, err
	}
	var v *verdict
	err = s.in(ctx, p, r.meta.session(), func(t *starhost.Turn) (err error) {
		v, err = guard(ctx, t, pre)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case v.answer != nil:
		return picoAnswer{"action": "respond", "result": picoResult(v.answer)}, nil
	case v.stop:
		s.endTurn(ctx)
		return picoAnswer{"action": "abort_turn", "reason": v.reason}, nil
	case v.block:
		return picoAnswer{"action": "deny_tool", "reason": v.reason}, nil
	case v.ask:
		return picoAnswer{"action": "deny_tool", "reason": unanswerable(v.reason)}, nil
	case v.args != nil:
		return picoAnswer{"action": "modify", "call": r.all.with("arguments", v.args)}, nil
	}
	return pass(), nil
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
	c, post, err := about(r, "post_tool_call")
	if err != nil {
		return nil, err
	}
	given := &c.Result
	post.Result = starhost.Result{ForLLM: given.ForLLM, ForUser: given.ForUser, Silent: given.Silent, IsError: given.IsError}
	post.IsError, post.DurationMS = given.IsError, int(c.Duration/1e6)
	err = s.in(ctx, p, r.meta.session(), func(t *starhost.Turn) error {
		_, err := t.Fire(ctx, post)
		return err
	})
	if err != nil {
		return nil, err
	}
	var result object
	if json.Unmarshal(r.all["result"], &result) != nil || result == nil {
		return pass(), nil // there is nothing to change
	}
	changed := result
	for key, value := range picoResult(&post.Result) {
		if string(mustJSON(value)) != string(result[key]) && (result[key] != nil || value != false) {
			changed = changed.with(key, value)
		}
	}
	if len(changed) == len(result) && same(changed, result) {
		return pass(), nil
	}
	return picoAnswer{"action": "modify", "result": r.all.with("result", changed)}, nil
}

// approveTool asks the approvals. What nobody decides is approved: a call that a
// person must approve was denied by [beforeTool], which is asked here where PicoClaw
// does not.
func approveTool(ctx context.Context, p *pico, s *picoSession, r *request) (picoAnswer, error) {
	_, ask, err := about(r, "approve_tool_call")
	if err != nil {
		return nil, err
	}
	v := &verdict{}
	err = s.in(ctx, p, r.meta.session(), func(t *starhost.Turn) error {
		if p.unguarded {
			pre := *ask
			pre.Name = "pre_tool_call"
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
		return picoAnswer{"approved": false, "reason": v.reason}, nil
	case v.ask:
		return picoAnswer{"approved": false, "reason": unanswerable(v.reason)}, nil
	}
	return picoAnswer{"approved": true}, nil
}
