package loader_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/starlark"
)

// TestLoadNeedsRequiredPlugins: a program that ignores the set does not run without a required
// guard.
func TestLoadNeedsRequiredPlugins(t *testing.T) {
	const config = "-- config.toml --\n[plugins]\npaths = [\"p\"]\nrequired = [\"freeze\"]\n"
	tests := []struct{ name, files, want string }{
		{"loaded", "-- p/freeze.star --\n", ""},
		{"broken", "-- p/freeze.star --\nregister_hook(\n", "config.toml:3: required plugin freeze is not loaded"},
		{"unavailable", "-- p/freeze.star --\nplugin(requires_env = [\"NEVER\"])\n", "config.toml:3: required plugin freeze is not loaded"},
		{"not there", "-- p/freezer.star --\n", "config.toml:3: required plugin freeze is not loaded (did you mean freezer?)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := tree(t, config+tt.files)
			c, _, err := loader.LoadConfig(loader.ConfigOptions{Dir: dir, File: "config.toml"})
			if err != nil {
				t.Fatal(err)
			}
			set, err := loader.Load(t.Context(), loader.Options{Config: c, Dir: dir})
			if set == nil || fmt.Sprint(err) != strings.TrimSpace(tt.want) && (err != nil || tt.want != "") {
				t.Fatalf("got set %v, error %v, want a set and error %q", set, err, tt.want)
			}
			set.Close()
			set, err = loader.Load(t.Context(), loader.Options{Config: c, Dir: dir, AllowMissing: true})
			if err != nil {
				t.Fatalf("AllowMissing: got %v", err)
			}
			set.Close()
			live, err := loader.NewLive(t.Context(), func(ctx context.Context) (*loader.Set, error) {
				return loader.Load(ctx, loader.Options{Config: c, Dir: dir})
			})
			if (err != nil) != (tt.want != "") || (live.Set() == nil) != (tt.want != "") {
				t.Errorf("a live set: got %v, error %v", live.Set(), err)
			}
		})
	}
	dir := tree(t, "-- c.toml --\nplugins.required = [\"freeze\"]\n")
	c, _, err := loader.LoadConfig(loader.ConfigOptions{Dir: dir, File: "c.toml"})
	if err != nil {
		t.Fatal(err)
	}
	set, err := loader.Load(t.Context(), loader.Options{Config: c, Dir: dir})
	if err == nil || err.Error() != "c.toml:1: required plugin freeze is not loaded" || set == nil {
		t.Errorf("no plugins at all: got %v, %v", set, err)
	}
	c.Plugins.Required = nil
	if _, err := loader.Load(t.Context(), loader.Options{Config: c, Dir: dir}); !errors.Is(err, loader.ErrNoPlugins) {
		t.Errorf("no plugins, and none required: got %v", err)
	}
}

// TestLostGuards: the syntax tree of a plugin that is not loaded says whether it may be a guard.
func TestLostGuards(t *testing.T) {
	const hook, broken = `register_hook("pre_tool_call", lambda: None)`, "\nbroken\n"
	const tool = "def page(who):\n    return who\nregister_tool(page)\n"
	tests := []struct {
		name, files, args, want string // want has a line for each guard: name, events, code of the error
	}{
		{"a guard", "-- p/a.star --\n" + hook + broken, "", "a pre_tool_call E0102\n"},
		{"a guard that loads", "-- p/a.star --\n" + hook + "\n", "", ""},
		{"no guard", "-- p/a.star --\nregister_hook(\"turn_end\", lambda: None)" + broken, "", ""},
		{"no hook", "-- p/a.star --\nx = 1" + broken, "", ""},
		{"a hook on prompts", "-- p/a.star --\nregister_hook(\"turn_start\", lambda: None)" + broken, "", ""},
		{"an abort of prompts", "-- p/a.star --\nregister_hook(\"turn_start\", lambda: abort(\"no\"))" + broken, "", "a turn_start E0102\n"},
		{"unavailable, a redaction", "-- p/a.star --\nplugin(requires_env = [\"NEVER\"])\n" +
			"register_hook(\"post_tool_call\", lambda result: modify(result = \"x\"))\n", "", "a post_tool_call E0609\n"},
		{"an event by name", "-- p/a.star --\nregister_hook(handler = print, event = \"approve_tool_call\")" + broken, "", "a approve_tool_call E0102\n"},
		{"an event in a function", "-- p/a.star --\ndef f():\n    if True:\n        " + hook + "\nf()" + broken, "", "a pre_tool_call E0102\n"},
		{"an event that is computed", "-- p/a.star --\n[register_hook(e, print) for e in [\"turn\" + \"_end\"]]" + broken, "", "a  E0102\n"},
		{"another name for register_hook", "-- p/a.star --\non = register_hook\non(\"pre_tool_call\", print)" + broken, "", "a  E0102\n"},
		{"an unknown event", "-- p/a.star --\nregister_hook(\"pre_tol_call\", print)\n", "", "a pre_tol_call E0306\n"},
		{"no syntax tree", "-- p/a.star --\nregister_hook(\n", "", "a  E0101\n"},
		{"no text", "-- p/a.star --\n\x00\n", "", "a  E0104\n"},
		{"a bad manifest", "-- p/a.star --\nplugin(api = 9)\n" + hook + "\n", "", "a pre_tool_call E0302\n"},
		{"unavailable", "-- p/a.star --\nplugin(requires_env = [\"NEVER\"])\n" + hook + "\n", "", "a pre_tool_call E0609\n"},
		{"unavailable, no guard", "-- p/a.star --\nplugin(requires_env = [\"NEVER\"])\n", "", ""},
		{"unavailable, as an argument", "-- p/a.star --\nplugin(requires_env = [\"NEVER\"])\n" + hook, "p/a.star", "a pre_tool_call E0609\n"},
		{"unavailable, an event that is computed", "-- p/a.star --\nplugin(requires_env = [\"NEVER\"])\n[register_hook(e, lambda: None) for e in [\"turn\" + \"_end\"]]\n", "", ""},
		{"unavailable, a guard that is computed", "-- p/a.star --\nplugin(requires_env = [\"NEVER\"])\n[register_hook(e, lambda: None) for e in [\"pre_\" + \"tool_call\"]]\n", "", "a pre_tool_call E0609\n"},
		{"unavailable and broken, as an argument", "-- p/a.star --\nplugin(requires_env = [\"NEVER\"])\n" + hook + broken, "p/a.star", "a pre_tool_call E0609\n"},
		{"unavailable, tools only", "-- p/a.star --\nplugin(requires_env = [\"NEVER\"])\n" + tool, "p/a.star", ""},
		{"unavailable, context only", "-- p/a.star --\nplugin(requires_env = [\"NEVER\"])\nregister_hook(\"turn_start\", lambda: None)\n", "", ""},
		{"unavailable, prompts, as an argument", "-- p/a.star --\nplugin(requires_env = [\"NEVER\"])\nregister_hook(\"turn_start\", lambda: None)\n", "p/a.star", "a turn_start E0609\n"},
		{"it requires one that is unavailable, tools only", "-- p/a.star --\nplugin(requires = [\"b\"])\n" + tool +
			"-- p/b.star --\nplugin(requires_env = [\"NEVER\"])\n", "p/a.star p/b.star", ""},
		{"it requires one that is unavailable", "-- p/a.star --\nplugin(requires = [\"b\"])\n" + hook +
			"\n-- p/b.star --\nplugin(requires_env = [\"NEVER\"])\n", "p/a.star p/b.star", "a pre_tool_call E0612\n"},
		{"it requires another one", "-- p/a.star --\nplugin(requires = [\"b\"])\n" + hook + "\n", "", "a pre_tool_call E0612\n"},
		{"a conflict", "-- p/a.star --\nregister_fragment_loader(\"one\", print)\n-- p/b.star --\nregister_fragment_loader(\"one\", print)\n" + hook + "\n", "",
			"b pre_tool_call E0307\n"},
		{"in a file that it loads", "-- p/a/plugin.star --\nload(\"lib.star\", \"install\")\ninstall()" + broken +
			"-- p/a/lib.star --\nload(\"deep.star\", \"more\")\ndef install():\n    " + hook + "\n-- p/a/deep.star --\ndef more():\n    register_hook(\"turn_start\", print)\n",
			"", "a pre_tool_call turn_start E0102\n"},
		{"a file that it loads is missing", "-- p/a/plugin.star --\nload(\"lib.star\", \"install\")\n", "", "a  E0607\n"},
		{"an argument without hooks", "-- p/a.star --\n" + tool + broken, "p/a.star", ""},
		{"an argument with a hook on prompts", "-- p/a.star --\nregister_hook(\"turn_start\", lambda: None)" + broken, "p/a.star", "a turn_start E0102\n"},
		{"an argument with a hook on ends", "-- p/a.star --\nregister_hook(\"turn_end\", lambda: None)" + broken, "p/a.star", ""},
		{"an argument that is not there", "-- p/a.star --\n", "p/a.star p/b.star", " E0604\n"},
		{"a path of the config that is not there", "-- config.toml --\nplugins.paths = [\"guards\"]\n", "", " E0604\n"},
		{"a folder that is full of other things, as an argument", "-- q/webpack.js --\n", "q", " E0604\n"},
		{"a folder that is full of other things", "-- plugins/webpack.js --\n", "", ""},
		{"a bad name", "-- p/A.star --\nx = 1\n", "", " E0605\n"},
		{"disabled", "-- config.toml --\nplugins.paths = [\"p\"]\nplugins.disabled = [\"a\"]\n-- p/a.star --\n" + hook + broken, "", ""},
		{"mode warn", "-- config.toml --\nplugins.paths = [\"p\"]\nplugin.a.mode = \"warn\"\n-- p/a.star --\n" + hook + broken, "", ""},
		{"mode warn and required", "-- config.toml --\nplugins.paths = [\"p\"]\nplugins.required = [\"a\"]\nplugin.a.mode = \"warn\"\n-- p/a.star --\n" + hook + broken, "",
			"a pre_tool_call E0102\n"},
		{"required and not there", "-- config.toml --\nplugins.paths = [\"p\"]\nplugins.required = [\"b\"]\n-- p/a.star --\n", "", "b  E0609\n"},
		{"required and no guard", "-- config.toml --\nplugins.paths = [\"p\"]\nplugins.required = [\"a\"]\n-- p/a.star --\nx = 1" + broken, "", "a  E0102\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := tree(t, tt.files)
			config := "config.toml"
			if !strings.Contains(tt.files, "-- config.toml --") {
				config = filepath.Join(tree(t, "-- c.toml --\nplugins.paths = [\""+filepath.Join(dir, "p")+"\"]\n"), "c.toml")
			}
			o := loader.ConfigOptions{Dir: dir, File: config, None: strings.Contains(tt.files, "-- plugins/")}
			if o.None {
				o.File = ""
			}
			c, _, err := loader.LoadConfig(o)
			if err != nil {
				t.Fatal(err)
			}
			args := strings.Fields(tt.args)
			set, err := loader.Load(t.Context(), loader.Options{Config: c, Dir: dir, Args: args, AllowMissing: true})
			if err != nil {
				t.Fatal(err)
			}
			defer set.Close()
			var got strings.Builder
			for _, g := range set.Host.LostGuards() {
				fmt.Fprintln(&got, g.Name, strings.Join(g.Events, " "), codeOf(g.Err))
			}
			want := tt.want
			if strings.HasPrefix(want, " ") { // a path
				want = " " + want
			}
			if diff := gocmp.Diff(want, got.String()); diff != "" {
				t.Errorf("lost guards (-want +got):\n%s", diff)
			}
		})
	}
}

// codeOf returns the code that docs explain.
func codeOf(err error) string {
	var located *starlark.Error
	var own *loader.Error
	switch {
	case errors.As(err, &located):
		return located.Code
	case errors.As(err, &own):
		return own.Code()
	}
	return "none"
}
