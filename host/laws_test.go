package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
)

// The tests draw from few texts, so that they draw some texts repeatedly.
var someText = rapid.SampledFrom([]string{"a", "b", "a\nb", "</document>", "```\ncode\n```", "é\x00", "", " ", "<|user|>", "a longer piece of text"})

// drawContext draws the context that a handler or loader adds to a prompt.
func drawContext(t *rapid.T, label string) starhost.Context {
	var c starhost.Context
	for i := range rapid.IntRange(0, 3).Draw(t, label+" fragments") {
		f := fragments.Fragment{Content: someText.Draw(t, "content"), Priority: rapid.IntRange(-1, 1).Draw(t, "priority")}
		if rapid.Bool().Draw(t, "named") {
			f.Source, f.Title = fmt.Sprintf("s%d\"<", i), "T"
		}
		c.Fragments = append(c.Fragments, f)
	}
	for range rapid.IntRange(0, 1).Draw(t, label+" attachments") {
		c.Attachments = append(c.Attachments,
			fragments.Attachment{Content: someText.Draw(t, "bytes") + "x", Name: "n",
				Width: rapid.SampledFrom([]int{0, 1, 1 << 40}).Draw(t, "width"), Height: 1})
	}
	return c
}

// Every prompt of a session begins with the whole previous one, whatever turns, rounds, contexts
// and tools there are, unless a pre_send hook changes the request, or the system text or the tools
// change.
func TestLawAppendOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		opts := host.PromptOptions{
			Render: rapid.SampledFrom([]fragments.Rendering{fragments.Plain, fragments.XML,
				fragments.Markdown}).Draw(t, "render"),
			Dedup:  rapid.SampledFrom([]host.Dedup{host.DedupSession, host.DedupPrompt}).Draw(t, "dedup"),
			Budget: fragments.Budget{MaxBytes: rapid.SampledFrom([]int64{0, 5, 20}).Draw(t, "max_bytes"), MaxAttachments: rapid.IntRange(0, 2).Draw(t, "max_attachments")},
		}
		system := starhost.Context{Fragments: []fragments.Fragment{{Content: someText.Draw(t, "system"), Target: fragments.System, Priority: -9}}}
		offer := func(label string) func(*starhost.Event) starhost.Decision {
			return func(*starhost.Event) starhost.Decision {
				return starhost.Decision{Action: starhost.ActionContext, Context: drawContext(t, label)}
			}
		}
		p := plugin("p", hook("turn_start", starhost.Decision{Action: starhost.ActionContext, Context: system}),
			hookFunc("session_start", offer("session_start")), hookFunc("turn_start", offer("turn_start")), hookFunc("pre_llm_call", offer("pre_llm_call")))
		p.Tools = []starhost.Tool{{Name: "tool", Description: "d",
			Call: func(context.Context, starhost.ToolCall) (starhost.Result, error) {
				return starhost.Result{ForLLM: someText.Draw(t, "result"), IsError: rapid.Bool().Draw(t, "is_error"),
					Attachments: drawContext(t, "result").Attachments}, nil
			}}}
		p.FragmentLoaders = []starhost.FragmentLoader{loader("ref", func(arg string) (starhost.Context, error) {
			return texts(arg), nil
		})}
		h := host.New(host.Options{Prompt: opts})
		if err := h.Add(p); err != nil {
			t.Fatal(err)
		}
		runSession(t, h.NewSession(host.SessionConfig{}))
	})
}

// runSession runs random turns and checks each prompt against the previous one.
func runSession(t *rapid.T, s *host.Session) {
	ctx := context.Background()
	last := ""
	for range rapid.IntRange(1, 4).Draw(t, "turns") {
		r := host.Request{Text: someText.Draw(t, "words"),
			Fragments: rapid.SliceOfN(rapid.SampledFrom([]string{"ref:a", "ref:b", "none:x"}), 0, 2).Draw(t,
				"references")}
		turn, err := s.Begin(ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 3).Draw(t, "rounds") {
			p, err := turn.Prompt(ctx)
			if err != nil {
				break // an unknown reference ends the turn; the session goes on
			}
			text := p.Rendering()
			if !strings.HasPrefix(text, last) || p.CacheBreak != nil || p.SharedPrefix != int64(len(last)) {
				t.Fatalf("a prompt does not begin with the previous one\nprevious:\n%s\nthis:\n%s\nshared %d, %+v", last, text, p.SharedPrefix, p.CacheBreak)
			}
			checkOffsets(t, p)
			last = text
			replyRandomly(ctx, t, turn)
		}
		turn.End(ctx)
	}
}

// replyRandomly stores a random reply and runs some of its calls.
func replyRandomly(ctx context.Context, t *rapid.T, turn *host.Turn) {
	reply := starhost.Reply{Content: someText.Draw(t, "reply")}
	for range rapid.IntRange(0, 2).Draw(t, "calls") {
		reply.ToolCalls = append(reply.ToolCalls,
			starhost.ToolCall{ID: rapid.SampledFrom([]string{"1", "2"}).Draw(t, "id"),
				Name: rapid.SampledFrom([]string{"tool", "gone"}).Draw(t, "name")})
	}
	if err := turn.Reply(ctx, reply); err != nil {
		t.Fatal(err)
	}
	for _, c := range reply.ToolCalls {
		if rapid.Bool().Draw(t, "run") {
			if _, err := turn.CallTool(ctx, c); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// checkOffsets checks that the offsets of the sent fragments' rows are right, and that the fragments follow
// each other.
func checkOffsets(t *rapid.T, p *host.Prompt) {
	end := map[fragments.Target]int{}
	for _, r := range p.Fragments {
		if r.Status != fragments.Kept || r.Offset < 0 {
			continue
		}
		in, want := p.Text.String(), r.Content
		if r.Target == fragments.System {
			in, want = p.System, strings.TrimSpace(r.Content)
		}
		if r.Offset < end[r.Target] || r.Offset+r.Length > len(in) || in[r.Offset:r.Offset+r.Length] != want {
			t.Fatalf("row %q (%s): offset %d, length %d in %q", r.Content, r.Target, r.Offset, r.Length, in)
		}
		end[r.Target] = r.Offset + r.Length
	}
}

// Offsets are right even if pre_send changed the request at random.
func TestLawOffsetsAfterPreSend(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old, replacement := rapid.SampledFrom([]string{"a", "b", "\n", "code", "longer"}).Draw(t, "old"), someText.Draw(t, "new")
		h := host.New(host.Options{Prompt: host.PromptOptions{Render: rapid.SampledFrom([]fragments.Rendering{fragments.Plain, fragments.XML}).Draw(t, "render")}})
		c := drawContext(t, "context")
		for i := range c.Fragments {
			c.Fragments[i].Target = rapid.SampledFrom([]fragments.Target{fragments.Prompt, fragments.System}).Draw(t, "target")
		}
		err := h.Add(plugin("p", hook("turn_start", starhost.Decision{Action: starhost.ActionContext, Context: c}),
			hookFunc("pre_send", func(e *starhost.Event) starhost.Decision {
				list := slices.Clone(e.Messages.Items())
				for i := range list {
					list[i].Content = fragments.NewText(strings.Replace(list[i].Content.String(), old, replacement, 1))
				}
				return starhost.Decision{Action: starhost.ActionModify, Changes: map[string]any{"messages": starhost.NewList(list), "system": strings.Replace(e.System, old, replacement, 1)}}
			})))
		if err != nil {
			t.Fatal(err)
		}
		p, err := h.NewSession(host.SessionConfig{}).Prompt(context.Background(),
			host.Request{Text: someText.Draw(t, "words")})
		if err != nil {
			t.Fatal(err)
		}
		checkOffsets(t, p)
	})
}

// The order in which loaders finish never changes a byte.
func TestLawLoaderOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const n = 5
		contexts := make([]starhost.Context, n)
		var r host.Request
		for i := range contexts {
			contexts[i] = drawContext(t, "loader")
			r.Fragments = append(r.Fragments, fmt.Sprintf("ref:%d", i))
		}
		want := loadInOrder(t, contexts, r, []int{0, 1, 2, 3, 4})
		got := loadInOrder(t, contexts, r, rapid.Permutation([]int{0, 1, 2, 3, 4}).Draw(t, "order"))
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("the order in which loaders end shows (-in order +permuted):\n%s", d)
		}
	})
}

// loadInOrder builds a prompt whose loaders end in the given order. It returns everything that a
// program can see of it.
func loadInOrder(t *rapid.T, contexts []starhost.Context, r host.Request, order []int) []string {
	ended := make([]chan struct{}, len(order))
	for i := range ended {
		ended[i] = make(chan struct{})
	}
	var seen []string
	h := host.New(host.Options{Workers: len(order), Log: func(l host.LogLine) {
		seen = append(seen, l.Text)
	}})
	err := h.Add(starhost.Plugin{Name: "p", FragmentLoaders: []starhost.FragmentLoader{{Prefix: "ref",
		Load: func(ctx context.Context, arg string) (starhost.Context, error) {
			i := int(arg[0] - '0')
			if at := slices.Index(order, i); at > 0 {
				<-ended[order[at-1]]
			}
			defer close(ended[i])
			lane := host.LaneOf(ctx)
			lane.Logs = append(lane.Logs, host.LogLine{Text: arg + " in lane " + lane.Path()})
			return contexts[i], nil
		}}}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := h.NewSession(host.SessionConfig{}).Prompt(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	seen = append(seen, p.Rendering())
	for _, row := range p.Fragments {
		seen = append(seen, printRow(row))
	}
	for _, row := range p.Attachments {
		seen = append(seen, fmt.Sprintf("%+v", *row))
	}
	for _, trace := range p.Hooks {
		seen = append(seen, fmt.Sprintf("%+v", trace))
	}
	return seen
}

// A guardSet is a random set of hooks about a tool call. Each hook is a pure function of the
// arguments.
type guardSet struct {
	plugins []starhost.Plugin
	forbids []string // at least one guard denies these values
}

func drawGuards(t *rapid.T) guardSet {
	var set guardSet
	value := rapid.SampledFrom([]string{"a", "b", "c", "d"})
	for i := range rapid.IntRange(1, 5).Draw(t, "plugins") {
		p := starhost.Plugin{Name: fmt.Sprintf("p%d", i)}
		for range rapid.IntRange(1, 2).Draw(t, "hooks") {
			from, to := value.Draw(t, "from"), value.Draw(t, "to")
			decision := rapid.SampledFrom([]starhost.Decision{deny, askFor, abort, args(`{"text":"` + to + `"}`), args(`{"txt":"` + to + `"}`), respond(to), approve, {}}).Draw(t, "decision")
			if decision.Action == starhost.ActionDeny {
				set.forbids = append(set.forbids, from)
			}
			h := refusingHook(`"`+from+`"`, decision)
			h.Priority = rapid.IntRange(-1, 1).Draw(t, "priority")
			p.Hooks = append(p.Hooks, h)
		}
		if rapid.Bool().Draw(t, "granted") {
			p.RespondsTo = []string{"*"}
		}
		set.plugins = append(set.plugins, p)
	}
	return set
}

// The outcome of a call does not depend on the order of Host.Add, and no tool runs with arguments
// that a guard denies.
func TestLawGuards(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := drawGuards(t)
		want, ran := callUnder(t, set.plugins)
		if slices.Contains(set.forbids, ran) {
			t.Fatalf("the tool ran with %q, which a guard denies", ran)
		}
		if got, _ := callUnder(t, rapid.Permutation(set.plugins).Draw(t, "order of Add")); got != want {
			t.Fatalf("the order of Add shows:\n%s\n%s", want, got)
		}
	})
}

// callUnder calls a tool under hooks. It returns everything that a program can see, and the text
// that the tool ran with, or "".
func callUnder(t *rapid.T, plugins []starhost.Plugin) (seen, ran string) {
	p := echo()
	p.Tools[0].Call = func(_ context.Context, c starhost.ToolCall) (starhost.Result, error) {
		var a struct{ Text string }
		err := json.Unmarshal(c.Arguments, &a)
		ran = a.Text
		return starhost.Result{ForLLM: "ran"}, err
	}
	yes := func(context.Context, host.ApprovalRequest) (host.Answer, error) {
		return host.Answer{Yes: true}, nil
	}
	h := host.New(host.Options{Approver: yes})
	if err := h.Add(append([]starhost.Plugin{p}, plugins...)...); err != nil {
		t.Fatal(err)
	}
	turn, err := h.NewSession(host.SessionConfig{}).Begin(context.Background(), host.Request{})
	if err != nil {
		t.Fatal(err)
	}
	defer turn.End(context.Background())
	reply, err := turn.CallTool(context.Background(), starhost.ToolCall{Name: "echo", Arguments: json.RawMessage(`{"text":"a"}`)})
	return fmt.Sprintf("%+v %s %v\n%v\n%+v", reply.Result, reply.Call.Arguments, reply.Denied, err, turn.Hooks()), ran
}

// Checking ends without a panic for any schema and any arguments, and the tools that Add accepts
// can be called.
func FuzzSchema(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, `{"a":1}`)
	f.Add(`{"type":"object","properties":{"a":{"$ref":"#/properties/a"}}}`, `{"a":1}`)
	f.Add(`{"type":"object","$defs":{"d":{"anyOf":[{"$ref":"#/$defs/e"},{"type":"null"}]},"e":{"enum":[1]}},"patternProperties":{"^x":{"$ref":"#/$defs/d"}}}`, `{"x":null}`)
	f.Add(`{"type":"object","additionalProperties":false,"allOf":[{"$Ref":"#/allOf/0"}]}`, `[]`)
	f.Fuzz(func(t *testing.T, schema, arguments string) {
		p := echo()
		p.Tools[0].Parameters = json.RawMessage(schema)
		h := host.New(host.Options{})
		if h.Add(p) != nil {
			return
		}
		turn, err := h.NewSession(host.SessionConfig{}).Begin(context.Background(), host.Request{})
		if err != nil {
			t.Fatal(err)
		}
		defer turn.End(context.Background())
		if _, err := turn.CallTool(context.Background(),
			starhost.ToolCall{Name: "echo", Arguments: json.RawMessage(arguments)}); err != nil {
			t.Errorf("CallTool: %v", err)
		}
	})
}
