package loader_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/loader"
)

const declaringPlugins = `
-- a_hook.star --
plugin(requires = ["z_late"])
register_hook("app.deploys.planned", lambda service: None)
-- deploys.star --
plugin(events = {"app.deploys.planned": ["service"]})
register_hook("app.z_late.asked", lambda: None)
-- broken.star --
plugin(events = {"app.broken.asked": []})
register_hook("app.broken.asked", lambda: None)
fail("no")
-- z_late.star --
plugin(events = {"app.z_late.asked": []})
register_hook("app.broken.asked", lambda: None)
register_hook("app.nobody.asked", lambda: None)
`

// TestDeclaredEvents checks that hooks register on the events of all manifests: the order of the
// plugins does not matter, nor whether the declaring plugin loads.
func TestDeclaredEvents(t *testing.T) {
	l := loads(t, declaringPlugins, "a_hook.star", "deploys.star", "broken.star", "z_late.star")
	want := `a_hook loaded
deploys loaded
broken failed
broken.star:3:5: fail: no [E0301]
    3 | fail("no")
      |     ^
  in <toplevel> broken.star:3:5
z_late loaded
warning: z_late.star:3:14: register_hook: the hook never runs: unknown event "app.nobody.asked" (did you mean app.broken.asked?)
`
	if diff := cmp.Diff(want, l.report()); diff != "" {
		t.Errorf("load (-want +got):\n%s", diff)
	}
	var hooks []string
	for _, h := range l.set.Host.Hooks() {
		hooks = append(hooks, h.Plugin+" "+h.Event)
	}
	want2 := []string{"a_hook app.deploys.planned", "z_late app.broken.asked", "deploys app.z_late.asked"}
	if diff := cmp.Diff(want2, hooks); diff != "" {
		t.Errorf("hooks (-want +got):\n%s", diff)
	}
}

// TestProgramsEvents checks that a plugin cannot take over an event of the program, and that Load
// leaves the program's list as it is.
func TestProgramsEvents(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/deploys.star", `plugin(events = {"app.deploys.planned": []})`)
	write(t, dir+"/other.star", `plugin(events = {"app.other.asked": []})`)
	events := make([]starhost.EventSpec, 1, 4)
	events[0] = starhost.EventSpec{Name: "app.deploys.planned"}
	o := loader.Options{Dir: dir, Args: []string{dir}, Host: host.Options{AppEvents: events}}
	set, err := loader.Load(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { set.Close() })
	if p := set.Plugins[0]; p.Status != loader.StatusFailed || set.Plugins[1].Status != loader.StatusLoaded {
		t.Errorf("got %v (%v), %v", p.Status, p.Err, set.Plugins[1].Status)
	}
	if spare := events[:2][1]; spare.Name != "" {
		t.Errorf("Load wrote %s behind the program's events", spare.Name)
	}
	declared := set.Host.Events()[len(starhost.Events()):]
	others := func(e starhost.EventSpec) bool { return e.Plugin == "other" }
	if slices.IndexFunc(declared, others) != 1 || len(declared) != 2 {
		t.Errorf("got events %v", declared)
	}
}
