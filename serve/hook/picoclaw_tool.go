package hook

import (
	"context"
	"crypto/sha256"
	"maps"
	"reflect"
	"slices"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/cache"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/mediatype"
	"github.com/starhost/starhost/internal/texttable"
)

// toolCallEvent returns the plugin event with a name, about the tool call of a request. PicoClaw sends no
// arguments if the call has none.
func toolCallEvent(p *picoConn, r *request, name string) *starhost.Event {
	e := &Event{agent: picoclaw, session: r.session, tool: r.param("tool"), args: r.CopyAt(r.Member(r.params, "arguments"))}
	e.called = picoclaw.findTool(e.tool, p.Host)
	return e.hostEvent(name)
}

// beforeTool asks the guards and, if a person must agree, the hooks that approve calls. If none of these
// decides, it denies the call, because PicoClaw cannot ask a person.
func beforeTool(ctx context.Context, p *picoConn, s *picoSession, r *request) (string, *verdict, error) {
	if r.param("tool") == CanaryTool && p.Canary != nil {
		if nonce, ok := canaryNonce(r.CopyAt(r.Member(r.params, "arguments"))); ok {
			if reason := p.denyCanary(nonce); reason != "" {
				return refusalAnswer(r.method)(reason), nil, nil
			}
			return passAnswer, nil, nil
		}
	}
	pre := toolCallEvent(p, r, "pre_tool_call")
	var v *verdict
	err := s.inTurn(ctx, p, r.session, func(t *host.Turn) (err error) {
		v, err = askGuards(ctx, t, pre)
		return err
	})
	switch {
	case err != nil:
		return "", nil, err
	case v.answer != nil:
		return fieldsAnswer(map[string]any{"action": "respond", "result": picoResult(v.answer)}), v, nil
	case v.stop:
		s.endTurn(ctx)
		return refusalAnswer("hook.before_llm")(v.reason), v, nil
	case v.block:
		return refusalAnswer(r.method)(v.reason), v, nil
	case v.ask:
		v.block, v.reason = true, describeMissingPerson(v.reason)
		return refusalAnswer(r.method)(v.reason), v, nil
	case v.args != nil:
		edits := r.edit()
		edits.SetMember(r.params, "arguments", string(v.args))
		return r.modifyAnswer("call", edits), v, nil
	}
	return passAnswer, v, nil
}

// maxVerdicts is the most verdicts that starhost stores for a conversation. If the verdict about a call is
// gone, it asks the guards again.
const maxVerdicts = 256

// verdicts are what before_tool decided about the last calls of a conversation, by their callName, because
// approve_tool needs it.
type verdicts = cache.Cache[string, *verdict]

// recordVerdict stores the verdict about the call of a request. If plugins changed the arguments, PicoClaw will
// ask for an approval of the changed call, so recordVerdict also stores a denial of the original call.
func (r *request) recordVerdict(v *verdict) {
	if v.block || v.args == nil {
		r.verdicts.Set(r.callName(r.arguments()), &verdict{block: v.block, reason: v.reason}, 1, maxVerdicts)
		return
	}
	original := &verdict{block: true, reason: "plugins changed the arguments of this call, and it has the original ones"}
	r.verdicts.Set(r.callName(r.arguments()), original, 1, maxVerdicts)
	r.verdicts.Set(r.callName(string(v.args)), &verdict{}, 1, maxVerdicts) // the same key if only the form has changed
}

// arguments returns the arguments of the call as JSON, or {} if it has none.
func (r *request) arguments() string {
	if args := r.TextAt(r.Member(r.params, "arguments")); args != "" && args != "null" {
		return args
	}
	return "{}"
}

// callName returns a hash that identifies a call with these arguments: a hash of PicoClaw's id of the call if
// it sends one, the turn, the tool and the arguments. The order of the arguments does not matter.
func (r *request) callName(args string) string {
	if v, err := jsontext.DecodeValue(args); err == nil {
		args = string(jsontext.Must(v))
	}
	sum := sha256.Sum256(jsontext.Must([]string{r.param("call_id"), r.param("tool_call_id"), r.turn, r.param("tool"), args}))
	return string(sum[:])
}

// picoResult returns a result in the form of PicoClaw.
func picoResult(r *starhost.Result) map[string]any {
	out := map[string]any{"for_llm": r.ForLLM, "silent": r.Silent, "is_error": r.IsError}
	if r.ForUser != "" {
		out["for_user"] = r.ForUser
	}
	if r.Handled {
		out["response_handled"] = true
	}
	var media []string
	for _, a := range r.Attachments {
		media = append(media, mediatype.Address(a.URL, a.Type, a.Content))
	}
	if len(media) > 0 {
		out["media"] = media
	}
	return out
}

// afterTool fires post_tool_call for the result of a tool.
func afterTool(ctx context.Context, p *picoConn, s *picoSession, r *request) (string, *verdict, error) {
	post := toolCallEvent(p, r, "post_tool_call")
	result := r.Member(r.params, "result")
	post.Result = starhost.Result{
		ForLLM: r.StringAt(r.Member(result, "for_llm")), ForUser: r.StringAt(r.Member(result, "for_user")),
		Silent: r.IsTrue(r.Member(result, "silent")), IsError: r.IsTrue(r.Member(result, "is_error")),
	}
	given := picoResult(&post.Result)
	post.IsError, post.DurationMS = post.Result.IsError, int(r.IntegerAt(r.Member(r.params, "duration"))/1e6) // nanoseconds there
	err := s.inTurn(ctx, p, r.session, func(t *host.Turn) error {
		_, err := t.Fire(ctx, post)
		return err
	})
	if err != nil || !r.HasKind(result, objectNode) {
		return passAnswer, nil, err
	}
	edits := r.edit()
	changed := picoResult(&post.Result)
	for _, key := range slices.Sorted(maps.Keys(changed)) {
		if !reflect.DeepEqual(changed[key], given[key]) {
			edits.SetMember(result, key, string(jsontext.Must(changed[key])))
		}
	}
	if edits.IsEmpty() {
		return passAnswer, nil, nil
	}
	return r.modifyAnswer("result", edits), nil, nil
}

// approveAnswer is the answer that approves a call.
const approveAnswer = `{"approved":true}`

// approveTool asks the hooks that approve calls. It refuses a call that before_tool refused or did not
// answer. If before_tool did not decide about the call, because PicoClaw sends approvals only, approveTool
// asks the guards first. An approval cannot change the arguments, so approveTool refuses a call that plugins
// would change.
func approveTool(ctx context.Context, p *picoConn, s *picoSession, r *request) (string, *verdict, error) {
	ask := toolCallEvent(p, r, "approve_tool_call")
	v, _ := r.verdicts.Get(r.callName(r.arguments()))
	err := s.inTurn(ctx, p, r.session, func(t *host.Turn) (err error) {
		if v == nil {
			pre := *ask
			pre.Name = "pre_tool_call"
			if v, err = askGuards(ctx, t, &pre); err == nil && v.args != nil && !v.block {
				v.block, v.reason = true, texttable.JoinSome(": ", "a plugin changes the arguments, which an approval cannot", v.reason)
			}
		}
		if err != nil || v.block || v.ask {
			return err
		}
		out, err := t.Fire(ctx, ask)
		v = verdictOf(out)
		return err
	})
	switch {
	case err != nil:
		return "", nil, err
	case v.block:
		return refusalAnswer(r.method)(v.reason), nil, nil
	case v.ask:
		return refusalAnswer(r.method)(describeMissingPerson(v.reason)), nil, nil
	}
	return approveAnswer, nil, nil
}
