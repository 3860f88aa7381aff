package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
)

func TestTemplateFill(t *testing.T) {
	type params = map[string]string
	tests := []struct {
		name                     string
		template                 starhost.Template
		input                    string
		params                   params
		prompt, system, wantFail string
	}{
		{"nothing", starhost.Template{}, "hi", nil, "hi", "", ""},
		{"a system text alone", starhost.Template{System: "Speak $lang."}, "hi", params{"lang": "Latin"}, "hi", "Speak Latin.", ""},
		{"the words go behind", starhost.Template{Prompt: "Review this:"}, "x = 1", nil, "Review this:\nx = 1", "", ""},
		{"no words", starhost.Template{Prompt: "Say hello."}, "", nil, "Say hello.", "", ""},
		{"the words where they are named", starhost.Template{Prompt: "<$input> ${input}s"}, "cat", nil, "<cat> cats", "", ""},
		{"words are not substituted again", starhost.Template{Prompt: "$input"}, "$a $$", nil, "$a $$", "", ""},
		{"a dollar", starhost.Template{Prompt: "It costs $$5, $who."}, "", params{"who": "Ada"}, "It costs $5, Ada.", "", ""},
		{"defaults", starhost.Template{Prompt: "$a $b", Defaults: params{"a": "1", "b": "2"}}, "", params{"b": "3"}, "1 3", "", ""},
		{"an empty value is a value", starhost.Template{Prompt: "[$a]"}, "", params{"a": ""}, "[]", "", ""},
		{"names end where they end", starhost.Template{Prompt: "$a_1-$a.b ${a}b"}, "", params{"a_1": "x", "a": "y"}, "x-y.b yb", "", ""},
		{"all that is missing", starhost.Template{Prompt: "$b $a", System: "${c} $a"}, "", nil, "", "", "missing parameters: a, b, c"},
		{"a misspelt parameter", starhost.Template{Prompt: "$service"}, "", params{"sevice": "x"}, "", "", `missing parameters: service; unknown parameter "sevice" (did you mean service?)`},
		{"an unknown parameter", starhost.Template{Prompt: "hi"}, "", params{"x": "x"}, "", "", `unknown parameter "x"`},
		{"the input is no parameter", starhost.Template{Prompt: "$input"}, "", params{"input": "x"}, "", "", `unknown parameter "input"`},
		{"a price", starhost.Template{Prompt: "one\nfor $5"}, "", nil, "", "", `line 2: got "$5", want $name or ${name}, or $$ for a dollar`},
		{"a brace that stays open", starhost.Template{System: "${a b}"}, "", nil, "", "", `line 1: got "${a b}", want $name or ${name}, or $$ for a dollar`},
		{"a dollar at the end", starhost.Template{Prompt: "a $"}, "", nil, "", "", `line 1: got "$", want $name or ${name}, or $$ for a dollar`},
		{"a long line is cut", starhost.Template{Prompt: "$1" + strings.Repeat("é", 30)}, "", nil, "", "", `line 1: got "$1ééééééééé…", want $name or ${name}, or $$ for a dollar`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			prompt, system, err := tt.template.Fill(tt.input, tt.params)
			if err != nil || tt.wantFail != "" {
				if err == nil || err.Error() != tt.wantFail {
					t.Errorf("Fill: got error %v, want %q", err, tt.wantFail)
				}
				return
			}
			diff(t, "prompt and system", []string{tt.prompt, tt.system}, []string{prompt, system})
		})
	}
}

// TestLawTemplateFill checks that a text in which each dollar is doubled renders as the text, and that a text
// of names renders as their values.
func TestLawTemplateFill(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune("ab$_{} \né1"))).Draw(t, "text")
		tm := starhost.Template{Prompt: strings.ReplaceAll(text, "$", "$$") + "${a}"}
		prompt, _, err := tm.Fill("", map[string]string{"a": text})
		if err != nil || prompt != text+text {
			t.Fatalf("Fill(%q): got %q, %v", tm.Prompt, prompt, err)
		}
	})
}

// templates returns a plugin whose template loader "review" returns tm.
func templates(name string, tm starhost.Template) starhost.Plugin {
	return starhost.Plugin{Name: name, TemplateLoaders: []starhost.TemplateLoader{{
		Prefix: "review", Description: "By kind.", Pos: at(name+".star", 5),
		Load: func(_ context.Context, arg string) (starhost.Template, error) {
			if arg == "fail" {
				return starhost.Template{}, errors.New("no such kind")
			}
			return tm, nil
		},
	}}}
}

// TestTemplateInATurn checks that values of the request replace values of the template.
func TestTemplateInATurn(t *testing.T) {
	tm := starhost.Template{
		Prompt: "Review for $what: $input", System: "Be $how.", Model: "big",
		Fragments: []string{"own:a"}, SystemFragments: []string{"own:b"},
		Attachments: []fragments.Attachment{{Content: "png", Name: "x.png"}},
		Tools:       []string{"e*"}, Options: json.RawMessage(`{"t":0,"n":1}`), Defaults: map[string]string{"how": "brief"},
	}
	p := templates("tmpl", tm)
	p.FragmentLoaders = []starhost.FragmentLoader{loader("own", func(arg string) (starhost.Context, error) {
		return texts("own " + arg), nil
	})}
	other := echo()
	other.Name, other.Tools[0].Name, other.Tools[0].Pos = "other", "page", at("other.star", 1)
	var seen []string
	watch := plugin("watch", hookFunc("session_start", func(e *starhost.Event) starhost.Decision {
		seen = append(seen, e.Model)
		return starhost.Decision{}
	}), hookFunc("turn_start", func(e *starhost.Event) starhost.Decision {
		seen = append(seen, e.UserMessage)
		return starhost.Decision{}
	}))
	h := newHost(t, host.Options{}, p, echo(), other, watch)

	tests := []struct {
		name    string
		request host.Request
		system  string
		model   string
		options string
		tools   []string
	}{
		{"the template alone", host.Request{}, "own b\n\nBe brief.", "big", `{"t":0,"n":1}`, []string{"echo"}},
		{"the request wins", host.Request{System: "Mine.", Model: "small", Options: json.RawMessage(`{"n":2}`), OnlyTools: []string{"p*"}}, "own b\n\nMine.", "small", `{"n":2,"t":0}`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			seen = nil
			r := tt.request
			r.Text, r.Template, r.Params = "x = 1", "review:code", map[string]string{"what": "bugs"}
			turn := begin(t, h, r)
			got := prompt(t, turn)
			diff(t, "text", "own a\nReview for bugs: x = 1", got.Text.String())
			diff(t, "what hooks saw", []string{tt.model, "Review for bugs: x = 1"}, seen)
			diff(t, "system, model, options", []string{tt.system, tt.model, tt.options}, []string{got.System, got.Model, string(got.Options)})
			var tools []string
			for _, tool := range got.Tools {
				tools = append(tools, tool.Name)
			}
			diff(t, "tools", tt.tools, tools)
			if a := got.Attachments; len(a) != 1 || a[0].Plugin != "tmpl" || a[0].Pinned {
				t.Errorf("attachments: got %+v, want the template's", a)
			}
			for _, row := range got.Fragments {
				if row.Pinned || row.Plugin != "tmpl" {
					t.Errorf("fragment %q: got plugin %q, pinned %v, want the template's", row.Content, row.Plugin, row.Pinned)
				}
			}
		})
	}
	if tr := begin(t, h, host.Request{Template: "review", Params: map[string]string{"what": ""}}).Hooks()[0]; tr.Event != "template" || tr.Plugin != "tmpl" || tr.Detail != "review" {
		t.Errorf("trace: got %+v, want the template loader's call", tr)
	}
	diff(t, "template loaders", []host.LoaderInfo{{Prefix: "review", Plugin: "tmpl", Description: "By kind.", Pos: at("tmpl.star", 5)}}, h.TemplateLoaders())
}

// TestTemplateReferences checks that a template loads its references with the permissions of its plugin and
// not with those of the user who named the template.
func TestTemplateReferences(t *testing.T) {
	secret := starhost.Plugin{Name: "secret", FragmentLoaders: []starhost.FragmentLoader{loader("vault", func(arg string) (starhost.Context, error) { return texts("vault " + arg), nil })}}
	via := func(ctx context.Context, ref string) (starhost.Context, error) {
		turn := host.TurnOf(ctx)
		if lane := host.LaneOf(ctx); lane.Plugin != "tmpl" || !lane.ReadOnly {
			return starhost.Context{}, errors.New("not in a lane of the plugin that only reads")
		}
		if !strings.HasPrefix(ref, "vault:") {
			return texts("from " + ref), nil
		}
		got, err := turn.Load(ctx, []string{ref})
		if err != nil {
			return starhost.Context{}, err
		}
		return got[0], nil
	}
	tests := []struct {
		name, ref string
		resolve   func(context.Context, string) (starhost.Context, error)
		want      string // the prompt's text or the error
		plugin    string // the plugin of the fragment
	}{
		{"another plugin's", "vault:x", nil, `template: plugin tmpl may not load "vault:x": the operator must grant "fragment:vault"`, ""},
		{"one that nobody knows", "volt:x", nil, `unknown fragment reference "volt:x" (did you mean vault:x?)`, ""},
		{"another plugin's, with the right", "vault:x", via, "vault x", "secret"},
		{"what the right itself gives", "notes.md", via, "from notes.md", "tmpl"},
		{"the right refuses", "vault:x", func(context.Context, string) (starhost.Context, error) {
			return starhost.Context{}, errors.New("not granted")
		}, "not granted", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := templates("tmpl", starhost.Template{Fragments: []string{tt.ref}})
			p.Resolve = tt.resolve
			turn := begin(t, newHost(t, host.Options{}, p, secret), host.Request{Template: "review:x"})
			got, err := turn.Prompt(context.Background())
			if err != nil {
				var ref *host.RefError
				if !errors.As(err, &ref) || ref.Ref != tt.ref {
					t.Errorf("error: got %#v, want a *RefError of %s", err, tt.ref)
				}
				diff(t, "error", tt.want, err.Error())
				return
			}
			diff(t, "text", tt.want, got.Text.String())
			diff(t, "plugin", tt.plugin, got.Fragments[0].Plugin)
		})
	}
}

func TestTemplateErrors(t *testing.T) {
	tests := []struct {
		name     string
		template starhost.Template
		request  host.Request
		want     string
	}{
		{"unknown", starhost.Template{}, host.Request{Template: "reviw:x"}, `unknown template "reviw:x" (did you mean review:x?)`},
		{"unknown, not near", starhost.Template{}, host.Request{Template: "zz"}, `unknown template "zz": no template loader has its prefix; prefixes: review:`},
		{"failing", starhost.Template{}, host.Request{Template: "review:fail"}, "no such kind"},
		{"parameters without a template", starhost.Template{}, host.Request{Params: map[string]string{"b": "", "a": ""}}, "got parameters a, b, but no template"},
		{"missing parameters", starhost.Template{Prompt: "$x"}, host.Request{Template: "review:x"}, `template "review:x": missing parameters: x`},
		{"bad tools", starhost.Template{Tools: []string{"["}}, host.Request{Template: "review:x"}, `template: tools: "[": syntax error in pattern`},
		{"bad options", starhost.Template{Options: json.RawMessage("[]")}, host.Request{Template: "review:x"}, "template: options: got [], want an object"},
		{"too much", starhost.Template{Fragments: make([]string, 10_001)}, host.Request{Template: "review:x"}, "template: 10001 fragments and attachments, limit 10000"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var fired []string
			watch := plugin("watch", hookFunc("error", func(e *starhost.Event) starhost.Decision {
				fired = append(fired, e.Plugin+" "+e.Handler)
				return starhost.Decision{}
			}), hookFunc("turn_end", func(*starhost.Event) starhost.Decision {
				fired = append(fired, "turn_end")
				return starhost.Decision{}
			}))
			s := newHost(t, host.Options{}, templates("tmpl", tt.template), watch).NewSession(host.SessionConfig{})
			_, err := s.Begin(context.Background(), tt.request)
			if err == nil {
				t.Fatal("Begin: got no error")
			}
			diff(t, "error", tt.want, err.Error())
			failed := errors.As(err, new(*host.HandlerError))
			if want := slices.Repeat([]string{"tmpl template loader review"}, map[bool]int{true: 1}[failed]); !slices.Equal(want, fired) {
				t.Errorf("events: got %v, want %v: the turn had not begun", fired, want)
			}
			ask(t, s, host.Request{}) // the session goes on
		})
	}
}

// With a value for every name, any valid template can be filled, and its text contains only values
// that it names.
func FuzzTemplateFill(f *testing.F) {
	f.Add("Review $input for ${what}, $$5")
	f.Add("${")
	f.Fuzz(func(t *testing.T, text string) {
		tm := starhost.Template{Prompt: text}
		names, err := tm.Names()
		params := map[string]string{}
		for _, n := range names {
			params[n] = "\x00"
		}
		prompt, _, fillErr := tm.Fill("", params)
		if (err != nil) != (fillErr != nil) {
			t.Fatalf("%q: Names says %v, Fill %v", text, err, fillErr)
		}
		if err == nil && len(names) == 0 && strings.Count(prompt, "\x00") > strings.Count(text, "\x00") {
			t.Errorf("%q: got %q", text, prompt)
		}
	})
}
