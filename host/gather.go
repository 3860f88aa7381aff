// References become context: the loaders of a prompt run at once.

package host

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/internal/codes"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/near"
	"github.com/starhost/starhost/internal/parallel"
)

// ErrNoReference is the error of a loader without prefix for a reference that it does not know.
var ErrNoReference = errors.New("no such reference")

// A RefError says why the host cannot resolve a reference of the request.
type RefError struct {
	Ref string
	Err error
}

func (e *RefError) Error() string { return e.Err.Error() }

func (e *RefError) Unwrap() error { return e.Err }

// An UnknownRefError says that no loader can resolve a reference.
type UnknownRefError struct {
	What     string // "fragment reference" or "template"
	Ref      string
	Near     string   // a similar reference, or ""
	Prefixes []string // prefixes of the registered loaders, sorted
}

func (e *UnknownRefError) Error() string {
	msg := errtext.Format("unknown %s %q", e.What, e.Ref)
	switch {
	case e.Near != "":
		return msg + near.Hint(e.Near)
	case e.What == "template" && len(e.Prefixes) == 0:
		return msg + ": no plugin registers templates"
	case e.What == "template":
		return msg + ": no template loader has its prefix; prefixes: " + strings.Join(e.Prefixes, ", ")
	}
	return msg + ": no loader has its prefix, and no alias or file its name; prefixes: " + strings.Join(e.Prefixes, ", ")
}

// A reference names context that a prompt needs.
type reference struct {
	text   string
	system bool                     // the context becomes system text
	by     *starhost.TemplateLoader // loader of the template that names it; nil if the user typed it
}

func refsOf(list []string, by *starhost.TemplateLoader, system bool) []reference {
	refs := make([]reference, len(list))
	for i, text := range list {
		refs[i] = reference{text, system, by}
	}
	return refs
}

// resolveRequested resolves the references of the template and of the request, in the first round.
func (t *Turn) resolveRequested(ctx context.Context) ([]starhost.Context, error) {
	if t.round != 1 {
		return nil, nil
	}
	refs := slices.Concat(t.refs, refsOf(t.request.Fragments, nil, false), refsOf(t.request.SystemFragments, nil, true))
	offers, err := t.resolveReferences(ctx, refs)
	if err != nil {
		return nil, err
	}
	for i := range offers {
		setTarget(&offers[i], refs[i].system, refs[i].by == nil)
	}
	return offers, nil
}

// Load resolves references at the same time, and returns their contexts in the order of the references. The
// error is the *RefError of the first reference that failed, ErrDepth, or the error of ctx.
func (t *Turn) Load(ctx context.Context, refs []string) ([]starhost.Context, error) {
	return t.resolveReferences(ctx, refsOf(refs, nil, false))
}

// A loadJob is the call of one loader.
type loadJob struct {
	loader  foundLoader
	lane    *Lane
	context starhost.Context
	took    time.Duration
	err     error
}

func (t *Turn) resolveReferences(ctx context.Context, refs []reference) ([]starhost.Context, error) {
	if err := checkDepth(ctx); err != nil {
		return nil, err
	}
	jobs := make([]loadJob, len(refs))
	for i, ref := range refs {
		j := &jobs[i]
		switch j.loader, j.err = findLoader(t, ref); {
		case j.err == nil:
			j.lane = t.newLane(ctx, j.loader.Plugin.Name, true)
		case errors.Is(j.err, ErrNoReference):
			j.err = unknownFragment(ctx, t, ref.text)
		}
	}
	t.runLoaders(ctx, refs, jobs)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return t.recordLoads(ctx, refs, jobs)
}

// runLoaders runs loaders at the same time. If the loaders are fast, this goroutine runs all of them before
// another one starts.
func (t *Turn) runLoaders(ctx context.Context, refs []reference, jobs []loadJob) {
	parallel.Each(t.host.opts.Workers, len(jobs), func(i int) {
		if t.host.opts.LoadersLastFirst {
			i = len(jobs) - 1 - i
		}
		if j := &jobs[i]; j.err == nil {
			start := time.Now()
			j.context, j.err = t.runLoader(ctx, j.loader, j.lane, refs[i].text)
			j.took = time.Since(start)
		}
	})
}

// recordLoads records the calls of the loaders in the order of the references.
func (t *Turn) recordLoads(ctx context.Context, refs []reference, jobs []loadJob) ([]starhost.Context, error) {
	out := make([]starhost.Context, len(jobs))
	var first error
	for i := range jobs {
		j := &jobs[i]
		if j.lane != nil {
			t.finishLoad(ctx, starhost.EventLoadRun, refs[i].text, j.lane, j.loader.Pos, j.took, j.err)
			t.addNote(j.lane).trace = loadTrace(j.loader.FragmentLoader, j.lane, j.context, j.err)
		}
		if failure, ok := errors.AsType[*HandlerError](j.err); ok && !readsOnly(ctx) {
			t.fireError(ctx, failure)
		}
		out[i] = j.context
		if j.err != nil && first == nil {
			first = &RefError{Ref: refs[i].text, Err: j.err}
		}
	}
	return out, first
}

// loadTrace returns the trace of a loader's call.
func loadTrace(l *starhost.FragmentLoader, lane *Lane, got starhost.Context, err error) *HookTrace {
	tr := &HookTrace{Event: eventLoad, Plugin: l.Plugin.Name, Pos: l.Pos, Steps: lane.Steps, Bytes: lane.Bytes}
	switch {
	case err != nil:
		tr.Action, tr.Detail = starhost.ActionError, err.Error()
	case !got.IsEmpty():
		tr.Action, tr.Detail = starhost.ActionContext, strconv.FormatInt(got.Bytes(), 10)+" B"
	}
	return tr
}

// runLoader runs one loader.
func (t *Turn) runLoader(ctx context.Context, l foundLoader, lane *Lane, ref string) (starhost.Context, error) {
	if err := ctx.Err(); err != nil {
		return starhost.Context{}, err
	}
	got, err := protect(func() (starhost.Context, error) { return l.Load(lane.context(ctx), l.arg) })
	if errors.Is(err, ErrNoReference) {
		return starhost.Context{}, unknownFragment(ctx, t, ref)
	}
	if err == nil {
		got = l.attribute(got, ref)
		err = t.checkContext(&got)
	}
	if err != nil {
		what := "loader " + l.Prefix
		if l.Prefix == "" { // the reference is a path or an alias
			what = "fragment"
		}
		return starhost.Context{}, &HandlerError{Plugin: l.Plugin.Name, What: what, Pos: l.Pos, Err: err}
	}
	return got, nil
}

// A foundLoader is the loader for a reference, with the argument for its call.
type foundLoader struct {
	*starhost.FragmentLoader
	arg    string
	relays bool // the loader returns contexts of other plugins, which name their plugin
}

// attribute returns a loader's context with its origin. If the loader passes on context of other plugins,
// that context keeps its origin.
func (l foundLoader) attribute(got starhost.Context, ref string) starhost.Context {
	if l.relays {
		return attributeMissing(got, ref, l.Plugin.Name, l.Pos)
	}
	return attribute(got, ref, l.Plugin.Name, l.Pos.String())
}

// findLoader returns the loader for a reference.
func findLoader(t *Turn, ref reference) (foundLoader, error) {
	if ref.by != nil {
		return findLoaderForTemplate(t, ref.by, ref.text)
	}
	return findLoaderByPrefix(t, ref.text)
}

// findLoaderByPrefix returns the loader for a reference: the one for "-", a skill's, the one for the
// reference's prefix, or the one without a prefix. A single letter before ":" is never a prefix. The error is
// ErrNoReference.
func findLoaderByPrefix(t *Turn, ref string) (foundLoader, error) {
	loaders := t.registry.loaders
	if l := loaders[ref]; ref == "-" && l != nil {
		return foundLoader{FragmentLoader: l}, nil
	}
	if prefix, arg, ok := strings.Cut(ref, ":"); ok && len(prefix) > 1 {
		if s := t.registry.skills[arg]; prefix == skillPrefix && s != nil {
			return foundLoader{FragmentLoader: t.registry.skillLoader(s), arg: arg}, nil
		}
		if l := loaders[prefix]; l != nil {
			return foundLoader{FragmentLoader: l, arg: arg}, nil
		}
	}
	if l := loaders[""]; l != nil {
		return foundLoader{FragmentLoader: l, arg: ref}, nil
	}
	return foundLoader{}, ErrNoReference
}

// findLoaderForTemplate returns the loader for a reference that a template names: a loader of the template's
// own plugin, or one that resolves the reference with the rights of that plugin.
func findLoaderForTemplate(t *Turn, l *starhost.TemplateLoader, ref string) (foundLoader, error) {
	loader, err := findLoaderByPrefix(t, ref)
	switch {
	case err == nil && loader.Plugin == l.Plugin:
		return loader, nil
	case l.Plugin.Resolve != nil:
		prefix, _, _ := strings.Cut(ref, ":")
		relay := &starhost.FragmentLoader{Prefix: prefix, Load: l.Plugin.Resolve, Pos: l.Pos, Plugin: l.Plugin}
		return foundLoader{FragmentLoader: relay, arg: ref, relays: true}, nil
	case err != nil:
		return foundLoader{}, err
	}
	return foundLoader{}, codes.Errorf(codes.Permission, "template: plugin %s may not load %q: the operator must grant %q", l.Plugin.Name, ref, "fragment:"+loader.Prefix)
}

// unknownFragment returns an error that suggests similar references.
func unknownFragment(ctx context.Context, t *Turn, ref string) error {
	if key, ok := strings.CutPrefix(ref, skillPrefix+":"); ok {
		return errtext.Errorf("unknown skill %q%s", key, near.DidYouMean(key, slices.Sorted(maps.Keys(t.registry.skills))))
	}
	e := newUnknownRefError("fragment reference", ref, slices.Sorted(maps.Keys(t.registry.loaders)))
	if store := t.host.opts.Fragments; store != nil && !strings.Contains(ref, ":") {
		aliases, _ := store.Aliases(ctx) // without aliases there is only no hint
		e.Near = cmp.Or(near.Name(ref, aliases), e.Near)
	}
	return e
}

// newUnknownRefError returns an error that suggests a similar prefix and lists all.
func newUnknownRefError(what, ref string, known []string) *UnknownRefError {
	e := &UnknownRefError{What: what, Ref: ref}
	for _, p := range known {
		if len(p) > 1 {
			e.Prefixes = append(e.Prefixes, p+":")
		}
	}
	prefix, arg, _ := strings.Cut(ref, ":")
	if found := near.Name(prefix+":", e.Prefixes); found != "" {
		e.Near = found + arg
	}
	return e
}
