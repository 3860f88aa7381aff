package hook

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/starhost/starhost"
)

// toolCallEvent returns the host's event about the call of a request, whose arguments are
// missing where there are none.
func toolCallEvent(r *request, name string) *starhost.Event {
	e := &Event{agent: picoclaw, session: r.session, tool: r.param("tool"), args: r.copyAt(r.member(r.params, "arguments"))}
	return e.hostEvent(name)
}

// beforeTool passes a call through the guards and, where a person is wanted, the
// approvals: PicoClaw has nobody to ask.
func beforeTool(ctx context.Context, p *picoConn, s *picoSession, r *request) (picoAnswer, *verdict, error) {
	pre := toolCallEvent(r, "pre_tool_call")
	var v *verdict
	err := s.inTurn(ctx, p, r.session, func(t *starhost.Turn) (err error) {
		v, err = askGuards(ctx, t, pre)
		return err
	})
	switch {
	case err != nil:
		return nil, nil, err
	case v.answer != nil:
		return fieldsAnswer(map[string]any{"action": "respond", "result": picoResult(v.answer)}), v, nil
	case v.stop:
		s.endTurn(ctx)
		return refusalAnswers["hook.before_llm"](v.reason), v, nil
	case v.block:
		return refusalAnswers[r.method](v.reason), v, nil
	case v.ask:
		v.block, v.reason = true, describeMissingPerson(v.reason)
		return refusalAnswers[r.method](v.reason), v, nil
	case v.args != nil:
		return r.modifyAnswer("call", []edit{r.setMember(r.params, "arguments", v.args)}), v, nil
	}
	return passAnswer, v, nil
}

// maxVerdicts is the most calls of a conversation whose verdict starhost stores. It asks the guards
// again about a call whose verdict is gone.
const maxVerdicts = 256

// verdicts are what before_tool decided about the last calls of a conversation, for approve_tool.
type verdicts struct {
	mu    sync.Mutex // the watchdog writes beside a handler
	calls map[string]*verdict
	order []string // of calls, oldest first
}

// record stores the verdict about the call of a request. PicoClaw asks for the approval of the call as
// plugins changed it; the original must not run.
func (vs *verdicts) record(r *request, v *verdict) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if v.block || v.args == nil {
		vs.setVerdict(r.callName(r.arguments()), &verdict{block: v.block, reason: v.reason})
		return
	}
	original := &verdict{block: true, reason: "plugins changed the arguments of this call, and it has the original ones"}
	vs.setVerdict(r.callName(r.arguments()), original)
	vs.setVerdict(r.callName(string(v.args)), &verdict{}) // the same call if only its form changed
}

func (vs *verdicts) setVerdict(call string, v *verdict) {
	if vs.calls == nil {
		vs.calls = map[string]*verdict{}
	}
	if vs.calls[call] == nil {
		if vs.order = append(vs.order, call); len(vs.order) > maxVerdicts {
			delete(vs.calls, vs.order[0])
			vs.order = slices.Delete(vs.order, 0, 1)
		}
	}
	vs.calls[call] = v
}

// find returns the verdict about the call of a request, nil if there is none.
func (vs *verdicts) find(r *request) *verdict {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	return vs.calls[r.callName(r.arguments())]
}

// arguments returns the arguments of a call as JSON.
func (r *request) arguments() string {
	if args := string(r.textAt(r.member(r.params, "arguments"))); args != "" && args != "null" {
		return args
	}
	return "{}"
}

// callName returns a hash that names a call with these arguments: PicoClaw's id of the call, where it
// sends one, its turn, the tool and the arguments, whatever the order of their names.
func (r *request) callName(args string) string {
	var v any
	d := json.NewDecoder(strings.NewReader(args))
	d.UseNumber()
	if d.Decode(&v) == nil {
		args = string(mustJSON(v))
	}
	sum := sha256.Sum256(mustJSON([]string{r.param("call_id"), r.param("tool_call_id"), r.turn, r.param("tool"), args}))
	return string(sum[:])
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
func afterTool(ctx context.Context, p *picoConn, s *picoSession, r *request) (picoAnswer, error) {
	post := toolCallEvent(r, "post_tool_call")
	result := r.member(r.params, "result")
	post.Result = starhost.Result{
		ForLLM: r.stringAt(r.member(result, "for_llm")), ForUser: r.stringAt(r.member(result, "for_user")),
		Silent: r.isTrue(r.member(result, "silent")), IsError: r.isTrue(r.member(result, "is_error")),
	}
	given := picoResult(&post.Result)
	post.IsError, post.DurationMS = post.Result.IsError, int(r.integerAt(r.member(r.params, "duration"))/1e6) // of nanoseconds
	err := s.inTurn(ctx, p, r.session, func(t *starhost.Turn) error {
		_, err := t.Fire(ctx, post)
		return err
	})
	if err != nil || !r.hasKind(result, objectNode) {
		return passAnswer, err
	}
	var edits []edit
	changed := picoResult(&post.Result)
	for _, key := range slices.Sorted(maps.Keys(changed)) {
		if !reflect.DeepEqual(changed[key], given[key]) {
			edits = append(edits, r.setMember(result, key, mustJSON(changed[key])))
		}
	}
	if edits == nil {
		return passAnswer, nil
	}
	return r.modifyAnswer("result", edits), nil
}

// approveAnswer is the answer to an approval that nobody refuses.
var approveAnswer = textAnswer(`{"approved":true}`)

// approveTool asks the approvals. It refuses a call that before_tool refused or did not answer. If
// before_tool did not decide about the call, because PicoClaw asks for approvals alone, starhost asks
// the guards here. An approval cannot change the arguments, so a call that plugins change is refused.
func approveTool(ctx context.Context, p *picoConn, s *picoSession, r *request) (picoAnswer, error) {
	ask := toolCallEvent(r, "approve_tool_call")
	v := r.verdicts.find(r)
	err := s.inTurn(ctx, p, r.session, func(t *starhost.Turn) (err error) {
		if v == nil {
			pre := *ask
			pre.Name = "pre_tool_call"
			if v, err = askGuards(ctx, t, &pre); err == nil && v.args != nil && !v.block {
				v.block, v.reason = true, joinTexts(": ", "a plugin changes the arguments, which an approval cannot", v.reason)
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
		return nil, err
	case v.block:
		return refusalAnswers[r.method](v.reason), nil
	case v.ask:
		return refusalAnswers[r.method](describeMissingPerson(v.reason)), nil
	}
	return approveAnswer, nil
}
