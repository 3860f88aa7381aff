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
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/jsontext"
)

// maxFolder is the most bytes that all files of a folder have together, if a reference names the folder.
const maxFolder = 64 << 20

// RefOptions configure the host's own references. The zero value reads the machine's files,
// relative to the current folder, and no standard input.
type RefOptions struct {
	// Dir is the folder that relative paths start from; "" is the current one.
	Dir string
	// FS contains the files; nil means the machine's.
	FS afero.Fs
	// Stdin is what the reference "-" stands for. The first use reads it to its end. If it is nil, "-" is an
	// error.
	Stdin io.Reader
	// MaxRead is the most bytes of one file; 0 means [DefaultMaxRead].
	MaxRead int64
	// Store resolves "sha256:DIGITS" and aliases; nil means that there are none.
	Store fragments.Store
	// World records and replays references as effects. Its Granted are the operator's grants for the plugin
	// "host", and its HTTP fetches URLs. If World is nil, references can be files only, and nothing records
	// them.
	World *World
}

// HostPlugin returns the plugin that resolves the host's own references:
//
//   - "-" is standard input.
//   - "file:PATH" is a file.
//   - An http or https URL is its text.
//   - "sha256:DIGITS" is a text in the store. The first eight digits are enough if they are
//     unique.
//   - Without prefix, a reference is such digits, an alias or a PATH, in this order.
//
// A folder stands for its files, sorted, except names that begin with a dot and links that lead
// outside. Text becomes a fragment. A file with a NUL byte, or that is not UTF-8, becomes an
// attachment. A URL that does not return text is an error.
//
// Typing is the grant: a user who types a path may read it, and a user who types a URL may
// fetch it, with redirects to any public address. Other addresses must be the host that the
// user typed. These loaders therefore refuse references from a handler, except to the store.
// Handlers use [World.LoadFragment], which asks for the plugin's permissions.
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

// A loadFunc is the Load of a fragment loader.
type loadFunc = func(context.Context, string) (starhost.Context, error)

// effect returns a loader that runs load as an effect. may returns an error for a reference that the caller
// is not allowed to use.
func (r *references) effect(prefix string, may func(ctx context.Context, ref string) error, load loadFunc) loadFunc {
	type request struct {
		Ref string `json:"ref"`
	}
	return func(ctx context.Context, arg string) (starhost.Context, error) {
		c := effectCall{kind: "reference", request: request{prefix + arg}, subject: prefix + arg, refusal: may(ctx, prefix+arg)}
		got, err := do(ctx, r.World, c, func(ctx context.Context) (contextReply, error) {
			got, err := load(ctx, arg)
			return contextReply(got), err
		})
		return starhost.Context(got), err
	}
}

// refuseHandler refuses every reference from a handler, because the user did not type it.
func refuseHandler(ctx context.Context, ref string) error {
	if lane := host.LaneOf(ctx); lane != nil && lane.Depth() > 0 {
		return errorf("E0509", "reference %q: got it from a handler, want it typed by the user", ref)
	}
	return nil
}

// refuseHandlerPath refuses a reference from a handler, unless the reference can be an id or an alias.
func (r *references) refuseHandlerPath(ctx context.Context, ref string) error {
	if r.Store != nil && fragments.CheckAlias(ref) == nil {
		return nil
	}
	return refuseHandler(ctx, ref)
}

// refuseNone lets all callers use a reference.
func refuseNone(context.Context, string) error { return nil }

// A contextReply is the form in a journal of what a reference resolved to.
type contextReply starhost.Context

// A contextPart is one fragment or attachment of a contextReply.
type contextPart struct {
	Source  string        `json:"source"`
	Content jsontext.Text `json:"content"`
	// The fields below are set for an attachment only.
	Name   string `json:"name,omitempty"`
	Type   string `json:"type,omitempty"`
	Width  int    `json:"width,omitempty"`
	Height int    `json:"height,omitempty"`
}

// MarshalJSON writes the fields that the loaders of this package set.
func (c contextReply) MarshalJSON() ([]byte, error) {
	var parts []contextPart
	for _, f := range c.Fragments {
		parts = append(parts, contextPart{Source: f.Source, Content: jsontext.Text(f.Content)})
	}
	for _, a := range c.Attachments {
		parts = append(parts, contextPart{a.Source, jsontext.Text(a.Content), a.Name, a.Type, a.Width, a.Height})
	}
	return jsontext.EncodeOrNull(parts), nil
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

// loadURL returns the loader of URLs with a scheme.
func (r *references) loadURL(scheme string) loadFunc {
	return func(ctx context.Context, rest string) (starhost.Context, error) {
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

func (r *references) loadStdin(context.Context, string) (starhost.Context, error) {
	return r.stdinOnce()
}

func (r *references) readStdin() (starhost.Context, error) {
	if r.Stdin == nil {
		return starhost.Context{}, errorf("E0504", "reference -: there is no standard input here")
	}
	b, err := readAll(r.Stdin, "-", 0, r.MaxRead)
	if err != nil {
		return starhost.Context{}, err
	}
	var c starhost.Context
	addContent(&c, "-", b)
	return c, nil
}

// loadFile resolves a reference file:PATH.
func (r *references) loadFile(ctx context.Context, name string) (starhost.Context, error) {
	c, err := r.load(ctx, name)
	if isMissing(err) {
		return c, readError(name, err, r.nearSibling(name))
	}
	return c, err
}

// loadBare resolves an id, an alias or, for the user, a path. If the reference is none of them,
// it returns ErrNoReference, and the host adds suggestions.
func (r *references) loadBare(ctx context.Context, name string) (starhost.Context, error) {
	c, err := r.loadNamed(ctx, name)
	if !errors.Is(err, host.ErrNoReference) {
		return c, err
	}
	if name == "" || strings.Contains(name, "\x00") || refuseHandler(ctx, name) != nil {
		return starhost.Context{}, host.ErrNoReference
	}
	if _, err := r.FS.Stat(r.filePath(name)); isMissing(err) {
		return starhost.Context{}, host.ErrNoReference
	}
	return r.load(ctx, name)
}

// load returns the file or folder at a path that the user typed, as fragments and attachments.
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

// loadFolder returns every file of a folder, as fragments and attachments.
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

// folder opens a folder so that no link leads outside.
func (r *references) folder(name string) (*Files, error) {
	o := FileOptions{MaxRead: r.MaxRead}
	if r.onDisk {
		return OpenFiles(r.filePath(name), o)
	}
	return NewFiles(afero.NewBasePathFs(r.FS, r.filePath(name)), o), nil
}

// nearSibling returns the name of a file or folder beside the missing path name, if the user may have meant
// it, or "".
func (r *references) nearSibling(name string) string {
	siblings := Files{fs: r.FS}
	names, err := siblings.names(filepath.Dir(r.filePath(name)), maxMatches)
	if err != nil {
		return ""
	}
	return nearestSibling(sourceName(name), names)
}

// filePath returns the path on the machine for a path that the user typed.
func (r *references) filePath(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(r.Dir, name)
}

// sourceName returns the name that reports use for a path: the path as typed, with "/".
func sourceName(name string) string { return path.Clean(filepath.ToSlash(name)) }

// addContent adds a file to c: a text as a fragment, any other content as an attachment.
func addContent(c *starhost.Context, source string, content []byte) {
	if bytes.IndexByte(content, 0) < 0 && utf8.Valid(content) {
		c.Fragments = append(c.Fragments, fragments.Fragment{Content: string(content), Source: source})
		return
	}
	a := NewAttachment(content, path.Base(source), "")
	a.Source = source
	c.Attachments = append(c.Attachments, a)
}
