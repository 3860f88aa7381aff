package effects

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/spf13/afero"
	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
)

// maxFolder is the most bytes of all files of a folder that is one reference.
const maxFolder = 64 << 20

// RefOptions say what the host's own references lead to. The zero value reads
// the machine's files, relative to the current folder, and no standard input.
type RefOptions struct {
	// Dir is the folder that relative paths start from; "" is the current one.
	Dir string
	// FS holds the files; nil means the machine's.
	FS afero.Fs
	// Stdin is what "-" reads, to its end, when it is first asked for. Nil makes
	// "-" an error.
	Stdin io.Reader
	// MaxRead is the most bytes of one file; 0 means [DefaultMaxRead].
	MaxRead int64
	// Store holds what "sha256:DIGITS" and aliases stand for; nil means that there are
	// none.
	Store fragments.Store
	// World is what references go through as effects, so that they can be recorded
	// and replayed; its Granted are what the operator grants the plugin "host". With
	// its HTTP there are URLs. Nil means files alone, and no effects.
	World *World
}

// HostPlugin returns the plugin that resolves the host's own references: "-",
// standard input; "file:PATH"; http and https URLs; "sha256:DIGITS", what a store
// holds under an id, of which the first eight digits are enough if no other id has
// them; and without prefix such digits, an alias or a PATH, whichever there is
// first. A folder gives what its files do, sorted, without those whose name begins
// with a dot and without links that lead out of it. Text becomes a fragment; a file
// that has a NUL byte or is not UTF-8 becomes an attachment. What a URL gives must
// be text.
//
// Typing is the grant: who types a path may read it, and who types a URL may fetch
// it and be redirected to any public address; other addresses must be the host
// that was typed. So these loaders refuse what a handler asks for, but for what the
// store holds: that is for [World.LoadFragment], which asks for the permissions of
// the plugin.
func HostPlugin(o RefOptions) starhost.Plugin {
	if o.World == nil {
		o.World = &World{}
	}
	world := *o.World
	world.Plugin = starhost.HostPlugin
	o.World = &world
	r := &references{RefOptions: o, onDisk: o.FS == nil}
	r.MaxRead = cmp.Or(r.MaxRead, DefaultMaxRead)
	if r.onDisk {
		r.FS = afero.NewOsFs()
	}
	r.stdinOnce = sync.OnceValues(r.readStdin)
	loaders := []starhost.FragmentLoader{
		{Prefix: "-", Description: "Standard input.", Load: r.effect("-", refuseHandler, r.loadStdin)},
		{Prefix: "file", Description: "A file, or every file of a folder, by its path.", Load: r.effect("file:", refuseHandler, r.loadFile)},
		{Prefix: "", Description: "A fragment by its id or alias; a file, or every file of a folder, by its path.", Load: r.effect("", r.refuseHandlerPath, r.loadBare)},
	}
	if o.Store != nil {
		loaders = append(loaders, starhost.FragmentLoader{
			Prefix: "sha256", Description: "A fragment by its id, or the first digits of it.",
			Load: r.effect("sha256:", refuseNone, r.loadID),
		})
	}
	if world.HTTP != nil {
		loaders = append(loaders,
			starhost.FragmentLoader{Prefix: "http", Description: "A text by its URL.", Load: r.loadURL("http:")},
			starhost.FragmentLoader{Prefix: "https", Description: "A text by its URL.", Load: r.loadURL("https:")})
	}
	return starhost.Plugin{Name: starhost.HostPlugin, Description: "The host's own references.", FragmentLoaders: loaders}
}

// references are the loaders of a host plugin.
type references struct {
	RefOptions
	onDisk    bool // FS is the machine's
	stdinOnce func() (starhost.Context, error)
}

// A loadFunc is what a fragment loader calls.
type loadFunc = func(context.Context, *starhost.Turn, string) (starhost.Context, error)

// effect makes a loader of references, which are effects. may refuses those that
// are not for who asks.
func (r *references) effect(prefix string, may func(ctx context.Context, ref string) error, load loadFunc) loadFunc {
	type request struct {
		Ref string `json:"ref"`
	}
	return func(ctx context.Context, t *starhost.Turn, arg string) (starhost.Context, error) {
		c := effectCall{kind: "reference", request: request{prefix + arg}, subject: prefix + arg, refusal: may(ctx, prefix+arg)}
		got, err := do(ctx, r.World, c, func(ctx context.Context) (contextReply, error) {
			got, err := load(ctx, t, arg)
			return contextReply(got), err
		})
		return starhost.Context(got), err
	}
}

// refuseHandler refuses a reference that a handler asks for.
func refuseHandler(ctx context.Context, ref string) error {
	if lane := starhost.LaneOf(ctx); lane != nil && lane.Depth() > 0 {
		return errorf("E0509", "reference %q: got it from a handler, want it typed by the user", ref)
	}
	return nil
}

// refuseHandlerPath is typed, but lets handlers ask for what may be an id or alias.
func (r *references) refuseHandlerPath(ctx context.Context, ref string) error {
	if r.Store != nil && fragments.CheckAlias(ref) == nil {
		return nil
	}
	return refuseHandler(ctx, ref)
}

// refuseNone refuses nothing.
func refuseNone(context.Context, string) error { return nil }

// A contextReply is what a reference of the host's own gives, in a journal.
type contextReply starhost.Context

// A contextPart is one fragment or attachment of it.
type contextPart struct {
	Source  string `json:"source"`
	Content blob   `json:"content"`
	// Of an attachment:
	Name   string `json:"name,omitempty"`
	Type   string `json:"type,omitempty"`
	Width  int    `json:"width,omitempty"`
	Height int    `json:"height,omitempty"`
}

// MarshalJSON writes what loaders here fill in.
func (c contextReply) MarshalJSON() ([]byte, error) {
	var parts []contextPart
	for _, f := range c.Fragments {
		parts = append(parts, contextPart{Source: f.Source, Content: blob(f.Content)})
	}
	for _, a := range c.Attachments {
		parts = append(parts, contextPart{a.Source, blob(a.Content), a.Name, a.Type, a.Width, a.Height})
	}
	return marshal(parts), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (c *contextReply) UnmarshalJSON(b []byte) error {
	var parts []contextPart
	err := json.Unmarshal(b, &parts)
	for _, p := range parts {
		if p.Type == "" {
			c.Fragments = append(c.Fragments, fragments.Fragment{Content: string(p.Content), Source: p.Source})
			continue
		}
		c.Attachments = append(c.Attachments, fragments.Attachment{
			Content: string(p.Content), Name: p.Name, Type: p.Type, Width: p.Width, Height: p.Height, Source: p.Source,
		})
	}
	return err
}

// loadURL returns the loader of a scheme.
func (r *references) loadURL(scheme string) loadFunc {
	return func(ctx context.Context, _ *starhost.Turn, rest string) (starhost.Context, error) {
		ref := scheme + rest
		if err := refuseHandler(ctx, ref); err != nil {
			return starhost.Context{}, err
		}
		s, err := newHTTPExchange(r.World, Request{URL: ref})
		if err != nil {
			return starhost.Context{}, err
		}
		rules := *r.World
		rules.Granted = append(Grants{{"http", s.target.pattern("GET")}, {"http", "*"}, {"http", "http://*"}}, r.World.Granted...)
		rules.Declared = rules.Granted
		s.permitted = &rules
		return s.fragment(ctx, ref)
	}
}

func (r *references) loadStdin(context.Context, *starhost.Turn, string) (starhost.Context, error) {
	return r.stdinOnce()
}

func (r *references) readStdin() (starhost.Context, error) {
	if r.Stdin == nil {
		return starhost.Context{}, errorf("E0504", "reference -: there is no standard input here")
	}
	b, err := readAll(r.Stdin, "-", r.MaxRead)
	if err != nil {
		return starhost.Context{}, err
	}
	var c starhost.Context
	addContent(&c, "-", b)
	return c, nil
}

// loadFile resolves file:PATH.
func (r *references) loadFile(ctx context.Context, _ *starhost.Turn, name string) (starhost.Context, error) {
	c, err := r.load(ctx, name)
	if isMissing(err) {
		return c, readError(name, err, r.nearSibling(name))
	}
	return c, err
}

// loadBare resolves an id, an alias or, for the user, a path. When it is none of
// these, the host says what else it could have been.
func (r *references) loadBare(ctx context.Context, _ *starhost.Turn, name string) (starhost.Context, error) {
	c, err := r.loadNamed(ctx, name)
	if !errors.Is(err, starhost.ErrNoReference) {
		return c, err
	}
	if name == "" || strings.Contains(name, "\x00") || refuseHandler(ctx, name) != nil {
		return starhost.Context{}, starhost.ErrNoReference
	}
	if _, err := r.FS.Stat(r.filePath(name)); isMissing(err) {
		return starhost.Context{}, starhost.ErrNoReference
	}
	return r.load(ctx, name)
}

// load returns what is at a path as the user typed it.
func (r *references) load(ctx context.Context, name string) (starhost.Context, error) {
	var c starhost.Context
	if name == "" {
		return c, errorf("E0503", "path: got none, want one as file:notes.md")
	}
	info, err := r.FS.Stat(r.filePath(name))
	switch {
	case err != nil:
		return c, readError(name, err, "")
	case info.IsDir():
		return r.loadFolder(ctx, name)
	}
	b, err := readRegular(r.FS, r.filePath(name), name, r.MaxRead)
	if err != nil {
		return c, err
	}
	addContent(&c, sourceName(name), b)
	return c, nil
}

// loadFolder returns every file of a folder.
func (r *references) loadFolder(ctx context.Context, name string) (c starhost.Context, err error) {
	files, err := r.folder(name)
	if err != nil {
		return c, readError(name, err, "")
	}
	defer files.Close()
	names, err := files.Glob("**")
	if err != nil {
		return c, fileError("E0506", name, "%v", err)
	}
	total := 0
	for _, n := range names {
		if err := ctx.Err(); err != nil {
			return starhost.Context{}, err
		}
		label := path.Join(sourceName(name), n)
		b, err := files.read(n, label)
		if err != nil {
			return starhost.Context{}, err
		}
		if total += len(b); total > maxFolder {
			return starhost.Context{}, fileError("E0506", name, "got more than %d bytes in all files of the folder", maxFolder)
		}
		addContent(&c, label, b)
	}
	return c, nil
}

// folder opens a folder so that no link in it leads out.
func (r *references) folder(name string) (*Files, error) {
	o := FileOptions{MaxRead: r.MaxRead}
	if r.onDisk {
		return OpenFiles(r.filePath(name), o)
	}
	return NewFiles(afero.NewBasePathFs(r.FS, r.filePath(name)), o), nil
}

// nearSibling returns a file or folder beside a missing one that its name may mean.
func (r *references) nearSibling(name string) string {
	siblings := Files{fs: r.FS}
	names, err := siblings.names(filepath.Dir(r.filePath(name)), maxMatches)
	if err != nil {
		return ""
	}
	return nearestSibling(sourceName(name), names)
}

// filePath returns where a path as typed is.
func (r *references) filePath(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(r.Dir, name)
}

// sourceName returns the source that reports name: the path as typed, with "/".
func sourceName(name string) string { return path.Clean(filepath.ToSlash(name)) }

// addContent appends a file to c: text as a fragment, anything else as an attachment.
func addContent(c *starhost.Context, source string, content []byte) {
	if bytes.IndexByte(content, 0) < 0 && utf8.Valid(content) {
		c.Fragments = append(c.Fragments, fragments.Fragment{Content: string(content), Source: source})
		return
	}
	a := NewAttachment(content, path.Base(source), "")
	a.Source = source
	c.Attachments = append(c.Attachments, a)
}
