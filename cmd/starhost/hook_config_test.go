package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

// flagSamples has two values for each kind of flag: the value that the user writes, and the
// value that a second run must get. A relative path becomes absolute.
var flagSamples = map[string][]string{
	"bool": {"true"}, "string": {"it's"}, "stringArray": {"a.b=it's \"x\" $HOME\n", "--c"},
	"size": {"64MiB"}, "span": {"1m"}, "steps": {"5"}, "uint64": {"7"},
}

// TestPrintConfigFlags gives hook every flag that it has, and checks that the printed command
// line has the same values. So a new flag cannot be missing there.
func TestPrintConfigFlags(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	fixed := map[string]string{"log-format": "json", "now": "2026-01-01", "config": "rel.toml", "directory": "."}
	args := []string{"hook", "picoclaw"}
	want := map[string]string{}
	hookFlagsOf(t).VisitAll(func(f *pflag.Flag) {
		values := flagSamples[f.Value.Type()]
		if v := fixed[f.Name]; v != "" {
			values = []string{v}
		}
		switch f.Name {
		case "help", "output": // they change what is printed
			return
		case "print-config":
			args = append(args, "--print-config")
			return
		}
		if values == nil {
			t.Fatalf("--%s: there is no sample of a %s", f.Name, f.Value.Type())
		}
		for _, v := range values {
			args = append(args, "--"+f.Name+"="+v)
		}
	})
	args = append(args, "sub/p.star")
	var out, stderr bytes.Buffer
	if code := run(t.Context(), args, strings.NewReader(""), &out, &stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	var printed struct {
		Hooks struct {
			Processes struct{ Starhost struct{ Command []string } }
		}
	}
	if err := json.Unmarshal(out.Bytes(), &printed); err != nil {
		t.Fatal(err)
	}
	argv := printed.Hooks.Processes.Starhost.Command
	first, again := hookFlagsOf(t), hookFlagsOf(t)
	if err := first.Parse(args); err != nil {
		t.Fatal(err)
	}
	if err := again.Parse(argv[1:]); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	first.Visit(func(f *pflag.Flag) { want[f.Name] = f.Value.String() })
	again.Visit(func(f *pflag.Flag) { got[f.Name] = f.Value.String() })
	delete(want, "print-config")
	want["directory"], want["config"] = dir, filepath.Join(dir, "rel.toml")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("flags (-given +printed):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"hook", "picoclaw", filepath.Join(dir, "sub/p.star")}, again.Args()); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
}

// hookFlagsOf returns all flags of a new hook command, including the program's.
func hookFlagsOf(t *testing.T) *pflag.FlagSet {
	t.Helper()
	cmd, _, err := new(app).rootCommand([]string{"hook"}).Find([]string{"hook"})
	if err != nil {
		t.Fatal(err)
	}
	cmd.Flags().AddFlagSet(cmd.InheritedFlags())
	return cmd.Flags()
}
