package loader_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/loader"
)

// TestShareFiles checks that a config keeps its own libraries beside those of a project.
func TestShareFiles(t *testing.T) {
	dir := tree(t, "-- p/.git/x --\n-- p/starhost.toml --\n[libraries]\nlib = \"lib\"\nmore = \"more\"\n-- q/.git/x --\n")
	project := func(name string) *loader.Config {
		c, _, err := loader.LoadConfig(loader.ConfigOptions{Dir: filepath.Join(dir, name), Getenv: env()})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c, _, err := loader.ParseConfig("case", dir, []byte("[libraries]\nlib = \"own\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	if !c.ShareFiles(project("p")) {
		t.Error("p is no project")
	}
	got := fmt.Sprintln(filepath.Base(c.Libraries["lib"].Real), filepath.Base(c.Libraries["more"].Real))
	if diff := cmp.Diff("own more\n", got); diff != "" {
		t.Errorf("libraries (-want +got):\n%s", diff)
	}
	if c.ShareFiles(project("q")) {
		t.Error("q has no config, and is a project")
	}
}

// TestArgsRoot checks that an argument outside of a root counts as a project's, so that it needs
// trust for what only the user may do.
func TestArgsRoot(t *testing.T) {
	dir := tree(t, "-- root/a.star --\n-- root/sub/b.star --\n-- root2/c.star --\n")
	args := []string{"root/a.star", "root/sub/b.star", "root2/c.star"}
	for root, want := range map[string]string{"root": "c", "": "", "root2": "a b"} {
		o := loader.Options{Dir: dir, Args: args}
		if root != "" {
			o.ArgsRoot = filepath.Join(dir, root)
		}
		set, err := loader.Load(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		var foreign []string
		for _, s := range set.Sources {
			if s.Project {
				foreign = append(foreign, s.Name)
			}
		}
		if diff := cmp.Diff(want, strings.Join(foreign, " ")); diff != "" {
			t.Errorf("root %q: plugins of a project (-want +got):\n%s", root, diff)
		}
	}
}

// TestDefaultFragments checks that a host without a store of fragments has one in memory.
func TestDefaultFragments(t *testing.T) {
	dir := tree(t, "-- a.star --\nregister_fragment_loader(\"note\", lambda arg: \"Be brief.\")\n")
	set, err := loader.Load(t.Context(), loader.Options{Dir: dir, Args: []string{"a.star"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{"note:a", "sha256:" + fragments.Sum("Be brief.").String()[:8]} {
		p, err := set.Host.NewSession(host.SessionConfig{}).Prompt(t.Context(), host.Request{Text: "hi", Fragments: []string{ref}})
		if err != nil || !strings.Contains(p.Text.String(), "Be brief.") {
			t.Errorf("%s: got %v, %v", ref, p, err)
		}
	}
}

// TestPathFromHere checks the paths for messages of the files of plugins, libraries and projects.
func TestPathFromHere(t *testing.T) {
	dir := tree(t, "-- .git/x --\n-- starhost.toml --\nlibraries.lib = \"shared\"\nplugins.disabled = [\"aside\"]\n-- plugins/aside.star --\n-- shared/t.star --\n"+
		"-- plugins/a/plugin.star --\n-- plugins/b.star --\nload(\"//top.star\", \"x\")\nx()\n-- top.star --\nx = 1\n")
	c, _, err := loader.LoadConfig(loader.ConfigOptions{Dir: dir, Getenv: env()})
	if err != nil {
		t.Fatal(err)
	}
	set, err := loader.Load(t.Context(), loader.Options{Dir: dir, Config: c})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	for file, want := range map[string]string{
		"a/data/x.md": "plugins/a/data/x.md", "b.star": "plugins/b.star", "//top.star": "top.star", "@lib//t.star": "shared/t.star",
		"//other.star": "//other.star", "@no//t.star": "@no//t.star", "no//t.star": "no//t.star", "c.star": "c.star",
	} {
		if got := set.PathFromHere(file); got != want {
			t.Errorf("%s: got %s, want %s", file, got, want)
		}
	}
}

// TestPluginsOfOtherProjects checks that each plugin at a path has the config of its own project,
// which lowers limits and turns none off.
func TestPluginsOfOtherProjects(t *testing.T) {
	dir := tree(t, "-- here/a.star --\n-- team/.git/x --\n-- team/starhost.toml --\nplugins.disabled = [\"c\"]\n[plugin.b]\nlimits.steps = 1234\n"+
		"-- team/p/b.star --\n-- team/p/c.star --\n")
	here := filepath.Join(dir, "here")
	c, _, err := loader.LoadConfig(loader.ConfigOptions{Dir: here, Getenv: env()})
	if err != nil {
		t.Fatal(err)
	}
	set, err := loader.Load(t.Context(), loader.Options{Dir: here, Config: c, Args: []string{"a.star", "../team/p"}})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	var got []string
	for _, p := range set.Plugins {
		got = append(got, fmt.Sprint(p.Name, " ", p.Status))
	}
	if diff := cmp.Diff("a loaded, b loaded, c loaded", strings.Join(got, ", ")); diff != "" {
		t.Errorf("plugins (-want +got):\n%s", diff)
	}
}
