package proxy

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/mediatype"
)

// A dialect is what differs between the protocols of endpoints.
type dialect struct {
	path string
	// list is the member of a request that has the messages. system is the member that has the system text,
	// or "" if a message has it.
	list, system string
	// textType is the type of a block of text in a user's message.
	textType string
	// newTool returns the JSON object by which a request offers a tool, and newImage the one by which it
	// sends a picture.
	newTool  func(t *starhost.Tool) any
	newImage func(a *fragments.Attachment) any

	// content is the member of a reply that has its blocks or items.
	content string
	// newText returns the object that takes the place of a denied call. It is nil if calls are in a list that
	// has no place for texts.
	newText func(reason, id string) any
	// finished is the value that says that the model stopped at the end of a text; "" if replies do not say
	// why it stopped.
	finished string
	// turnOf returns the elements that the next request gets: those of the model's reply, and the results of
	// its calls.
	turnOf func(w *wholeReply, e *jsontext.Edits, calls []*call) (said, results []string)

	// newParts returns an assembler for a stream. pingText is the text that the proxy sends as a sign of
	// life.
	newParts func() assembler
	pingText string
	// index is the member of events that has the number of an item. hasSequence is true if events have a
	// sequence number, and the last event has the whole reply.
	index       string
	hasSequence bool
	// startsCall reports whether an event is a part of a call, and isTerminal whether an event ends a reply.
	startsCall, isTerminal func(e *event) bool
	// writeDelayed writes the delayed events of a reply that plugins changed. itemEvents returns the events
	// that send one item to a client.
	writeDelayed func(p *replyStream, w *wholeReply, again bool) error
	itemEvents   func(item string, index int) []dict
	// errorEvent returns the event by which the proxy ends a stream with an error.
	errorEvent func(why *refusal, sequence int) (kind, data string)
	// newError returns the JSON object of an error, for the body of an answer and for the event that ends a
	// stream.
	newError func(why *refusal) any
}

// These are the paths of the requests that the proxy reads.
const (
	messagesPath = "/v1/messages"
	countPath    = messagesPath + "/count_tokens"
	modelsPath   = "/v1/models"
)

// chat is OpenAI's Chat Completions and responses is OpenAI's Responses. messages is Anthropic's Messages,
// and count is the request of Messages that only counts tokens.
var (
	chat = dialect{
		path: "/v1/chat/completions", list: "messages", textType: "text", newError: openAIError,
		newTool: func(t *starhost.Tool) any {
			return dict{"type": "function", "function": dict{"name": t.Name, "description": t.Description, "parameters": t.Schema()}}
		},
		newImage: func(a *fragments.Attachment) any {
			return dict{"type": "image_url", "image_url": dict{"url": mediatype.Address(a.URL, a.Type, a.Content)}}
		},
		content: "content", finished: "stop", turnOf: chatTurn,
		newParts: func() assembler { return &chatReply{} }, pingText: ": ping\n\n",
		startsCall: chunkHasCall, isTerminal: chunkEnds, writeDelayed: writeChunks,
		errorEvent: func(why *refusal, _ int) (kind, data string) { return "", string(jsontext.Must(openAIError(why))) },
	}
	responses = dialect{
		path: "/v1/responses", list: "input", system: "instructions", textType: "input_text", newError: openAIError,
		newTool: func(t *starhost.Tool) any {
			return dict{
				"type": "function", "name": t.Name, "description": t.Description, "parameters": t.Schema(), "strict": false,
			}
		},
		newImage: func(a *fragments.Attachment) any {
			return dict{"type": "input_image", "image_url": mediatype.Address(a.URL, a.Type, a.Content), "detail": "auto"}
		},
		content: "output", turnOf: responsesTurn,
		newText: func(reason, id string) any {
			part := dict{"type": "output_text", "text": reason, "annotations": []any{}, "logprobs": []any{}}
			return dict{
				"type": "message", "id": "msg_starhost_" + id, "status": "completed", "role": "assistant", "content": []any{part},
			}
		},
		newParts: func() assembler { return &responsesReply{} }, pingText: ": ping\n\n", index: "output_index", hasSequence: true,
		startsCall: func(e *event) bool {
			return strings.HasPrefix(e.kind, "response.output_item.") && isCallAt(e, "item") || len(lastCalls(&e.doc)) > 0
		},
		isTerminal: func(e *event) bool { return isLast(e.kind) }, writeDelayed: writeItems, itemEvents: itemEvents,
		errorEvent: func(why *refusal, sequence int) (kind, data string) {
			return "error", string(jsontext.Must(dict{
				"type": "error", "code": "starhost", "message": why.reason, "param": nil, "sequence_number": sequence,
			}))
		},
	}
	messages = dialect{
		path: messagesPath, list: "messages", system: "system", textType: "text", newError: anthropicError,
		newTool: func(t *starhost.Tool) any {
			return dict{"name": t.Name, "description": t.Description, "input_schema": t.Schema()}
		},
		newImage: func(a *fragments.Attachment) any {
			source := dict{"type": "url", "url": a.URL}
			if a.URL == "" {
				data := base64.StdEncoding.EncodeToString([]byte(a.Content))
				source = dict{"type": "base64", "media_type": a.Type, "data": data}
			}
			return dict{"type": "image", "source": source}
		},
		content: "content", finished: "end_turn", turnOf: messagesTurn,
		newText:  func(reason, _ string) any { return dict{"type": "text", "text": reason} },
		newParts: func() assembler { return &messagesReply{} }, pingText: "event: ping\ndata: {\"type\": \"ping\"}\n\n", index: "index",
		startsCall:   func(e *event) bool { return e.kind == "content_block_start" && isCallAt(e, "content_block") },
		isTerminal:   func(e *event) bool { return e.kind == "message_delta" || e.kind == "message_stop" },
		writeDelayed: writeItems, itemEvents: blockEvents,
		errorEvent: func(why *refusal, _ int) (kind, data string) {
			return "error", string(jsontext.Must(anthropicError(why)))
		},
	}
	count = messages.at(countPath)
)

// at returns a copy of the dialect for another path.
func (d dialect) at(path string) dialect {
	d.path = path
	return d
}

// isCallAt reports whether the member of an event that has an item has a call.
func isCallAt(e *event, member string) bool {
	_, ok := formOf(&e.doc, e.doc.Member(0, member))
	return ok
}

// chunkHasCall reports whether a chunk of a chat has a part of a call.
func chunkHasCall(e *event) bool {
	d := &e.doc
	return slices.ContainsFunc(d.Elements(d.Member(0, "choices")), func(part int) bool {
		delta := d.Member(part, "delta")
		return d.HasKind(d.Member(delta, "tool_calls"), jsontext.Array) || d.HasKind(d.Member(delta, "function_call"), jsontext.Object)
	})
}

// chunkEnds reports whether a chunk of a chat ends an answer or counts tokens.
func chunkEnds(e *event) bool {
	d := &e.doc
	ends := func(part int) bool { return d.HasKind(d.Member(part, "finish_reason"), jsontext.String) }
	return d.HasKind(d.Member(0, "usage"), jsontext.Object) || slices.ContainsFunc(d.Elements(d.Member(0, "choices")), ends)
}

// rawJSON is a value that is JSON already.
type rawJSON = json.RawMessage

// findDialect returns the dialect of a request, nil for a request that the proxy does not read.
func findDialect(method, path string) *dialect {
	for _, d := range []*dialect{&chat, &responses, &messages, &count} {
		if method == http.MethodPost && path == d.path {
			return d
		}
	}
	return nil
}

// dict is a JSON object that the proxy writes.
type dict = map[string]any

// openAIError returns the object of an error, which is the same in both of OpenAI's protocols.
func openAIError(why *refusal) any {
	kind := "server_error"
	switch {
	case why.status == http.StatusForbidden:
		kind = "permission_error"
	case why.status < 500:
		kind = "invalid_request_error"
	}
	return dict{"error": dict{"message": why.reason, "type": kind, "param": nil, "code": "starhost"}}
}

// anthropicErrors are the types of Anthropic's errors, by the status of the answer.
var anthropicErrors = map[int]string{
	http.StatusUnauthorized: "authentication_error", http.StatusForbidden: "permission_error",
	http.StatusRequestEntityTooLarge: "request_too_large", http.StatusServiceUnavailable: "overloaded_error",
}

func anthropicError(why *refusal) any {
	kind := anthropicErrors[why.status]
	switch {
	case kind != "":
	case why.status < 500:
		kind = "invalid_request_error"
	default:
		kind = "api_error"
	}
	return dict{"type": "error", "error": dict{"type": kind, "message": why.reason}}
}
