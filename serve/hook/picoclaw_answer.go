package hook

import (
	"fmt"

	"github.com/starhost/starhost/internal/jsontext"
)

// fieldsAnswer returns an answer with a few fields.
func fieldsAnswer(fields map[string]any) string { return string(jsontext.Must(fields)) }

// modifyAnswer returns the answer that replaces a part (the request, call, response or result) by the
// parameters of the request with edits made in them.
func (r *request) modifyAnswer(part string, edits *jsontext.Edits) string {
	return `{"action":"modify","` + part + `":` + edits.TextAt(r.params) + "}"
}

// edit returns no edits of the request yet.
func (r *request) edit() *jsontext.Edits { return jsontext.NewEdits(&r.Document) }

// passAnswer is the answer that changes nothing.
const passAnswer = `{"action":"continue"}`

// refusalAnswer returns the answer that refuses a request of a method, or nil if starhost cannot refuse it.
func refusalAnswer(method string) func(reason string) string {
	switch method {
	case "hook.before_llm":
		return refusing("action", "abort_turn")
	case "hook.before_tool":
		return refusing("action", "deny_tool")
	case "hook.approve_tool":
		return refusing("approved", false)
	}
	return nil
}

func refusing(member string, value any) func(reason string) string {
	return func(reason string) string { return fieldsAnswer(map[string]any{member: value, "reason": reason}) }
}

// answerWithoutPlugins returns the answer if no plugin decides. If refusal is nil, the answer lets the
// request pass; otherwise it refuses the request.
func (r *request) answerWithoutPlugins(refusal error) string {
	refuse := refusalAnswer(r.method)
	switch {
	case refusal != nil && refuse != nil:
		return refuse(refusal.Error())
	case r.method == "hook.approve_tool":
		return approveAnswer
	}
	return passAnswer
}

// reply writes an answer, unless the request has one already. v is the decision about a call before it runs;
// nil for other requests.
func (p *picoConn) reply(r *request, a string, v *verdict) {
	if r.isAnswered.CompareAndSwap(false, true) {
		p.recordAnswered(r, p.send(r, a, v))
	}
}

// recordAnswered records that PicoClaw asked about a call and got an answer. The answer goes first, because
// the log can block.
func (p *picoConn) recordAnswered(r *request, v *verdict) {
	if r.method != "hook.before_tool" || v == nil || p.Record == nil {
		return
	}
	e := r.event()
	a := Answer{Action: v.action(e), Args: v.args}
	WaitBriefly(LogWait, func() { _ = p.Record(e.undecidedEvent("pre_tool_call"), a) }) // the call was answered in any case
}

// send writes an answer. PicoClaw cannot read one of maxReply bytes or more. starhost then refuses
// the call, or ends the turn if PicoClaw would use a request, reply or result that plugins changed.
// If the answer only adds context, the request passes without it. send returns the verdict that PicoClaw
// got.
func (p *picoConn) send(r *request, a string, v *verdict) *verdict {
	if r.isNotification() {
		return nil
	}
	p.outMu.Lock()
	defer p.outMu.Unlock()
	line := r.composeMessage("result", a)
	if size := len(line); size >= maxReply {
		defer func() { // the answer goes first, because the log can block
			p.Warn(fmt.Sprintf("%s: the answer has %d bytes, limit %d: it is left out", r.method, size, maxReply-1))
		}()
		a = passAnswer
		if !r.mayPass {
			v = &verdict{block: true, reason: "the answer of the plugins is too long for PicoClaw"}
			refuse := refusalAnswer(r.method)
			if refuse == nil {
				refuse = refusalAnswer("hook.before_llm") // this ends the turn
			}
			a = refuse(v.reason)
		}
		line = r.composeMessage("result", a)
	}
	if r.method == "hook.before_tool" && v != nil {
		r.recordVerdict(v)
	}
	p.writeLine(line)
	return v
}

// replyError writes an error.
func (p *picoConn) replyError(r *request, code int, message string) {
	if !r.isNotification() {
		p.outMu.Lock()
		defer p.outMu.Unlock()
		p.writeLine(r.composeMessage("error", fieldsAnswer(map[string]any{"code": code, "message": message})))
	}
}

// composeMessage returns the message that answers a request.
func (r *request) composeMessage(what string, a string) []byte {
	return []byte(`{"jsonrpc":"2.0","id":` + r.id + `,"` + what + `":` + a + "}\n")
}

// writeLine writes a message without a buffer.
func (p *picoConn) writeLine(line []byte) {
	if _, err := p.out.Write(line); err != nil {
		p.cancel(err)
	}
}
