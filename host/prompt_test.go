package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
)

// TestGatheringOrder checks the order of contexts: references, session_start, turn_start,
// pre_llm_call, within an event in the order of hooks; then target and priority.
func TestGatheringOrder(t *testing.T) {
	p := plugin("p", sayingHook("pre_llm_call", "4"), sayingHook("turn_start", "3"), sayingHook("session_start", "2"),
		hook("turn_start", contextOf(fragments.Fragment{Content: "first", Priority: -1},
			fragments.Fragment{Content: "sys", Target: fragments.System}, fragments.Fragment{Content: "last",
				Priority: 9})))
	p.FragmentLoaders = []starhost.FragmentLoader{loader("xx", func(arg string) (starhost.Context, error) {
		return texts(arg), nil
	})}
	got := prompt(t, begin(t, newHost(t, host.Options{}, p, plugin("a", sayingHook("pre_llm_call", "before 4"))), host.Request{Text: "?", Fragments: []string{"xx:1", "xx:1", "xx:"}}))
	diff(t, "text", "first\n1\n\n2\n3\nbefore 4\n4\nlast\n?", got.Text.String())
	diff(t, "system", "sys", got.System)
	diff(t, "given", 10, got.Given)
	diff(t, "saved", int64(1), got.SavedBytes)
	diff(t, "bytes", len(got.Text.String())+len(got.System), got.Bytes())
}

func TestProvenance(t *testing.T) {
	p := starhost.Plugin{Name: "one", FragmentLoaders: []starhost.FragmentLoader{loader("xx",
		func(string) (starhost.Context, error) {
			return starhost.Context{Fragments: []fragments.Fragment{{Content: "same", Source: "a.md", Plugin: "forged", Pinned: true}}}, nil
		})}}
	got := prompt(t, begin(t, newHost(t, host.Options{}, p, pluginWith(7, sayingHook("turn_start", "same"))), host.Request{Fragments: []string{"xx:"}}))
	diff(t, "provenance", []fragments.Origin{{Source: "a.md", Plugin: "one"}, {Source: "turn_start", Plugin: "p7"}}, got.Fragments[0].Provenance())
	diff(t, "place of the registration", "Go", got.Fragments[0].Pos)
}

func TestSessionDedup(t *testing.T) {
	static := plugin("p", hook("pre_llm_call", starhost.TextContext("fact")))
	tests := []struct {
		dedup host.Dedup
		want  [][]string // statuses in three prompts: two rounds of a turn, then the next turn
	}{
		{"", [][]string{{"fact kept"}, {"fact in_session"}, {"fact in_session"}}},
		{host.DedupSession, [][]string{{"fact kept"}, {"fact in_session"}, {"fact in_session"}}},
		{host.DedupPrompt, [][]string{{"fact kept"}, {"fact in_session"}, {"fact kept"}}},
	}
	for _, tt := range tests {
		h := newHost(t, host.Options{Prompt: host.PromptOptions{Dedup: tt.dedup}}, static)
		s := h.NewSession(host.SessionConfig{})
		turn := beginIn(t, s, host.Request{Text: "a"})
		got := [][]string{statuses(prompt(t, turn)), statuses(prompt(t, turn))}
		turn.End(context.Background())
		got = append(got, statuses(ask(t, s, host.Request{Text: "b"})))
		diff(t, fmt.Sprintf("dedup %q", tt.dedup), tt.want, got)
	}
}

// TestLaterRounds checks that the context of a later round becomes one user message after the tool results.
func TestLaterRounds(t *testing.T) {
	h := newHost(t, host.Options{Prompt: host.PromptOptions{Render: fragments.XML}}, echo(),
		pluginWith(1, sayingHook("pre_llm_call", "one", "two", "two")), pluginWith(2, sayingHook("pre_llm_call", "", "three")))
	turn := begin(t, h, host.Request{Text: "hi"})
	prompt(t, turn)
	turn.Reply(context.Background(), starhost.Reply{Content: "calling", ToolCalls: []starhost.ToolCall{{ID: "c1", Name: "echo"}, {ID: "c2", Name: "echo"}}})
	call(t, turn, "echo", `{"text":"x"}`)
	p := prompt(t, turn)
	var got []string
	for _, m := range p.Messages {
		got = append(got, m.Role)
	}
	diff(t, "roles", []string{"user", "assistant", "tool", "user"}, got)
	documents := strings.Split(p.Text.String(), "</document>\n")
	if len(documents) != 2 || !strings.Contains(documents[0], `index="2"`) || !strings.Contains(documents[0], "\ntwo\n") ||
		!strings.Contains(documents[1], `index="3"`) {
		t.Errorf("text: got %q, want documents 2 and 3", p.Text.String())
	}
	if p.CacheBreak != nil {
		t.Errorf("cache break: %+v", p.CacheBreak)
	}
	p = prompt(t, turn) // plugins offer nothing new, so the prompt adds nothing
	diff(t, "messages", 4, len(p.Messages))
	diff(t, "text", "", p.Text.String())
}

// TestOwnWords checks that plugins see the user's own words, and that pre_send sees the final request.
func TestOwnWords(t *testing.T) {
	var before, sent [][]string
	h := newHost(t, host.Options{}, plugin("p",
		hookFunc("turn_start", func(e *starhost.Event) starhost.Decision {
			return starhost.Modify("user_message", strings.ToUpper(e.UserMessage))
		}),
		sayingHook("turn_start", "fact", "another"),
		sayingHook("pre_llm_call", "", "late", ""),
		hookFunc("pre_llm_call", func(e *starhost.Event) starhost.Decision {
			before = append(before, append(roles(e.Messages.Items()), "message "+e.UserMessage))
			return starhost.Decision{}
		}),
		hookFunc("pre_send", func(e *starhost.Event) starhost.Decision {
			sent = append(sent, roles(e.Messages.Items()))
			return starhost.Decision{}
		})))
	s := h.NewSession(host.SessionConfig{})
	turn := beginIn(t, s, host.Request{Text: "hi"})
	prompt(t, turn)
	turn.Reply(context.Background(), starhost.Reply{Content: "well"})
	prompt(t, turn)
	turn.End(context.Background())
	ask(t, s, host.Request{Text: "so"})
	diff(t, "pre_llm_call", [][]string{
		{"user: HI", "message HI"},
		{"user: HI", "assistant: well", "message HI"},
		{"user: HI", "assistant: well", "user: SO", "message SO"},
	}, before)
	diff(t, "pre_send", [][]string{
		{"user: fact\nHI"},
		{"user: fact\nHI", "assistant: well", "user: late"},
		{"user: fact\nHI", "assistant: well", "user: late", "user: another\nSO"},
	}, sent)
}

func TestSystemText(t *testing.T) {
	sys := func(source, content string) fragments.Fragment {
		return fragments.Fragment{Content: content, Source: source, Target: fragments.System}
	}
	type turn struct {
		offers []fragments.Fragment // offers of plugin p1
		others []fragments.Fragment // offers of plugin p2
		own    string
		want   string
		broken string // what breaks the provider's cache of prompts
	}
	tests := []struct {
		name  string
		turns []turn
	}{
		{"rendered once, then kept", []turn{
			{offers: []fragments.Fragment{sys("a", " rules ")}, own: "Be brief.\n", want: "rules\n\nBe brief."},
			{offers: []fragments.Fragment{sys("a", " rules ")}, want: "rules\n\nBe brief."},
			{want: "rules\n\nBe brief."},
		}},
		{"what really changes is replaced in its place", []turn{
			{offers: []fragments.Fragment{sys("a", "one"), sys("b", "two")}, want: "one\n\ntwo"},
			{offers: []fragments.Fragment{sys("a", "ONE")}, want: "ONE\n\ntwo", broken: `system fragment "a" changed p1 p.star:1:1`},
			{offers: []fragments.Fragment{sys("a", "ONE"), sys("b", "two")}, want: "ONE\n\ntwo"},
		}},
		{"a new source is added", []turn{
			{offers: []fragments.Fragment{sys("a", "one")}, want: "one"},
			{others: []fragments.Fragment{sys("a", "two")}, want: "one\n\ntwo", broken: `system fragment "a" changed p2 p.star:2:1`},
		}},
		{"a source may offer less", []turn{
			{offers: []fragments.Fragment{sys("a", "one"), sys("a", "two")}, want: "one\n\ntwo"},
			{offers: []fragments.Fragment{sys("a", "two")}, want: "two", broken: "system text changed  "},
		}},
		{"what another still offers stays", []turn{
			{offers: []fragments.Fragment{sys("a", "one")}, want: "one"},
			{others: []fragments.Fragment{sys("b", "one")}, want: "one"},
			{offers: []fragments.Fragment{sys("a", "new")}, want: "one\n\nnew", broken: `system fragment "a" changed p1 p.star:1:1`},
			{others: []fragments.Fragment{sys("b", "new too")}, want: "new too\n\nnew", broken: `system fragment "b" changed p2 p.star:2:1`},
		}},
		{"the request's own text", []turn{
			{own: "one", want: "one"},
			{want: "one"},
			{own: "two", want: "two", broken: "system text changed  "},
		}},
		{"blank fragments say nothing", []turn{
			{offers: []fragments.Fragment{sys("a", " \n"), sys("b", "b")}, want: "b"},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var now turn
			h := newHost(t, host.Options{},
				pluginWith(1, hookFunc("turn_start", func(*starhost.Event) starhost.Decision { return contextOf(now.offers...) })),
				pluginWith(2, hookFunc("turn_start", func(*starhost.Event) starhost.Decision { return contextOf(now.others...) })))
			s := h.NewSession(host.SessionConfig{})
			for i, step := range tt.turns {
				now = step
				p := ask(t, s, host.Request{Text: "hi", System: step.own})
				diff(t, fmt.Sprintf("system of turn %d", i+1), step.want, p.System)
				broken := ""
				if b := p.CacheBreak; b != nil {
					broken = fmt.Sprint(b.Cause, " ", b.Plugin, " ", b.Pos)
				}
				diff(t, fmt.Sprintf("cache break of turn %d", i+1), step.broken, broken)
				offsetsHold(t, p)
			}
		})
	}
}

// offsetsHold fails the test if the content of a sent fragment is not at the offset that the report says.
func offsetsHold(t testing.TB, p *host.Prompt) {
	t.Helper()
	for _, r := range p.Fragments {
		if r.Status != fragments.Kept || r.Offset < 0 {
			continue
		}
		in, want := p.Text.String(), r.Content
		if r.Target == fragments.System {
			in, want = p.System, strings.TrimSpace(r.Content)
		}
		if r.Offset+r.Length > len(in) || in[r.Offset:r.Offset+r.Length] != want {
			t.Errorf("row %q: offset %d, length %d does not lead to it in %q", r.Content, r.Offset, r.Length, in)
		}
	}
}

func TestPreSend(t *testing.T) {
	redact := func(e *starhost.Event) starhost.Decision {
		list := slices.Clone(e.Messages.Items())
		for i := range list {
			list[i].Content = fragments.NewText(strings.ReplaceAll(list[i].Content.String(), "secret", "******* "))
		}
		return starhost.Decision{Action: starhost.ActionModify, Changes: map[string]any{
			"messages": starhost.NewList(list), "system": strings.ReplaceAll(e.System, "secret", "x"),
		}}
	}
	h := newHost(t, host.Options{},
		pluginWith(1, hook("turn_start", contextOf(
			fragments.Fragment{Content: "the secret", Source: "a"}, fragments.Fragment{Content: "plain", Source: "b"},
			fragments.Fragment{Content: "my secret", Source: "c",
				Target: fragments.System}, fragments.Fragment{Content: "rules", Source: "d", Target: fragments.System}))),
		pluginWith(2, hookFunc("pre_send", redact)))
	s := h.NewSession(host.SessionConfig{})
	p := ask(t, s, host.Request{Text: "tell secret"})
	diff(t, "text", "the ******* \nplain\ntell ******* ", p.Text.String())
	diff(t, "system", "my x\n\nrules", p.System)
	var rows []string
	for _, r := range p.Fragments {
		rows = append(rows, fmt.Sprintf("%s %s %s at %d", r.Content, r.Status, r.Reason, r.Offset))
	}
	diff(t, "report", []string{
		"my secret changed changed by p2 (p.star:2:1) at -1", "rules kept  at 6",
		"the secret changed changed by p2 (p.star:2:1) at -1", "plain kept  at 13",
	}, rows)
	offsetsHold(t, p)
	p = ask(t, s, host.Request{Text: "again"})
	if p.CacheBreak != nil {
		t.Errorf("the same change to each request breaks no cache: got %+v", p.CacheBreak)
	}
	// The history stores the original text, and not the changed one.
	contains(t, "own words", prompt(t, beginIn(t, s, host.Request{})).Messages[0].Content.String(), "tell *******")
}

func TestCacheBreaks(t *testing.T) {
	type step struct {
		request host.Request
		send    starhost.Decision // the decision of pre_send
		want    string            // "cause plugin pos", or ""
	}
	message := func(text string) starhost.Decision {
		return starhost.Modify("messages", starhost.NewList([]starhost.Message{{Role: starhost.RoleUser, Content: fragments.NewText(text)}}))
	}
	tool := starhost.Tool{Name: "zz"}
	tests := []struct {
		name  string
		steps []step
	}{
		{"append only", []step{{}, {}, {}}},
		{"pre_send changes the request", []step{{}, {send: message("cut"), want: "pre_send changed the request p1 p.star:1:1"}, {want: "pre_send had changed the previous request p1 p.star:1:1"}, {}}},
		{"pre_send changes the system text", []step{{}, {send: starhost.Modify("system", "new"), want: "pre_send changed the request p1 p.star:1:1"}}},
		{"a change to the same is no break", []step{{}, {send: starhost.Modify("system", "")}, {}}},
		{"a tool appears", []step{{}, {request: host.Request{Tools: []starhost.Tool{tool}}, want: "tools changed  "}}},
		{"a tool disappears", []step{{request: host.Request{Tools: []starhost.Tool{tool}}}, {want: "tools changed  "}, {}}},
		{"the system text changes", []step{{request: host.Request{System: "a"}}, {request: host.Request{System: "b"}, want: "system text changed  "}}},
		{"tools come before the system text", []step{{request: host.Request{System: "a"}}, {request: host.Request{System: "b", Tools: []starhost.Tool{tool}}, want: "tools changed  "}}},
		{"history is trimmed", []step{{}, {}, {request: host.Request{History: []starhost.Message{}}, want: "history changed  "}}},
		{"history is replaced while pre_send changes", []step{{}, {request: host.Request{History: []starhost.Message{}, System: "x"}, send: starhost.Modify("system", "y"), want: "system text changed  "}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var now step
			h := newHost(t, host.Options{}, echo(),
				pluginWith(1, hookFunc("pre_send", func(*starhost.Event) starhost.Decision { return now.send })))
			s := h.NewSession(host.SessionConfig{})
			last := ""
			for i, step := range tt.steps {
				now = step
				step.request.Text = fmt.Sprintf("turn %d", i)
				p := ask(t, s, step.request)
				got := ""
				if b := p.CacheBreak; b != nil {
					got = fmt.Sprint(b.Cause, " ", b.Plugin, " ", b.Pos)
					diff(t, "offset", p.SharedPrefix, b.Offset)
				}
				diff(t, fmt.Sprintf("cache break of prompt %d", i+1), step.want, got)
				diff(t, "shared prefix", int64(sharedLength(last, p.Rendering())), p.SharedPrefix)
				last = p.Rendering()
			}
		})
	}
}

// TestRequestTools checks that the rendering shows the current tools of a request, even if the previous
// request had another tool in the same place, or the caller changed a tool in place.
func TestRequestTools(t *testing.T) {
	tool := func(name, description, parameters string) starhost.Tool {
		return starhost.Tool{Name: name, Description: description, Parameters: json.RawMessage(parameters)}
	}
	tools := []starhost.Tool{tool("a", "one", "{}"), tool("b", "two", `{"x":1}`)}
	s := newHost(t, host.Options{}).NewSession(host.SessionConfig{})
	last := ""
	for _, change := range []func(){
		func() {}, func() {}, func() {
			tools[1].Parameters[5] = '2'
		}, func() { tools[0].Description = "new" }, func() { tools[1].Name = "c" },
		func() { tools = tools[1:] }, func() { tools = append(tools, tool("d", "three", "{}")) }, func() { slices.Reverse(tools) },
	} {
		change()
		want := ask(t, newHost(t, host.Options{}).NewSession(host.SessionConfig{}),
			host.Request{Tools: tools}).Rendering()
		p := ask(t, s, host.Request{Tools: tools, History: []starhost.Message{}})
		diff(t, "rendering", want, p.Rendering())
		diff(t, "shared prefix", int64(sharedLength(last, want)), p.SharedPrefix)
		last = want
	}
}

// sharedLength returns the length of the common prefix of two texts.
func sharedLength(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func TestAttachments(t *testing.T) {
	png := fragments.Attachment{Content: "png", Type: "image/png", Name: "a.png"}
	huge := fragments.Attachment{Content: strings.Repeat("x", 9<<20), Name: "huge.bin"}
	wide := fragments.Attachment{Content: "w", Name: "wide.png", Width: 10_000, Height: 10_000}
	link := fragments.Attachment{URL: "https://example.com/a.png"}
	h := newHost(t, host.Options{}, pluginWith(1, hook("pre_llm_call", starhost.Decision{Action: starhost.ActionContext, Context: starhost.Context{Attachments: []fragments.Attachment{png, huge, wide, link}}})))
	s := h.NewSession(host.SessionConfig{})
	turn := beginIn(t, s, host.Request{Text: "look", Attachments: []fragments.Attachment{png}})
	p := prompt(t, turn)
	var got []string
	for _, a := range p.Attachments {
		got = append(got, fmt.Sprintf("%s%s %s pinned=%v %v", a.Name, a.URL, a.Status, a.Pinned, a.Provenance()))
	}
	diff(t, "report", []string{
		"a.png kept pinned=true [{pre_llm_call p1}]", "huge.bin dropped pinned=false [{pre_llm_call p1}]",
		"wide.png dropped pinned=false [{pre_llm_call p1}]", "https://example.com/a.png kept pinned=false [{pre_llm_call p1}]",
	}, got)
	diff(t, "text", "[attachment \"huge.bin\" left out: 9437184 bytes, limit 8388608 (max_attachment)]\n[attachment \"wide.png\" left out: 10000x10000 pixels, limit 40000000 (max_pixels)]\nlook", p.Text.String())
	diff(t, "sent", 2, len(p.Messages[0].Attachments))
	contains(t, "rendering", p.Rendering(), "<|attachment "+png.ID().String()+"|>")

	p = prompt(t, turn)
	diff(t, "status in the next round", fragments.InSession, p.Attachments[0].Status)
	diff(t, "what is left out is said once", "", p.Text.String())
	if p.CacheBreak != nil {
		t.Errorf("cache break: %+v", p.CacheBreak)
	}
}

// TestAttachmentsOfLaterRounds checks that an attachment without text makes a message of a later round.
func TestAttachmentsOfLaterRounds(t *testing.T) {
	n := 0
	h := newHost(t, host.Options{}, pluginWith(1, hookFunc("pre_llm_call", func(*starhost.Event) starhost.Decision {
		n++
		return starhost.Decision{Action: starhost.ActionContext, Context: starhost.Context{Attachments: []fragments.Attachment{{Content: fmt.Sprint(n)}}}}
	})))
	turn := begin(t, h, host.Request{Text: "look"})
	prompt(t, turn)
	p := prompt(t, turn)
	if len(p.Messages) != 2 || len(p.Messages[1].Attachments) != 1 || p.Messages[1].Content.String() != "" {
		t.Errorf("messages: got %+v, want a second one with one attachment", p.Messages)
	}
}

// TestToolAttachments checks that attachments of tool results have the same limits as others, and that the
// host does not send the contents of earlier messages again.
func TestToolAttachments(t *testing.T) {
	png := fragments.Attachment{Content: "png", Name: "a.png"}
	huge := fragments.Attachment{Content: strings.Repeat("x", 9<<20), Name: "huge.bin"}
	p := echo()
	p.Tools[0].Call = func(context.Context, starhost.ToolCall) (starhost.Result, error) {
		return starhost.Result{ForLLM: "shot", Attachments: []fragments.Attachment{png, huge}}, nil
	}
	turn := begin(t, newHost(t, host.Options{}, p), host.Request{Text: "look"})
	prompt(t, turn)
	turn.Reply(context.Background(), starhost.Reply{ToolCalls: []starhost.ToolCall{{ID: "c1", Name: "echo"}, {ID: "c1", Name: "echo"}}})
	first, again, asIs := call(t, turn, "echo", `{"text":""}`), call(t, turn, "echo", `{"text":""}`), call(t, turn, "echo", `{"text":""}`)
	note := "[attachment \"huge.bin\" left out: 9437184 bytes, limit 8388608 (max_attachment)]"
	diff(t, "first", "shot\n"+note, first.Result.ForLLM)
	diff(t, "first attachments", 1, len(first.Result.Attachments))
	diff(t, "second", "shot\n[attachment \"a.png\" is in an earlier message]\n"+note, again.Result.ForLLM)
	diff(t, "second attachments", 0, len(again.Result.Attachments))
	diff(t, "a call nobody asked for", 2, len(asIs.Result.Attachments))
	var got []string
	for _, m := range prompt(t, turn).Messages {
		got = append(got, fmt.Sprintf("%s %s %d", m.Role, m.CallID, len(m.Attachments)))
	}
	diff(t, "messages", []string{"user  0", "assistant  0", "tool c1 1", "tool c1 0"}, got)
}

func TestBudgets(t *testing.T) {
	p := starhost.Plugin{Name: "p", FragmentLoaders: []starhost.FragmentLoader{loader("xx", func(arg string) (starhost.Context, error) { return texts(arg), nil })}}
	o := host.Options{Prompt: host.PromptOptions{Budget: fragments.Budget{MaxBytes: 10}}}
	h := newHost(t, o, p, pluginWith(1, hook("turn_start",
		contextOf(fragments.Fragment{Content: "important"}, fragments.Fragment{Content: "less", Priority: 5}))))
	got := ask(t, h.NewSession(host.SessionConfig{}), host.Request{Fragments: []string{"xx:a"}})
	diff(t, "statuses", []string{"a kept", "important kept", "less dropped"}, statuses(got))
	diff(t, "reason", "all fragments are 14 bytes, limit 10 (max_bytes)", got.Fragments[2].Reason)

	s := h.NewSession(host.SessionConfig{})
	turn := beginIn(t, s, host.Request{Text: "hi", Fragments: []string{"xx:0123456789a"}})
	_, err := turn.Prompt(context.Background())
	var over *fragments.OverflowError
	if !errors.As(err, &over) || over.Limit != "max_bytes" || over.Need != 11 {
		t.Fatalf("Prompt: got %v, want an *OverflowError", err)
	}
	turn.End(context.Background())
	diff(t, "the failed turn left nothing", []string{"user: important\nhi"}, roles(ask(t, s, host.Request{Text: "hi"}).Messages))
}

// TestOpeningSurvivesAFailedTurn checks that the turn after a failed first turn still sends the context of
// session_start.
func TestOpeningSurvivesAFailedTurn(t *testing.T) {
	o := host.Options{Prompt: host.PromptOptions{Dedup: host.DedupPrompt}} // the default would take it for sent
	s := newHost(t, o, pluginWith(1, sayingHook("session_start", "welcome"))).NewSession(host.SessionConfig{})
	turn := beginIn(t, s, host.Request{Fragments: []string{"typo:x"}})
	if _, err := turn.Prompt(context.Background()); err == nil {
		t.Fatal("Prompt: got no error for an unknown reference")
	}
	turn.End(context.Background())
	diff(t, "second turn", "welcome\nhi", ask(t, s, host.Request{Text: "hi"}).Text.String())
	diff(t, "third turn", "hi", ask(t, s, host.Request{Text: "hi"}).Text.String())
}

func TestHistory(t *testing.T) {
	p := plugin("p", hook("turn_start", starhost.TextContext("fact")))
	s := newHost(t, host.Options{}, p).NewSession(host.SessionConfig{})
	first := ask(t, s, host.Request{Text: "a"})
	kept := append(slices.Clone(first.Messages),
		starhost.Message{Role: starhost.RoleAssistant, Content: fragments.NewText("well")})
	png := fragments.Attachment{Content: "png"}
	tests := []struct {
		name    string
		history []starhost.Message
		want    []string
		text    string
	}{
		{"messages of an earlier prompt are known", kept, []string{"user: fact\na", "assistant: well", "user: b"}, "b"},
		{"trimmed away, a fragment is sent again", kept[1:], []string{"assistant: well", "user: fact\nb"}, "fact\nb"},
		{"none", []starhost.Message{}, []string{"user: fact\nb"}, "fact\nb"},
		{"foreign attachments are known", []starhost.Message{{Role: starhost.RoleUser, Attachments: []fragments.Attachment{png}}}, []string{"user: ", "user: fact\nb"}, "fact\nb"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := ask(t, s, host.Request{Text: "b", History: tt.history, Attachments: []fragments.Attachment{png}})
			diff(t, "messages", tt.want, roles(p.Messages))
			diff(t, "text", tt.text, p.Text.String())
			sent := len(p.Messages[len(p.Messages)-1].Attachments)
			if want := strings.HasPrefix(tt.name, "foreign"); (sent == 0) != want {
				t.Errorf("attachments sent: got %d", sent)
			}
		})
	}
}

func TestAborts(t *testing.T) {
	for _, event := range []string{"turn_start", "pre_llm_call", "pre_send"} {
		stop := true
		s := newHost(t, host.Options{}, pluginWith(1, hookFunc(event, func(*starhost.Event) starhost.Decision {
			if stop {
				return abort
			}
			return starhost.Decision{}
		}))).NewSession(host.SessionConfig{})
		_, err := s.Prompt(context.Background(), host.Request{Text: "a"})
		var aborted *host.AbortError
		if !errors.As(err, &aborted) || err.Error() != "p.star:1:1: turn aborted by p1: stop" {
			t.Errorf("%s: got %v, want an *AbortError", event, err)
		}
		stop = false
		p, err := s.Prompt(context.Background(), host.Request{Text: "b"})
		if err != nil || p.Messages[len(p.Messages)-1].Content.String() != "b" {
			t.Errorf("%s: the next turn: got %v, %v", event, p, err)
		}
	}
}

func TestFailuresAreReported(t *testing.T) {
	h := newHost(t, host.Options{}, echo(), pluginWith(1, failingHook("session_start", "")),
		pluginWith(2, failingHook("pre_llm_call", "")), pluginWith(3, failingHook(post, "")))
	turn := begin(t, h, host.Request{})
	p := prompt(t, turn)
	diff(t, "errors of the first prompt", 2, len(p.Errors))
	diff(t, "hooks of the first prompt", 2, len(p.Hooks))
	call(t, turn, "echo", `{"text":""}`)
	p = prompt(t, turn)
	diff(t, "errors since", 2, len(p.Errors))
	diff(t, "all errors", 4, len(turn.Errors()))
	var failure *host.HandlerError
	if !errors.As(p.Errors[0], &failure) || failure.Plugin != "p3" || failure.What != "hook post_tool_call" || failure.Pos != at("p.star", 3) {
		t.Errorf("error: got %+v", p.Errors[0])
	}
}

func TestRendering(t *testing.T) {
	p := echo()
	p.Tools[0].Parameters = json.RawMessage(`{"type":"object"}`)
	h := newHost(t, host.Options{}, p)
	turn := begin(t, h, host.Request{Text: "hi", System: "S"})
	first := prompt(t, turn)
	turn.Reply(context.Background(), starhost.Reply{Content: "x", ToolCalls: []starhost.ToolCall{{ID: "c1", Name: "echo", Arguments: json.RawMessage(`[]`)}}})
	call(t, turn, "echo", `[]`)
	second := prompt(t, turn)
	diff(t, "rendering", `["echo","Says what it is told."]{"type":"object"}
S

<|user|>
hi

<|assistant|>
x
<|call c1 echo []|>

<|tool|>
echo: the arguments are not valid:
arguments: got [], want an object
<|answers c1|>
<|error|>
`, second.Rendering())
	diff(t, "sum", fragments.Sum(second.Rendering()), second.Sum())
	if first.Sum() == second.Sum() {
		t.Error("two prompts have one sum")
	}
	diff(t, "shared", int64(len(first.Rendering())), second.SharedPrefix)
}

// TestRenderingOfTools checks that the rendering of any tool in any prompt has the name and description as
// JSON, and the parameters.
func TestRenderingOfTools(t *testing.T) {
	for _, description := range []string{"plain", `a "quote" and a \`, "<tag> & more", "line\nbreak\x7f", "Grüße \u2028", "\xff"} {
		t.Run(description, func(t *testing.T) {
			named := func(name string) starhost.Tool {
				tool := echo().Tools[0]
				tool.Name, tool.Description = name, description
				return tool
			}
			mine, theirs := named("mine"), named("theirs")
			h := newHost(t, host.Options{}, starhost.Plugin{Name: "p", Tools: []starhost.Tool{mine}})
			want := ""
			for _, tool := range []starhost.Tool{mine, theirs} {
				head, err := json.Marshal([]string{tool.Name, tool.Description})
				if err != nil {
					t.Fatal(err)
				}
				want += string(head) + string(tool.Parameters) + "\n"
			}
			s := h.NewSession(host.SessionConfig{})
			for range 2 {
				p, err := s.Prompt(t.Context(), host.Request{Text: "?", Tools: []starhost.Tool{theirs}})
				if err != nil {
					t.Fatal(err)
				}
				if got := p.Rendering(); !strings.HasPrefix(got, want) {
					t.Errorf("got %q, want it to begin with %q", got, want)
				}
			}
		})
	}
}
