package openai_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/model/openai"
)

var dialect = openai.Dialect()

func user(text string, attachments ...fragments.Attachment) starhost.Message {
	return starhost.Message{Role: starhost.RoleUser, Content: fragments.NewText(text), Attachments: attachments}
}

func TestBody(t *testing.T) {
	png := fragments.Attachment{Content: "PNG", Type: "image/png", Name: "dash.png"}
	tests := []struct {
		name   string
		prompt host.Prompt
		want   string
	}{
		{
			"text alone",
			host.Prompt{Model: "small", Messages: []starhost.Message{user("a < b & c")}},
			`{"messages":[{"role":"user","content":"a < b & c"}],"model":"small"}`,
		},
		{
			"system text, model and options",
			host.Prompt{System: "Be brief.", Model: "acme/small", Options: json.RawMessage(`{"temperature":0,"max_tokens":9}`), Messages: []starhost.Message{user("hi")}},
			`{"max_tokens":9,"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"hi"}],"model":"acme/small","temperature":0}`,
		},
		{
			"what a message can carry",
			host.Prompt{Model: "small", Messages: []starhost.Message{user("look",
				png,
				fragments.Attachment{URL: "https://x.test/a.png", Type: "image/png"},
				fragments.Attachment{Content: "PDF", Type: "application/pdf"},
				fragments.Attachment{Content: "WAV", Type: "audio/wav"},
				fragments.Attachment{Content: "a log", Type: "text/plain"},
				fragments.Attachment{Content: "{}", Type: "application/json"},
			)}},
			`{"messages":[{"role":"user","content":[{"type":"text","text":"look"},` +
				`{"type":"image_url","image_url":{"url":"data:image/png;base64,UE5H"}},` +
				`{"type":"image_url","image_url":{"url":"https://x.test/a.png"}},` +
				`{"type":"file","file":{"filename":"1d393b0081b6","file_data":"data:application/pdf;base64,UERG"}},` +
				`{"type":"input_audio","input_audio":{"data":"V0FW","format":"wav"}},` +
				`{"type":"text","text":"a log"},{"type":"text","text":"{}"}]}],"model":"small"}`,
		},
		{
			"what tools attach follows their answers",
			host.Prompt{Model: "small", Messages: []starhost.Message{
				user("go"),
				{Role: starhost.RoleAssistant, ToolCalls: []starhost.ToolCall{{ID: "1", Name: "shot", Arguments: json.RawMessage(`{"of":"x"}`)}, {ID: "2", Name: "date"}}},
				{Role: starhost.RoleTool, CallID: "1", Content: fragments.NewText("done"), Attachments: []fragments.Attachment{png}},
				{Role: starhost.RoleTool, CallID: "2", Content: fragments.NewText("today")},
				user("and?"),
			}},
			`{"messages":[{"role":"user","content":"go"},` +
				`{"role":"assistant","content":"","tool_calls":[{"id":"1","type":"function","function":{"name":"shot","arguments":"{\"of\":\"x\"}"}},{"id":"2","type":"function","function":{"name":"date","arguments":"{}"}}]},` +
				`{"role":"tool","content":"done","tool_call_id":"1"},{"role":"tool","content":"today","tool_call_id":"2"},` +
				`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,UE5H"}}]},` +
				`{"role":"user","content":"and?"}],"model":"small"}`,
		},
		{
			"tools",
			host.Prompt{
				Model:    "small",
				Messages: []starhost.Message{user("hi")},
				Tools:    []starhost.Tool{{Name: "a", Description: "A.", Parameters: json.RawMessage(`{"type":"object"}`)}, {Name: "b", Description: "B."}},
			},
			`{"messages":[{"role":"user","content":"hi"}],"model":"small","tools":[` +
				`{"type":"function","function":{"name":"a","description":"A.","parameters":{"type":"object"}}},` +
				`{"type":"function","function":{"name":"b","description":"B.","parameters":{"type":"object","properties":{}}}}]}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := dialect.Body(&tt.prompt, "", false)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("Body (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBodyErrors(t *testing.T) {
	attached := func(a fragments.Attachment) host.Prompt {
		return host.Prompt{Model: "small", Messages: []starhost.Message{user("look", a)}}
	}
	tests := []struct {
		name   string
		prompt host.Prompt
		want   string
	}{
		{"a type without a part", attached(fragments.Attachment{Content: "x", Type: "application/zip", Name: "x.zip"}), `attachment x.zip: got type "application/zip", want`},
		{"text that is no UTF-8", attached(fragments.Attachment{Content: "\xff", Type: "text/plain", Name: "x.log"}), `attachment x.log: got type "text/plain", want`},
		{"a URL of no known type", attached(fragments.Attachment{URL: "https://x.test/a"}), `attachment https://x.test/a: got type "", want an image`},
		{"an option of the prompt's own", host.Prompt{Model: "small", Options: json.RawMessage(`{"messages":[]}`)}, `options: "messages" is what the prompt itself sets`},
		{"no model", host.Prompt{}, "got no model, want one: the interface has no default"},
		{"options that are no object", host.Prompt{Model: "small", Options: json.RawMessage(`[]`)}, `want a JSON object`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := dialect.Body(&tt.prompt, "", false); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Body: got error %v, want %q", err, tt.want)
			}
		})
	}
}

// TestToolError checks that a model sees that a tool failed.
func TestToolError(t *testing.T) {
	failed := starhost.Message{Role: starhost.RoleTool, CallID: "1", Content: fragments.NewText("no such team"), IsError: true}
	silent := starhost.Message{Role: starhost.RoleTool, CallID: "2", IsError: true}
	body, err := dialect.Body(&host.Prompt{Model: "m", Messages: []starhost.Message{failed, silent}}, "", false)
	for _, want := range []string{`"content":"Error: no such team"`, `"content":"Error"`} {
		if err != nil || !strings.Contains(string(body), want) {
			t.Errorf("got %s, %v; want %s", body, err, want)
		}
	}
}
