// Package fleet keeps the bundles of a machine current: it fetches them from where the managed config says,
// decides once whether to trust them, and puts them where the loader finds them. A hook then reads a folder.
//
// [Sync] does one round for all bundles. For each one it takes the same steps, and the first that fails ends
// them, with the active version as it was: fetch, signature, digests, name and sequence, the machine's own
// program, load and golden cases ([Try]), swap. Whatever happened is in the file of [Status].
//
// Everything under way is in a folder of its own, which a crash leaves behind and the next round removes. A
// version gets its place by a rename, and becomes the active one by the rename of a file with its digest, so
// that a reader sees the old version or the new one.
//
// Read fleet.go first, then fetch.go, oci.go, try.go and status.go.
package fleet

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/starhost/starhost/bundle"
	"github.com/starhost/starhost/internal/codes"
	"github.com/starhost/starhost/internal/disk"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/procgroup"
	"github.com/starhost/starhost/loader"
)

// Options of [Sync].
type Options struct {
	// SendLogs sends the logs of decisions. Nil sends none.
	SendLogs func(context.Context) ([]LogState, error)
	// Examine asks doctor about the agents of the users. Nil asks nobody.
	Examine func(context.Context) []Coverage
	// SendStatus sends the text of the status. Nil sends none.
	SendStatus func(context.Context, []byte) error
	// Config is the config of the machine, whose Bundles say what to fetch.
	Config *loader.Config
	// Wait bounds the time of one bundle's download; 0 means [DefaultWait].
	Wait time.Duration
	// Now is the time of this round.
	Now time.Time
	// Try says how a version that is not active yet is tried.
	Try TryOptions
	// Getenv returns environment variables: PATH, HOME and LANG for programs, and DOCKER_CONFIG, for the
	// passwords of registries.
	Getenv func(string) string
}

// DefaultWait is the most time of one bundle's download.
const DefaultWait = 25 * time.Second

// kept is how many versions of a bundle stay on the machine.
const kept = 3

// maxVerify is the most time of a program that verifies an archive.
const maxVerify = time.Minute

// temporary begins the names of folders whose contents nobody uses yet.
const temporary = ".new-"

// Sync does one round for all bundles of the config, and writes the status. The error joins those of the
// bundles that failed; their active versions are as they were.
func Sync(ctx context.Context, o Options) (*Status, error) {
	o.Wait = cmp.Or(o.Wait, DefaultWait)
	state := filepath.Dir(o.Config.Status.Real)
	if err := os.MkdirAll(state, 0o755); err != nil {
		return nil, err
	}
	unlock, err := lock(filepath.Join(state, "sync.lock"))
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := removeTemporary(state); err != nil {
		return nil, err
	}
	old, status := ReadStatus(o.Config), &Status{Schema: statusSchema, Time: o.Now.UTC().Truncate(time.Second), Bundles: []BundleStatus{}, Logs: []LogState{}, Coverage: []Coverage{}}
	var errs []error
	for _, name := range sortedNames(o.Config) {
		s := old.of(name)
		r := round{Options: o, name: name, config: o.Config.Bundles[name], home: o.Config.BundleFolder(name), status: &s}
		err := r.sync(ctx)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		s.record(&r, status.Time, err)
		if err != nil {
			errs = append(errs, err)
		}
		status.Bundles = append(status.Bundles, s)
	}
	if o.SendLogs != nil { // between the swap, whose bundle it names, and the status, which says what was sent
		logs, err := o.SendLogs(ctx)
		status.Logs, errs = append(status.Logs, logs...), append(errs, err)
	}
	if o.Examine != nil { // behind the swap: its guards are those that hold now
		status.Coverage = append(status.Coverage, o.Examine(ctx)...)
		if ctx.Err() != nil { // it knows nothing of those that it did not reach
			return nil, ctx.Err()
		}
	}
	text, err := status.write(o.Config)
	if errs = append(errs, err); o.SendStatus != nil && text != nil {
		errs = append(errs, o.SendStatus(ctx, text))
	}
	return status, errors.Join(errs...)
}

// errBusy is the error of a second round at the same time.
func errBusy(lock string) error {
	return codes.Errorf(codeFetch, "another starhost sync is at work on this machine: %s", lock)
}

// A round is one round for one bundle.
type round struct {
	Options
	name   string
	config *loader.BundleConfig
	home   string // the folder of the bundle's versions
	status *BundleStatus

	active   loader.ActiveBundle
	manifest *bundle.Manifest // of the active version; nil if there is none, or if it was changed
}

// errorf returns an error about the bundle.
func (r *round) errorf(code, format string, args ...any) error {
	return codes.Errorf(code, "bundle "+r.name+": "+format, args...)
}

// sync takes all steps.
func (r *round) sync(ctx context.Context) error {
	if err := os.MkdirAll(r.home, 0o755); err != nil {
		return err
	}
	if err := removeTemporary(r.home); err != nil {
		return err
	}
	r.readActive()
	if r.config.Pin != "" {
		if done, err := r.pinned(ctx); done || err != nil {
			return err
		}
	}
	etag := ""
	if r.manifest != nil && r.config.Pin == "" && r.status.ETagOf == r.active.Digest && r.status.URL == r.config.URL {
		etag = r.status.ETag
	}
	wait, cancel := context.WithTimeoutCause(ctx, r.Wait, errSlow)
	got, err := r.fetch(wait, etag)
	cancel()
	if err != nil || got.same {
		return err
	}
	if _, err := bundle.Verify(got.archive, got.signature, r.config.Keys); err != nil {
		return bundle.In("bundle "+r.name, err)
	}
	if err := r.install(ctx, &got); err != nil {
		return err
	}
	r.status.ETag, r.status.ETagOf = got.etag, r.active.Digest
	return nil
}

// readActive finds out which version is active, and whether its files are as they were.
func (r *round) readActive() {
	var err error
	if r.active, err = loader.ReadActiveBundle(r.home); err != nil {
		r.active = loader.ActiveBundle{}
		return // it is as if there were none: this round installs one
	}
	r.manifest = r.intact(r.active.Folder(), r.active.Digest)
}

// intact returns the manifest of an installed version, nil if its files are not those of the digest.
func (r *round) intact(folder, digest string) *bundle.Manifest {
	m, d, err := bundle.ReadFolder(filepath.Join(r.home, folder), nil)
	if err != nil || string(d) != digest {
		return nil
	}
	return m
}

// pinned reports whether the pinned version is active, after it made an installed one active: the way back
// needs no network.
func (r *round) pinned(ctx context.Context) (done bool, err error) {
	pin := loader.ActiveBundle{Digest: r.config.Pin}
	m := r.intact(pin.Folder(), pin.Digest)
	if m == nil {
		return false, nil
	}
	if r.active.Digest == pin.Digest && r.manifest != nil {
		return true, nil
	}
	if err := r.try(ctx, filepath.Join(r.home, pin.Folder()), m); err != nil {
		return true, err
	}
	return true, r.activate(m, bundle.Digest(pin.Digest))
}

// install checks an archive whose signature holds, and makes it the active version.
func (r *round) install(ctx context.Context, got *fetched) error {
	dir, err := os.MkdirTemp(r.home, temporary)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) // no error matters: the next round removes the rest
	files := filepath.Join(dir, "files")
	if err := os.Mkdir(files, 0o755); err != nil {
		return err
	}
	m, digest, err := bundle.Unpack(got.archive, files)
	if err != nil {
		return bundle.In("bundle "+r.name, err)
	}
	if err := r.accepts(m, digest); err != nil {
		return err
	}
	if string(digest) == r.active.Digest && r.manifest != nil {
		return nil // the server had no ETag, or a new one
	}
	if err := r.verify(ctx, dir, got); err != nil {
		return err
	}
	if err := r.try(ctx, files, m); err != nil {
		return err
	}
	place := filepath.Join(r.home, digest.Folder())
	if r.intact(digest.Folder(), string(digest)) == nil {
		if err := os.RemoveAll(place); err != nil { // somebody changed its files
			return err
		}
		if err := os.Rename(files, place); err != nil {
			return err
		}
	}
	return r.activate(m, digest)
}

// try checks the plugins and the cases of a version.
func (r *round) try(ctx context.Context, folder string, m *bundle.Manifest) error {
	trial, err := Try(ctx, loader.TryBundle{Name: r.name, Folder: folder, Required: m.Required}, r.Try)
	if err == nil {
		r.status.Needs = append([]string{}, trial.Needs...)
		return nil
	}
	return bundle.In("bundle "+r.name, err)
}

// accepts returns an error for a bundle that is not this one, or that is older than what the machine had.
func (r *round) accepts(m *bundle.Manifest, digest bundle.Digest) error {
	least := r.status.Highest
	if r.manifest != nil {
		least = max(least, r.manifest.Sequence)
	}
	switch {
	case m.Name != r.name:
		return r.errorf(codeOther, "got the bundle %s, want %s: each [bundles.NAME] takes its own name only", errtext.Brief(m.Name), r.name)
	case r.config.Pin != "" && string(digest) != r.config.Pin:
		return r.errorf(codeOther, "got %s, want %s, which pin names", digest, r.config.Pin)
	case r.config.Pin == "" && m.Sequence < least:
		return r.errorf(codeOther, "got sequence %d, want at least %d, which this machine had: pin = %q takes an older one", m.Sequence, least, digest)
	}
	return nil
}

// verify runs the program of the config.
func (r *round) verify(ctx context.Context, dir string, got *fetched) error {
	if len(r.config.Verify) == 0 {
		return nil
	}
	archive := filepath.Join(dir, r.name+".tar.gz")
	if err := cmp.Or(os.WriteFile(archive, got.archive, 0o600), os.WriteFile(archive+bundle.SignatureSuffix, got.signature, 0o600)); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, maxVerify)
	defer cancel()
	argv := append(slices.Clone(r.config.Verify), archive)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	procgroup.Set(cmd)
	cmd.Cancel = func() error { procgroup.Kill(cmd); return nil }
	cmd.Dir, cmd.WaitDelay = r.config.Dir, time.Second
	cmd.Env = []string{"PATH=" + r.Getenv("PATH"), "HOME=" + r.Getenv("HOME"), "LANG=" + r.Getenv("LANG")}
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return r.errorf("E1002", "verify: %s: %s", errtext.Brief(argv[0]), errtext.Clip(err.Error()))
	}
	return nil
}

// activate makes an installed version the active one, and removes the oldest ones.
func (r *round) activate(m *bundle.Manifest, digest bundle.Digest) error {
	folder := filepath.Join(r.home, digest.Folder())
	if err := errors.Join(os.Chtimes(folder, r.Now, r.Now), syncFolder(r.home)); err != nil {
		return err
	}
	a := loader.ActiveBundle{Digest: string(digest), Required: m.Required}
	if err := errors.Join(disk.Replace(a.File(r.home), a.Text(), 0o644), syncFolder(r.home)); err != nil {
		return err
	}
	r.active, r.manifest = a, m
	return r.prune()
}

// prune removes the versions that became active before the last ones.
func (r *round) prune() error {
	entries, err := os.ReadDir(r.home)
	if err != nil {
		return err
	}
	type version struct {
		name string
		at   time.Time
	}
	var versions []version
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && e.IsDir() && strings.HasPrefix(e.Name(), "sha256-") && e.Name() != r.active.Folder() {
			versions = append(versions, version{e.Name(), info.ModTime()})
		}
	}
	slices.SortFunc(versions, func(a, b version) int { return cmp.Or(b.at.Compare(a.at), strings.Compare(a.name, b.name)) })
	for _, v := range versions[min(len(versions), kept-1):] {
		if err := os.RemoveAll(filepath.Join(r.home, v.name)); err != nil {
			return err
		}
	}
	return nil
}

// removeTemporary removes what rounds that did not end left behind in a folder: their own folders, and the
// files that disk.Replace had not renamed yet.
func removeTemporary(folder string) error {
	entries, err := os.ReadDir(folder)
	for _, e := range entries {
		name := e.Name()
		isFile := strings.HasPrefix(name, ".starhost-") && strings.HasSuffix(name, ".tmp")
		if err == nil && (isFile || strings.HasPrefix(name, temporary)) {
			err = os.RemoveAll(filepath.Join(folder, name))
		}
	}
	return err
}

// syncFolder flushes the names in a folder to the disk.
func syncFolder(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(bundle.SyncFolder(f), f.Close())
}
