package effects_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/internal/errtext"
)

// message returns an error's text, "" for none.
func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// code returns an error's code, "" for none.
func code(err error) string {
	c, ok := err.(interface{ Code() string })
	if !ok {
		return ""
	}
	return c.Code()
}

func TestParsePermission(t *testing.T) {
	tests := []struct{ text, want string }{
		{"fs.read:runbooks/**", "fs.read:runbooks/**"},
		{"fs.read:./a//b/{c,d/e}/*.md", "fs.read:a/b/{c,d/e}/*.md"},
		{"fs.read:.", "fs.read:."},
		{"fs.write:out/*.json", "fs.write:out/*.json"},
		{"http:pager.internal", "http:pager.internal"},
		{"http:POST,get,POST Pager.Internal:8080/v1/*", "http:GET,POST pager.internal:8080/v1/*"},
		{"http:https://pager.internal/", "http:pager.internal/"},
		{"http:http://10.0.*:080", "http:http://10.0.*:80"},
		{"http:[::0001]:443/x", "http:[::1]:443/x"},
		{"http:[::1]", "http:[::1]"},
		{"exec:kubectl  get **", "exec:kubectl get **"},
		{"exec:git log * -p", "exec:git log * -p"},
		{"env:PAGER_*", "env:PAGER_*"},
		{"secret:TOKEN", "secret:TOKEN"},
		{"secret:TOKEN@Pager.Internal", "secret:TOKEN@pager.internal"},
		{"store", "store"},
		{"tool:restart_*", "tool:restart_*"},
		{"fragment:runbook", "fragment:runbook"},
		{"override:page", "override:page"},
		{"respond:*", "respond:*"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			p, err := effects.ParsePermission(tt.text)
			if err != nil || p.String() != tt.want {
				t.Errorf("ParsePermission(%q): got %q, %v, want %q", tt.text, p, err, tt.want)
			}
		})
	}
}

func TestParsePermissionErrors(t *testing.T) {
	const path = "want one relative to the folder, with / between names and without .., NUL and backslash"
	tests := []struct{ text, want string }{
		{"", `unknown kind "", want one of env, event, exec, fragment, fs.read, fs.write, http, override, respond, secret, store, tool`},
		{"fs.raed:x", `unknown kind "fs.raed" (did you mean fs.read?)`},
		{"fs.read", `want fs.read:GLOB`},
		{"http:", `want http:[METHODS ]HOST[:PORT][/PATH*]`},
		{"store:x", `want store alone`},
		{"fs.read:../x", `path: got "../x", ` + path},
		{"fs.read:a/../../x", `path: got "a/../../x", ` + path},
		{"fs.read:/etc/*", `path: got "/etc/*", ` + path},
		{"fs.read:{..,a}/x", `path: got "../x", ` + path},
		{`fs.read:a\b`, `path: got "a\\b", ` + path},
		{"fs.read:a\x00", `path: got "a\x00", ` + path},
		{"fs.read:docs/", `want docs/** for all files of the folder`},
		{"fs.read:[a", `pattern: got "[a", want a glob as *.md or **/*.md, with brackets closed`},
		{"fs.read:{a,b", `pattern: got "{a,b", want each { closed by a }`},
		{"fs.read:a}", `pattern: got "a}", want each { closed by a }`},
		{"fs.read:" + strings.Repeat("{a,b}", 7), `pattern: got more than 64 alternatives`},
		{"fs.read:" + strings.Repeat("a/", 62) + "b", `pattern: got 63 names between /, want at most 62`},
		{"fs.read:" + strings.Repeat("a", 1025), `pattern: got 1025 bytes, want at most 1024`},
		{"http:G3T host", `got methods "G3T", want names as GET,POST`},
		{"http:GET", ""}, // GET can also be the name of a host
		{"http:host:0", `got port "0", want 1 to 65535`},
		{"http:host:x/", `got port "x", want 1 to 65535`},
		{"http:user@host", `got host "user@host", want a name as pager.internal or *.internal, or an address as 10.0.0.1 or [::1]`},
		{"http:[1.2.3.4]", `got host "[1.2.3.4]", want a name as pager.internal or *.internal, or an address as 10.0.0.1 or [::1]`},
		{"http:host/../x", `got path "/../x", want one without .., ? and #, with * at its end only`},
		{"http:host/*/x", `got path "/*/x", want one without .., ? and #, with * at its end only`},
		{"http:host/?q=1", `got path "/?q=1", want one without .., ? and #, with * at its end only`},
		{"exec: ", `want a program`},
		{"exec:* x", `got "*" as argument 0, want the program spelled, then words, * for one argument, and ** at the end for the rest`},
		{"exec:a ** b", `got "**" as argument 1, want the program spelled, then words, * for one argument, and ** at the end for the rest`},
		{"exec:a --x=*", `got "--x=*" as argument 1, want the program spelled, then words, * for one argument, and ** at the end for the rest`},
		{"exec:a b\x1b", `got a control character in "b\x1b"`},
		{"env:A-B", `got name "A-B", want a variable's name of A-Z a-z 0-9 _, with * and ? as wildcards`},
		{"secret:@host", `got name "", want a variable's name of A-Z a-z 0-9 _, with * and ? as wildcards`},
		{"secret:A@", `got host "", want a name as pager.internal or *.internal, or an address as 10.0.0.1 or [::1]`},
		{"tool:a b", `got name "a b", want a name of A-Z a-z 0-9 _ -, with * and ? as wildcards`},
		{"fragment:Run", `got name "Run", want a prefix of a-z 0-9 _ -, with * and ? as wildcards`},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			_, err := effects.ParsePermission(tt.text)
			want, wantCode := "", ""
			if tt.want != "" {
				want, wantCode = fmt.Sprintf("permission %s: %s", errtext.Quote(tt.text), tt.want), "E0502"
			}
			if diff := cmp.Diff(want, message(err)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if got := code(err); got != wantCode {
				t.Errorf("code: got %q, want %q", got, wantCode)
			}
		})
	}
}

// permissionText draws texts that are permissions, or that are similar to permissions.
func permissionText() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		kind := rapid.SampledFrom([]string{"fs.read", "fs.write", "http", "exec", "env", "secret", "store", "tool", "fragment", "override", "respond", "x"}).Draw(t, "kind")
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{
			"a", "B", "/", "//", ".", "..", "*", "**", "?", "{", "}", ",", "[", "]", "[::1]", ":", ":80", " ", "@", "GET ", "http://", "https://", "-", "_", "é", "\n", `\`,
		}), 0, 8).Draw(t, "parts")
		return kind + ":" + strings.Join(parts, "")
	})
}

// checkRoundTrip checks the law that ParsePermission reads the text of String as the same
// permission.
func checkRoundTrip(t interface{ Errorf(string, ...any) }, text string) {
	p, err := effects.ParsePermission(text)
	if err != nil {
		return
	}
	if again, err := effects.ParsePermission(p.String()); err != nil || again != p {
		t.Errorf("ParsePermission(%q): got %+v, then %+v, %v", text, p, again, err)
	}
}

func TestPermissionString(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkRoundTrip(t, permissionText().Draw(t, "text")) })
}

func FuzzPermissionString(f *testing.F) {
	for _, s := range []string{"fs.read:./a//{b,c}/**", "http:POST,get http://Host:080/x*", "exec:a  * **", "secret:A@[::1]", "store", "fs.read:{a/,b}/c", "fs.read:./{}", "fs.read:./{,a}/b", "fs.read:[a-z]/{x,{y,z}}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) { checkRoundTrip(t, text) })
}

func TestAllows(t *testing.T) {
	tests := []struct {
		grant, arg string
		want       bool
	}{
		{"fs.read:runbooks/**", "runbooks/a/b.md", true},
		{"fs.read:runbooks/**", "runbooks", true},
		{"fs.read:runbooks/**", "Runbooks/a.md", false},
		{"fs.read:runbooks/**", "runbooks2/a.md", false},
		{"fs.read:runbooks/**", "runbooks/../x", false},
		{"fs.read:runbooks/**", "runbooks//a", false},
		{"fs.read:**", "a/b", true},
		{"fs.read:**", "/a", false},
		{"fs.read:**", ".", true},
		{"fs.read:.", ".", true},
		{"fs.read:.", "a", false},
		{"fs.read:**", "a/.env", false},
		{"fs.read:**", ".git/config", false},
		{"fs.read:**/.env", "a/.env", true},
		{"fs.read:.*/**", ".git/config", true},
		{"fs.read:*/[.]env", "a/.env", false},
		{"fs.read:*.md", "a/b.md", false},
		{"fs.read:**/**/*.md", "b.md", true},
		{"fs.read:a/**/b/**/c", "a/b/x/b/c", true},
		{"fs.read:a/**/b/**/c", "a/x/c", false},
		{"fs.read:{a,b/{c,d}}/x", "b/d/x", true},
		{"fs.read:{a,b/{c,d}}/x", "b/x", false},
		{"fs.read:{,a}b", "b", true},
		{"fs.read:[{]x", "{x", true},
		{"fs.read:**", "", false},
		{"fs.write:**", "a", false},
		{"env:PAGER_*", "PAGER_URL", true},
		{"env:PAGER_*", "HOME", false},
		{"store", "", true},
		{"tool:restart_?", "restart_x", true},
		{"respond:*", "page", true},
		{"override:page", "page", true},
		{"fragment:run*", "runbook", true},
		{"http:*", "host", false},
		{"exec:ls", "ls", false},
		{"secret:A", "A", false},
	}
	for _, tt := range tests {
		t.Run(tt.grant+" "+tt.arg, func(t *testing.T) {
			g, err := effects.ParseGrants([]string{"env:OTHER", tt.grant})
			if err != nil {
				t.Fatal(err)
			}
			kind := g[1].Kind
			if kind == "fs.write" {
				kind = "fs.read" // a kind allows nothing of another kind
			}
			if got := g.Allows(kind, tt.arg); got != tt.want {
				t.Errorf("Allows(%q, %q): got %v, want %v", kind, tt.arg, got, tt.want)
			}
		})
	}
}

func TestAllowsNothing(t *testing.T) {
	for _, g := range []effects.Grants{nil, {{}}, {{Kind: "fs.read", Pattern: "{"}}, {{Kind: "nonsense", Pattern: "*"}}, {{Kind: "env", Pattern: "["}}} {
		for _, kind := range []string{"", "fs.read", "nonsense", "env"} {
			if g.Allows(kind, "a") {
				t.Errorf("%v.Allows(%q): got true, want false", g, kind)
			}
		}
	}
}

func TestParseGrants(t *testing.T) {
	got, err := effects.ParseGrants([]string{"store", "env:A"})
	if diff := cmp.Diff(effects.Grants{{Kind: "store"}, {Kind: "env", Pattern: "A"}}, got); diff != "" || err != nil {
		t.Errorf("ParseGrants (-want +got), %v:\n%s", err, diff)
	}
	_, err = effects.ParseGrants([]string{"store", "stor"})
	if diff := cmp.Diff(`permission "stor": unknown kind "stor" (did you mean store?)`, message(err)); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}

func TestPermissionError(t *testing.T) {
	const (
		declare = `add "fs.read:a.md" to plugin(permissions = [...])`
		grant   = `add to [grants] of your config: oncall = ["fs.read:a.md"] (or --grant oncall=fs.read:a.md)`
	)
	tests := []struct {
		declared, granted bool
		want              string
	}{
		{false, false, declare + "; " + grant},
		{true, false, grant},
		{false, true, declare},
	}
	for _, tt := range tests {
		err := &effects.PermissionError{Plugin: "oncall", Permission: "fs.read:a.md", Declared: tt.declared, Granted: tt.granted}
		if diff := cmp.Diff("plugin oncall has no permission fs.read:a.md: "+tt.want, err.Error()); diff != "" {
			t.Errorf("error (-want +got):\n%s", diff)
		}
		if err.Code() != "E0501" {
			t.Errorf("code: got %q, want E0501", err.Code())
		}
	}
}

// TestPermissionErrorGrants checks that the error suggests a grant of the declared permission if that is
// wider than the needed one.
func TestPermissionErrorGrants(t *testing.T) {
	w := &effects.World{
		Plugin: "p", Declared: grants(t, "env:A*", "env:*", "tool:page_*", "exec:kubectl get **", "secret:T*@*.internal", "http:GET,POST *.internal"),
	}
	ctx := t.Context()
	_, _, env := w.GetEnv(ctx, "APP")
	_, tool := w.CallTool(ctx, nil, "page_all", nil)
	_, run := w.Run(ctx, effects.Command{Argv: []string{"kubectl", "get", "pods", "-o", "json"}})
	for err, want := range map[error]string{env: "env:A*", tool: "tool:page_*", run: "exec:kubectl get **"} {
		var refused *effects.PermissionError
		line := fmt.Sprintf(`: add to [grants] of your config: p = [%q, `, want)
		if !errors.As(err, &refused) || refused.Grant != want || !strings.Contains(err.Error(), line) {
			t.Errorf("got %v, want to grant %s", err, want)
		}
	}
	want := `plugin p has no permission env:APP: add to [grants] of your config: p = ["env:A*", "env:*", "tool:page_*", "exec:kubectl get **", ` +
		`"secret:T*@*.internal", "http:GET,POST *.internal"] (or --grant 'p=env:A*' --grant 'p=env:*' --grant 'p=tool:page_*' ` +
		`--grant 'p=exec:kubectl get **' --grant 'p=secret:T*@*.internal' --grant 'p=http:GET,POST *.internal')`
	if diff := cmp.Diff(want, message(env)); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}

// TestPermissionErrorOfOthers checks that the error lists only what is lacking, and says why an existing
// grant does not count.
func TestPermissionErrorOfOthers(t *testing.T) {
	w := &effects.World{
		Plugin: "p", Declared: grants(t, "env:A", "env:B", "http:*.internal", "store"), Granted: grants(t, "http:pager.internal"),
		Ignored: map[string]effects.Grants{"no": grants(t, "env:C"), "x.toml:3 grants it, which does not count: y": grants(t, "env:*")},
	}
	_, _, err := w.GetEnv(t.Context(), "B")
	want := `plugin p has no permission env:B: x.toml:3 grants it, which does not count: y; else add to the list p in [grants] of your config: ` +
		`"env:B", "env:A", "store" (or --grant p=env:B --grant p=env:A --grant p=store)`
	if diff := cmp.Diff(want, message(err)); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}

// TestPermissionErrorOfPath checks that the error proposes the path of a request if the plugin or the
// operator names paths of the host.
func TestPermissionErrorOfPath(t *testing.T) {
	for _, tt := range []struct{ declared, granted, want string }{
		{"http:a.test/ok/*", "env:A", "http:a.test/no"}, {"env:A", "http:a.test/ok/*", "http:a.test/no"},
		{"http:b.test/ok/*", "http:b.test/ok/*", "http:a.test"}, {"env:A", "env:A", "http:a.test"},
	} {
		w := &effects.World{Plugin: "p", Declared: grants(t, tt.declared), Granted: grants(t, tt.granted)}
		_, err := w.Fetch(t.Context(), effects.Request{Method: "GET", URL: "https://a.test/no"})
		var refused *effects.PermissionError
		if !errors.As(err, &refused) || refused.Permission != tt.want {
			t.Errorf("%s, %s: got %v, want %s", tt.declared, tt.granted, err, tt.want)
		}
	}
}

func TestCodes(t *testing.T) {
	for i, c := range effects.Codes() {
		if want := fmt.Sprintf("E05%02d", i+1); c.Code != want {
			t.Errorf("code %d: got %q, want %q", i, c.Code, want)
		}
		if c.Title == "" || c.Text == "" || c.Bad == "" || c.Good == "" {
			t.Errorf("%s: got an empty field in %+v", c.Code, c)
		}
	}
}
