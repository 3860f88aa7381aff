package anthropic_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/model/anthropic"
)

var dialect = anthropic.Dialect()

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
			host.Prompt{Messages: []starhost.Message{user("a < b & c")}},
			`{"max_tokens":4096,"messages":[{"role":"user","content":[{"type":"text","text":"a < b & c"}]}],"model":"claude-sonnet-4-5"}`,
		},
		{
			"system text, model and options",
			host.Prompt{System: "Be brief.", Model: "acme/small", Options: json.RawMessage(`{"temperature":0,"max_tokens":9}`), Messages: []starhost.Message{user("hi")}},
			`{"max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}],"model":"acme/small","system":"Be brief.","temperature":0}`,
		},
		{
			"what a message can carry",
			host.Prompt{Messages: []starhost.Message{user("look",
				png,
				fragments.Attachment{URL: "https://x.test/a.png", Type: "image/png"},
				fragments.Attachment{Content: "PDF", Type: "application/pdf", Name: "a.pdf"},
				fragments.Attachment{Content: "a log", Type: "text/plain"},
				fragments.Attachment{Content: "{}", Type: "application/json"},
			)}},
			`{"max_tokens":4096,"messages":[{"role":"user","content":[{"type":"text","text":"look"},` +
				`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"UE5H"}},` +
				`{"type":"image","source":{"type":"url","url":"https://x.test/a.png"}},` +
				`{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"UERG"},"title":"a.pdf"},` +
				`{"type":"text","text":"a log"},{"type":"text","text":"{}"}]}],"model":"claude-sonnet-4-5"}`,
		},
		{
			"answers of tools and what the user says next are one message",
			host.Prompt{Messages: []starhost.Message{
				user("go"),
				{Role: starhost.RoleAssistant, Content: fragments.NewText("well"), ToolCalls: []starhost.ToolCall{{ID: "1", Name: "shot", Arguments: json.RawMessage(`{"of":"x"}`)}, {ID: "2", Name: "date"}}},
				{Role: starhost.RoleTool, CallID: "1", Content: fragments.NewText("done"), Attachments: []fragments.Attachment{png}},
				{Role: starhost.RoleTool, CallID: "2", IsError: true},
				user("and?"),
			}},
			`{"max_tokens":4096,"messages":[{"role":"user","content":[{"type":"text","text":"go"}]},` +
				`{"role":"assistant","content":[{"type":"text","text":"well"},{"type":"tool_use","id":"1","name":"shot","input":{"of":"x"}},{"type":"tool_use","id":"2","name":"date","input":{}}]},` +
				`{"role":"user","content":[` +
				`{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"done"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"UE5H"}}]},` +
				`{"type":"tool_result","tool_use_id":"2","is_error":true},` +
				`{"type":"text","text":"and?"}]}],"model":"claude-sonnet-4-5"}`,
		},
		{
			"a message that says nothing is left out",
			host.Prompt{Messages: []starhost.Message{user("a"), {Role: starhost.RoleAssistant}, user("b")}},
			`{"max_tokens":4096,"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}],"model":"claude-sonnet-4-5"}`,
		},
		{
			"tools",
			host.Prompt{
				Messages: []starhost.Message{user("hi")},
				Tools:    []starhost.Tool{{Name: "a", Description: "A.", Parameters: json.RawMessage(`{"type":"object"}`)}, {Name: "b", Description: "B."}},
			},
			`{"max_tokens":4096,"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}],"model":"claude-sonnet-4-5","tools":[` +
				`{"name":"a","description":"A.","input_schema":{"type":"object"}},` +
				`{"name":"b","description":"B.","input_schema":{"type":"object","properties":{}}}]}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.prompt.Model == "" {
				tt.prompt.Model = "claude-sonnet-4-5"
			}
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
		return host.Prompt{Messages: []starhost.Message{user("look", a)}}
	}
	tests := []struct {
		name   string
		prompt host.Prompt
		want   string
	}{
		{"a type without a block", attached(fragments.Attachment{Content: "x", Type: "audio/wav", Name: "x.wav"}), `attachment x.wav: got type "audio/wav", want`},
		{"text that is no UTF-8", attached(fragments.Attachment{Content: "\xff", Type: "text/plain", Name: "x.log"}), `attachment x.log: got type "text/plain", want`},
		{"text by URL", attached(fragments.Attachment{URL: "https://x.test/a", Type: "text/plain"}), `attachment https://x.test/a: got type "text/plain", want`},
		{"an empty prompt", host.Prompt{Messages: []starhost.Message{user("")}}, `the prompt is empty`},
		{"an option of the prompt's own", host.Prompt{Messages: []starhost.Message{user("a")}, Options: json.RawMessage(`{"system":""}`)}, `options: "system" is what the prompt itself sets`},
		{"options that are no object", host.Prompt{Messages: []starhost.Message{user("a")}, Options: json.RawMessage(`[]`)}, `want a JSON object`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.prompt.Model = "m"
			if _, err := dialect.Body(&tt.prompt, "", false); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Body: got error %v, want %q", err, tt.want)
			}
		})
	}
}

// TestBodyWithoutModel checks that the code names no model, because vendors retire them.
func TestBodyWithoutModel(t *testing.T) {
	if body, err := dialect.Body(&host.Prompt{}, "", false); err == nil || !strings.Contains(err.Error(), "got no model") {
		t.Errorf("got %s, %v", body, err)
	}
}
