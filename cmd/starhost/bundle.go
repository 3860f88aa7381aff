package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/starhost/starhost/bundle"
	"github.com/starhost/starhost/fleet"
	"github.com/starhost/starhost/golden"
	"github.com/starhost/starhost/internal/disk"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/report"
)

func (p *program) bundleCommand() *cobra.Command {
	return family(&cobra.Command{
		Use:   "bundle",
		Short: "Make and check the one file that brings a policy to many machines",
		Long: `Make and check a bundle: the plugins, libraries, values and golden cases of a folder as
one archive, which starhost sync installs on machines whose managed config names it.
A bundle cannot grant anything. See docs/fleet.md.`,
		Example: `  starhost bundle build policy --name ops -o ops.tar.gz
  starhost bundle sign ops.tar.gz --key ops.key
  starhost bundle diff old.tar.gz ops.tar.gz`,
	}, p.bundleBuildCommand(), p.bundleVerifyCommand(), p.bundleShowCommand(), p.bundleDiffCommand(), p.bundleSignCommand())
}

// tryOptions returns how starhost tries the plugins and cases of a bundle.
func (env Env) tryOptions() fleet.TryOptions {
	return fleet.TryOptions{Golden: golden.Options{Getenv: env.getenv, Cache: env.cache, Hooks: caseHooks}}
}

// A bundleReport is the result of bundle build, verify, show and sign.
type bundleReport struct {
	File     string           `json:"file"`
	Digest   bundle.Digest    `json:"digest"`
	Manifest *bundle.Manifest `json:"manifest"`
	Key      string           `json:"key"` // the id of the key that signed the archive; "" if nobody asked
	Trial    *fleet.Trial     `json:"-"`
	files    bool             // list the files as text
}

func (r *bundleReport) WriteText(res *Result) {
	m := r.Manifest
	report.WriteLine(&res.out, "bundle", fmt.Sprintf("%s, sequence %d, created %s", m.Name, m.Sequence, m.Created))
	report.WriteLine(&res.out, "digest", string(r.Digest))
	report.WriteLine(&res.out, "required", m.Required...)
	if r.files {
		for _, f := range m.Files {
			report.WriteLine(&res.out, "file", fmt.Sprintf("%s %s %s", f.SHA256[:12], texttable.EscapeLine(f.Path), texttable.Size(int(f.Size))))
		}
	} else {
		report.WriteLine(&res.out, "files", strconv.Itoa(len(m.Files)))
	}
	if r.Trial != nil {
		report.WriteLine(&res.out, "cases", fmt.Sprintf("%d passed", r.Trial.Cases))
		report.WriteLine(&res.out, "permissions", r.Trial.Needs...)
	}
	if r.Key != "" {
		report.WriteLine(&res.out, "signed by", r.Key)
	}
}

func (r *bundleReport) WriteJSON(res *Result) error {
	return res.out.JSON(res.head("starhost.bundle/1"), r, res.errors())
}

func (p *program) bundleBuildCommand() *cobra.Command {
	var name, sequence string
	cmd := &cobra.Command{
		Use:   "build FOLDER",
		Short: "Make a bundle of a folder whose plugins load and pass their golden cases",
		Long: `Make a bundle of a folder, and write it to the file of -o (default NAME.tar.gz). The folder is
a project: its starhost.toml may name plugins and libraries, give plugins values, require
plugins, and lower limits. Without [plugins] required, all plugins of the bundle are required.
Files whose name begins with a dot stay out.

The sequence orders the bundles of a name; the default is the minute of the build, or of
SOURCE_DATE_EPOCH. The same files, name, sequence and minute give the same bytes.`,
		Example: `  starhost bundle build policy --name ops -o ops.tar.gz
  SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) starhost bundle build policy --name ops`,
		Args: wantArguments("a folder"),
		RunE: runSubcommand(p, func(ctx context.Context, args []string) (*bundleReport, error) {
			r, err := buildBundle(ctx, p.env, args[0], name, sequence)
			p.env.output = "" // it is the archive's
			return r, err
		}),
	}
	cmd.Flags().StringVar(&name, "name", "", "the `NAME` of the bundle, as in [bundles.NAME] (default the folder's)")
	cmd.Flags().StringVar(&sequence, "sequence", "", "the `NUMBER` that orders bundles (default the minute, as 202611262130)")
	return cmd
}

// buildBundle tries the plugins of a folder and writes the archive.
func buildBundle(ctx context.Context, env Env, folder, name, sequence string) (*bundleReport, error) {
	real := env.path(folder)
	if name = cmp.Or(name, filepath.Base(real)); !bundle.IsName(name) {
		return nil, usagef("--name: got %s, want 1 to 64 of a-z, 0-9, _ and -", errtext.Brief(name))
	}
	created := time.Now()
	if epoch := env.getenv("SOURCE_DATE_EPOCH"); epoch != "" {
		seconds, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil || seconds < 0 {
			return nil, usagef("SOURCE_DATE_EPOCH: got %s, want seconds since 1970", errtext.Brief(epoch))
		}
		created = time.Unix(seconds, 0)
	}
	created = created.UTC().Truncate(time.Minute)
	n, err := strconv.ParseInt(cmp.Or(sequence, created.Format("200601021504")), 10, 64)
	if err != nil || n < 0 {
		return nil, usagef("--sequence: got %s, want a whole number", errtext.Brief(sequence))
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return nil, usagef("%s: no such folder", folder)
	}
	files, err := os.MkdirTemp("", "starhost-bundle-") // what is tried is what is in the archive, and nothing around it
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(files)
	o := bundle.BuildOptions{Name: name, Sequence: n, Created: created}
	archive, _, _, err := bundle.Build(real, o)
	if err == nil {
		_, _, err = bundle.Unpack(archive, files)
	}
	if err != nil {
		return nil, bundle.In(folder, err)
	}
	trial, err := fleet.Try(ctx, loader.TryBundle{Name: name, Folder: files}, env.tryOptions())
	if err != nil {
		return nil, bundle.In(folder, err)
	}
	if err := os.Remove(filepath.Join(files, bundle.ManifestName)); err != nil {
		return nil, err
	}
	o.Required = trial.Required
	archive, m, digest, err := bundle.Build(files, o)
	if err != nil {
		return nil, bundle.In(folder, err)
	}
	r := &bundleReport{File: cmp.Or(env.output, name+".tar.gz"), Trial: &trial}
	r.Manifest, r.Digest = m, digest
	return r, errtext.File(r.File, disk.Replace(env.path(r.File), archive, 0o666))
}

// readBundle reads a bundle that an argument names, an archive or the folder of an installed one.
func readBundle(env Env, name string) (bundle.Reader, error) {
	read, err := bundle.Open(env.path(name))
	if err != nil {
		return nil, errtext.File(name, err)
	}
	return func(each func(bundle.File, io.Reader) error) (*bundle.Manifest, bundle.Digest, error) {
		m, digest, err := read(each)
		if err != nil {
			err = bundle.In(name, err)
		}
		return m, digest, err
	}, nil
}

func (p *program) bundleVerifyCommand() *cobra.Command {
	var keys []string
	cmd := &cobra.Command{
		Use:   "verify ARCHIVE",
		Short: "Check that an archive is whole, and who signed it",
		Long: `Check that an archive is whole: its files are those that it lists. With --key, also check the
signature in the file ARCHIVE.minisig, which minisign -V checks alike. It loads no plugin.`,
		Example: `  starhost bundle verify ops.tar.gz --key ops.pub
  starhost bundle verify ops.tar.gz --key RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3`,
		Args: wantArguments("an archive"),
		RunE: runSubcommand(p, func(_ context.Context, args []string) (*bundleReport, error) {
			archive, err := bundle.ReadArchive(p.env.path(args[0]))
			if err != nil {
				return nil, errtext.File(args[0], err)
			}
			r := &bundleReport{File: args[0]}
			if len(keys) > 0 {
				if r.Key, err = verifySignature(p.env, args[0], archive, keys); err != nil {
					return nil, bundle.In(args[0], err)
				}
			}
			if r.Manifest, r.Digest, err = bundle.Read(archive, nil); err != nil {
				return nil, bundle.In(args[0], err)
			}
			return r, nil
		}),
	}
	cmd.Flags().Var((*stringList)(&keys), "key", "a public `KEY` of minisign, or its file, that may have signed the archive; repeatable")
	return cmd
}

// verifySignature checks the signature beside an archive. Each key is the key or the name of its file.
func verifySignature(env Env, name string, archive []byte, keys []string) (string, error) {
	for i, key := range keys {
		if text, err := disk.Read(env.path(key)); err == nil {
			keys[i] = string(text)
		} else if !strings.HasPrefix(key, "RW") {
			return "", errtext.File(key, err)
		}
	}
	signature, err := disk.Read(env.path(name + bundle.SignatureSuffix))
	if err != nil && !os.IsNotExist(err) {
		return "", errtext.File(name+bundle.SignatureSuffix, err)
	}
	return bundle.Verify(archive, signature, keys)
}

func (p *program) bundleShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show ARCHIVE",
		Short: "Show what is in a bundle: an archive, or the folder of an installed one",
		Example: `  starhost bundle show ops.tar.gz
  starhost bundle show ops.tar.gz -F json`,
		Args: wantArguments("an archive"),
		RunE: runSubcommand(p, func(_ context.Context, args []string) (*bundleReport, error) {
			read, err := readBundle(p.env, args[0])
			if err != nil {
				return nil, err
			}
			r := &bundleReport{File: args[0], files: true}
			r.Manifest, r.Digest, err = read(nil)
			return r, err
		}),
	}
}

// A bundleDiff is the result of bundle diff.
type bundleDiff struct {
	Old     *bundle.Manifest `json:"old"`
	New     *bundle.Manifest `json:"new"`
	Changes []bundle.Change  `json:"changes"` // never nil
}

func (p *program) bundleDiffCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Show which files differ between two bundles; the exit code is 1 if any does",
		Example: `  starhost bundle diff old.tar.gz ops.tar.gz
  starhost bundle diff old.tar.gz ops.tar.gz -F json`,
		Args: wantArguments("an old bundle", "a new one"),
		RunE: runSubcommand(p, func(_ context.Context, args []string) (*bundleDiff, error) {
			from, err := readBundle(p.env, args[0])
			if err != nil {
				return nil, err
			}
			to, err := readBundle(p.env, args[1])
			if err != nil {
				return nil, err
			}
			old, now, changes, err := bundle.Diff(from, to)
			if len(changes) > 0 {
				p.res.code = report.ExitNegative
			}
			return &bundleDiff{old, now, append([]bundle.Change{}, changes...)}, err
		}),
	}
}

func (d *bundleDiff) WriteText(res *Result) {
	for i, m := range []*bundle.Manifest{d.Old, d.New} {
		report.WriteLine(&res.out, []string{"old", "new"}[i], fmt.Sprintf("%s, sequence %d, required: %s", m.Name, m.Sequence, strings.Join(m.Required, ", ")))
	}
	for _, c := range d.Changes {
		fmt.Fprintf(&res.out, "%s %s\n", c.Op, texttable.EscapeLine(c.Path))
	}
	for _, c := range d.Changes {
		res.out.WriteString(c.Diff)
	}
}

func (d *bundleDiff) WriteJSON(res *Result) error {
	return res.out.JSON(res.head("starhost.bundle-diff/1"), d, res.errors())
}

func (p *program) bundleSignCommand() *cobra.Command {
	var key, password string
	cmd := &cobra.Command{
		Use:   "sign ARCHIVE",
		Short: "Sign an archive as minisign does, into the file ARCHIVE.minisig",
		Long: `Sign an archive as minisign does, into the file ARCHIVE.minisig. minisign -G makes the key;
minisign -Sm ARCHIVE signs alike.`,
		Example: `  starhost bundle sign ops.tar.gz --key ops.key
  starhost bundle sign ops.tar.gz --key ops.key --password ops.password`,
		Args: wantArguments("an archive"),
		RunE: runSubcommand(p, func(_ context.Context, args []string) (*bundleReport, error) {
			return signBundle(p.env, args[0], key, password)
		}),
	}
	cmd.Flags().StringVar(&key, "key", "", "the `FILE` of minisign's secret key")
	cmd.Flags().StringVar(&password, "password", "", "the `FILE` with the password of an encrypted key")
	return cmd
}

// signBundle writes the signature of an archive.
func signBundle(env Env, name, key, password string) (*bundleReport, error) {
	if key == "" {
		return nil, usagef("bundle sign: got no --key, want the file of a secret key (minisign -G -s ops.key makes one)")
	}
	secret, err := disk.Read(env.path(key))
	if err != nil {
		return nil, errtext.File(key, err)
	}
	word := ""
	if password != "" {
		if word, err = env.readText(password); err != nil {
			return nil, err
		}
	}
	archive, err := bundle.ReadArchive(env.path(name))
	if err != nil {
		return nil, errtext.File(name, err)
	}
	signature, err := bundle.Sign(archive, secret, strings.TrimRight(word, "\r\n"))
	if err != nil {
		return nil, bundle.In(name, err)
	}
	r := &bundleReport{File: name + bundle.SignatureSuffix}
	if r.Manifest, r.Digest, err = bundle.Read(archive, nil); err != nil {
		return nil, err
	}
	return r, errtext.File(r.File, disk.Replace(env.path(r.File), signature, fs.FileMode(0o666)))
}
