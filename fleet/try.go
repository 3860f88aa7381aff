package fleet

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/golden"
	"github.com/starhost/starhost/internal/codes"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/loader"
)

// TryOptions are what [Try] has beside the bundle.
type TryOptions struct {
	// Managed is the path of the managed config that the bundle would be under; "" tries it alone.
	Managed string
	// Golden has what golden cases need: Hooks, Getenv and Cache.
	Golden golden.Options
}

// maxReason is the most bytes of an error in the status.
const maxReason = 500

// A Trial is what [Try] found out about a bundle that works.
type Trial struct {
	Plugins []string // in the order of their paths
	Cases   int      // golden cases that passed
	// Needs are permissions that plugins declare and the config does not grant, each as "PLUGIN: PERMISSION".
	Needs []string
	// Required are the plugins that the bundle's config requires; all plugins, if it requires none.
	Required []string
}

// Try loads the plugins of a bundle as a hook would, and runs their golden cases. The error names the first
// place that is wrong, relative to the folder of the bundle.
func Try(ctx context.Context, b loader.TryBundle, o TryOptions) (t Trial, err error) {
	inside := func(name string) bool { return strings.HasPrefix(name, filepath.ToSlash(b.Folder)+"/") }
	fail := func(err error) (Trial, error) {
		if ctx.Err() != nil {
			return t, ctx.Err()
		}
		text := strings.ReplaceAll(err.Error(), filepath.ToSlash(b.Folder)+"/", "")
		first, _, _ := strings.Cut(text, "\n")
		return t, codes.Errorf(codeTry, "%s", errtext.CutTo(first, maxReason, "…"))
	}
	config, _, err := loader.LoadConfig(loader.ConfigOptions{None: true, Managed: o.Managed, Try: b, Dir: b.Folder})
	if err != nil {
		return fail(err)
	}
	if o.Managed == "" {
		b.Required = config.Plugins.Required
	}
	var paths []string
	for _, p := range config.ManagedPaths() {
		if inside(filepath.ToSlash(p.Real)) {
			paths = append(paths, p.Real)
		}
	}
	set, err := loader.Load(ctx, loader.Options{
		Config: config, Dir: b.Folder, Args: paths, AllowMissing: true, AllowUnset: true, Prove: true,
	})
	if err != nil {
		return fail(err)
	}
	defer set.Close()
	for _, e := range set.Problems {
		if strings.Contains(e.Error(), filepath.ToSlash(b.Folder)+"/") {
			return fail(e)
		}
	}
	loaded := map[string]bool{}
	for i := range set.Plugins {
		p := &set.Plugins[i]
		if !inside(p.Path) {
			continue
		}
		if p.Err != nil {
			return fail(p.Err)
		}
		loaded[p.Name] = p.Status == loader.StatusLoaded
		t.Plugins = append(t.Plugins, p.Name)
		t.Needs = append(t.Needs, needsOf(p)...)
	}
	if t.Required = b.Required; len(t.Required) == 0 {
		t.Required = t.Plugins
	}
	for _, name := range b.Required {
		if !loaded[name] {
			return fail(errors.New("the plugin " + errtext.Brief(name) + " is required, and the bundle does not have it"))
		}
	}
	if len(t.Plugins) == 0 {
		return fail(errors.New("the bundle has no plugins"))
	}
	cases := o.Golden
	cases.Dir, cases.Paths = b.Folder, paths
	summary, err := golden.Test(ctx, cases)
	if err != nil {
		return fail(err)
	}
	for _, r := range summary.Results {
		if r.Status != golden.Passed {
			return fail(errors.New("the golden case " + r.Name + " does not pass: " + r.Reason))
		}
	}
	t.Cases = len(summary.Results)
	return t, nil
}

// needsOf returns the permissions that a plugin declares without a grant that could cover them.
func needsOf(p *loader.Plugin) (needs []string) {
	granted, _ := effects.ParseGrants(p.Granted) // no error: the config has parsed them
	declared, _ := effects.ParseGrants(p.Declared)
	for _, d := range declared {
		if !slices.ContainsFunc(granted, d.Overlaps) {
			needs = append(needs, p.Name+": "+d.String())
		}
	}
	return needs
}
