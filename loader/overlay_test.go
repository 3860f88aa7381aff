package loader_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/loader"
)

// TestReplace: the text of an editor replaces the file, for the plugin and for the files that it
// loads.
func TestReplace(t *testing.T) {
	dir := tree(t, "-- a/plugin.star --\nx = 1\n-- a/lib.star --\ny = 1\n")
	sources, errs := loader.Discover([]loader.Path{loader.NewPath(dir, "a")}, 0)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for name, text := range map[string]string{"plugin.star": "load(\"lib.star\", \"z\")\n", "lib.star": "z = fail(\"seen\")\n"} {
		if err := sources[0].Replace(name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	set, err := loader.Load(t.Context(), loader.Options{Dir: dir, Sources: sources})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	if diff := cmp.Diff("a/lib.star:1:9: fail: seen", set.Err().Error()); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
	if err := sources[0].Replace("../b.star", nil); err == nil {
		t.Error("a file outside of the folder was replaced")
	}
}

// TestDiscoverEdited checks which plugin an editor's file is, on the disk or not.
func TestDiscoverEdited(t *testing.T) {
	dir := tree(t, "-- p/a.star --\n-- p/b/plugin.star --\n")
	for file, want := range map[string]string{
		"p/a.star":        "a of a b",
		"p/b/plugin.star": "b of a b",
		"p/new.star":      "new of a b new",
		"p/c/plugin.star": "c of a b c",
		"p/new.txt":       "p/new.txt: got a file of another kind, want a .star file",
		"p/b":             "b of a b",
	} {
		all, own, problem := loader.DiscoverEdited([]loader.Path{loader.NewPath(dir, "p")}, loader.NewPath(dir, file))
		var got string
		if problem != nil {
			got = problem.Error()
		} else {
			got = own.Name + " of " + names(all)
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", file, got, want)
		}
	}
}
