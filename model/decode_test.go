package model_test

import (
	"encoding/json"
	"testing"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/model"
	"github.com/starhost/starhost/model/anthropic"
	"github.com/starhost/starhost/model/openai"
	"github.com/starhost/starhost/model/responses"
)

func FuzzOpenAI(f *testing.F)    { fuzzDecoder(f, openai.Dialect()) }
func FuzzResponses(f *testing.F) { fuzzDecoder(f, responses.Dialect()) }
func FuzzAnthropic(f *testing.F) { fuzzDecoder(f, anthropic.Dialect()) }

// fuzzDecoder checks that the decoder of a dialect never panics, that its answer is its pieces, and
// that the next request with the answer is JSON.
func fuzzDecoder(f *testing.F, d model.Dialect) {
	f.Add([]byte(stream(f, d)))
	for _, seed := range []string{
		`data: {"choices":[{"index":0,"delta":{"content":[{"type":"text","text":"a"}],"tool_calls":[{"id":"x","function":{"arguments":{}}}]},"finish_reason":"stop"}]}`,
		`data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","input":{}}}` + "\n\n" + `data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{"}}` + "\n\n" + `data: {"type":"message_stop"}`,
		`data: {"type":"response.output_item.done","output_index":3,"item":{"type":"function_call","call_id":"a","name":"b"}}` + "\n\n" + `data: {"type":"response.completed","response":{"output":[null]}}`,
		`data: {"type":"error","error":{"message":"x"}}`, "data: null", "data: []", `data: {"choices":null,"error":0}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var text string
		decoder := d.Decode("acme/m", func(p model.Piece) {
			if p.Kind == model.PieceText {
				text += p.Text
			}
		})
		model.ReadEvents(in, decoder)
		reply, complete := decoder.Reply()
		if decoder.Size() < 0 || !complete && reply.Content != text {
			t.Errorf("got size %d, %q, pieces %q", decoder.Size(), reply.Content, text)
		}
		if len(reply.Native) > 0 && !json.Valid(reply.Native) {
			t.Errorf("native: got %s", reply.Native)
		}
		message := starhost.Message{
			Role: starhost.RoleAssistant, Content: fragments.NewText(reply.Content),
			ToolCalls: reply.ToolCalls, Native: reply.Native,
		}
		p := &host.Prompt{Model: "m", Messages: []starhost.Message{{Role: "user", Content: fragments.NewText("hi")}, message}}
		if body, err := d.Body(p, "acme/m", true); err != nil || !json.Valid(body) {
			t.Errorf("next request: %v %s", err, body)
		}
		whole := d.Decode("acme/m", func(model.Piece) {})
		_ = whole.Whole(in)
		whole.Reply()
	})
}
