package hook

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/starhost/starhost/internal/errtext"
)

// A request is one message of PicoClaw.
type request struct {
	*document
	id      string // the id as JSON; "" for none
	method  string
	params  int    // the node of the parameters; noNode for none
	session string // the name of the conversation
	turn    string // the name of the turn; "" if PicoClaw does not send it

	mayPass    bool        // the answer only adds context, so the request may pass without it
	isAnswered atomic.Bool // set by whoever answers first: the plugins or the watchdog
	verdicts   *verdicts   // decisions about the conversation's calls; nil until handleRequest finds it
}

// readRequest decodes a line. It returns false for a line without a method, which is not a request.
func readRequest(line string) (*request, bool) {
	d, ok := readDocument(line)
	if !ok || !d.HasKind(0, objectNode) {
		return nil, false
	}
	r := &request{
		document: d, id: d.TextAt(d.Member(0, "id")), method: d.StringAt(d.Member(0, "method")),
		params: d.Member(0, "params"),
	}
	if !d.HasKind(r.params, objectNode) {
		r.params = noNode
	}
	return r, r.method != ""
}

// setSession reads which conversation and turn the request belongs to. PicoClaw spells the names of these
// fields as Go does in requests, and in snake case in notifications.
func (r *request) setSession() {
	meta, scope := r.Member(r.params, "meta"), r.Member(r.params, "scope")
	r.turn = cmp.Or(r.firstText(meta, "TurnID", "turn_id"), r.firstText(scope, "TurnID", "turn_id"))
	r.session = cmp.Or(r.firstText(meta, "SessionKey", "session_key"), r.firstText(scope, "SessionKey", "session_key"))
	if r.session == "" {
		channel, chat := r.param("channel"), r.param("chat_id")
		r.session = "picoclaw"
		if channel+chat != "" {
			r.session = channel + ":" + chat
		}
	}
}

// firstText returns the text of one of two members: the first text that is not empty.
func (r *request) firstText(object int, name, other string) string {
	return cmp.Or(r.StringAt(r.Member(object, name)), r.StringAt(r.Member(object, other)))
}

// param returns the text of a parameter.
func (r *request) param(name string) string { return r.StringAt(r.Member(r.params, name)) }

// picoNames are the names of the members of a request, of its parameters, and of the objects meta and scope
// in these, which name the conversation.
var picoNames = struct{ request, params, place []string }{
	request: []string{"id", "method", "params"},
	params: []string{
		"meta", "scope", "channel", "chat_id", "kind", "model", "options", "messages", "tools", "response", "tool", "arguments", "result", "duration",
	},
	place: []string{"TurnID", "turn_id", "SessionKey", "session_key"},
}

// checkRequest returns an error if two readers could decode the request differently. It does not check the
// messages of a conversation, because guards do not decide about them.
func (r *request) checkRequest() error {
	err := cmp.Or(r.checkCase(0, picoNames.request), r.checkCase(r.params, picoNames.params))
	for _, place := range []string{"meta", "scope"} {
		err = cmp.Or(err, r.checkCase(r.Member(r.params, place), picoNames.place))
	}
	if r.method == "hook.before_tool" || r.method == "hook.approve_tool" {
		if err = cmp.Or(err, r.Ambiguity()); err == nil && r.param("tool") == "" {
			err = errors.New("got no tool")
		}
		if args := r.Member(r.params, "arguments"); err == nil && !isObjectOrNull(r.CopyAt(args)) {
			err = errors.New("arguments: want an object")
		}
		return err
	}
	for _, object := range []int{0, r.params} {
		if name, twice := r.Duplicate(object); twice {
			err = cmp.Or(err, fmt.Errorf("%q stands twice in one object", errtext.Clip(name)))
		}
	}
	return err
}

// errShape means that a request differs from PicoClaw's documentation.
var errShape = errors.New("params: got something else than is documented")

// isNotification reports whether PicoClaw waits for no answer: the message has no id, or reports an event.
func (r *request) isNotification() bool {
	return r.id == "" || r.method == "hook.runtime_event" && (r.id == "0" || r.id == "null")
}

// maxID is the most bytes of an id that answers repeat.
const maxID = 200

// hasValidID reports whether an answer can repeat the id: a short string, number or word.
func (r *request) hasValidID() bool {
	return len(r.id) <= maxID && !strings.HasPrefix(r.id, "{") && !strings.HasPrefix(r.id, "[")
}
