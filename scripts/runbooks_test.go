package scripts_test

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/model"
	"github.com/starhost/starhost/model/anthropic"
	"github.com/starhost/starhost/model/openai"
	"github.com/starhost/starhost/report"
)

// realData is a folder with the 117 runbooks of the Prometheus operator project, which are not
// in this repository.
const realData = "../../shared/data"

// copyPlugin offers the same files as the plugin runbooks.
const copyPlugin = `
plugin(permissions = ["fs.read:runbooks/**"])

def copy(ctx, folder):
    return [fragment(ctx.fs.read(p), source = "copy of " + p) for p in ctx.fs.glob("runbooks/%s**/*.md" % folder)]

register_fragment_loader("copy", copy)
`

// A desk is a workspace with the real runbooks, and a picture.
type desk struct {
	dir     string
	picture []byte
	sums    map[string]string // SHA-256 of the runbooks, by their paths
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	if _, err := os.Stat(filepath.Join(realData, "runbooks")); err != nil {
		t.Skipf("the real runbooks are not there: %v", err)
	}
	d := &desk{dir: t.TempDir(), sums: map[string]string{}}
	if err := os.CopyFS(filepath.Join(d.dir, "runbooks"), os.DirFS(filepath.Join(realData, "runbooks"))); err != nil {
		t.Fatal(err)
	}
	d.hash(t)
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 64, 36))); err != nil {
		t.Fatal(err)
	}
	d.picture = picture.Bytes()
	write(t, filepath.Join(d.dir, "evidence/INC-42/dash.png"), picture.String())
	write(t, filepath.Join(d.dir, "copies.star"), copyPlugin)
	return d
}

// hash records the output of sha256sum for each runbook on the disk.
func (d *desk) hash(t *testing.T) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(realData), "runbooks", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".md" {
			return err
		}
		content, err := os.ReadFile(filepath.Join(realData, path))
		sum := sha256.Sum256(content)
		d.sums[path] = hex.EncodeToString(sum[:])
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(d.sums) != 117 {
		t.Fatalf("got %d runbooks, want 117", len(d.sums))
	}
}

// host loads the plugins that ship, and copies.
func (d *desk) host(t *testing.T, o host.Options) *host.Host {
	t.Helper()
	workspace, err := effects.OpenFiles(d.dir, effects.FileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { workspace.Close() })
	o.Clock = func() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }
	config, _, err := loader.ParseConfig("starhost.toml", d.dir, []byte("limits.timeout = \"5m\"")) // for slow machines
	if err != nil {
		t.Fatal(err)
	}
	set, err := loader.Load(t.Context(), loader.Options{
		Args:   []string{".", filepath.Join(d.dir, "copies.star")},
		Config: config,
		Set:    []string{"runbooks.from_workspace=true"},
		Grants: []string{"runbooks=fs.read:runbooks/**", "copies=fs.read:runbooks/**", "evidence=fs.read:evidence/**"},
		World:  effects.World{Workspace: workspace},
		Host:   o,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { set.Close() })
	if err := set.Err(); err != nil {
		t.Fatal(err)
	}
	return set.Host
}

// ask builds the first prompt of a session.
func ask(t *testing.T, h *host.Host, refs ...string) *host.Prompt {
	t.Helper()
	session := h.NewSession(host.SessionConfig{ID: "s"})
	p, err := session.Prompt(t.Context(), host.Request{Text: "What now?", Model: "acme/small", Fragments: refs})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// offered returns the rows that come from references, by their sources.
func offered(p *host.Prompt) map[string]*fragments.Row {
	rows := map[string]*fragments.Row{}
	for _, r := range p.Fragments {
		if strings.HasPrefix(r.Source, "runbooks/") {
			rows[r.Source] = r
		}
	}
	return rows
}

func TestRealRunbooks(t *testing.T) {
	d := newDesk(t)
	h := d.host(t, host.Options{})
	once := ask(t, h, "runbook:*")
	ids, end := map[string]string{}, 0
	for _, r := range once.Fragments {
		if r.Target == fragments.System {
			continue
		}
		if strings.HasPrefix(r.Source, "runbooks/") {
			ids[r.Source] = r.ID.String()
		}
		if r.Status != fragments.Kept {
			t.Errorf("%s: got %s (%s), want kept", r.Source, r.Status, r.Reason)
		} else if r.Offset < end || once.Text.String()[r.Offset:r.Offset+r.Length] != r.Content {
			t.Errorf("%s: offset %d, length %d is not where the content is", r.Source, r.Offset, r.Length)
		}
		end = r.Offset + r.Length
	}
	if diff := gocmp.Diff(d.sums, ids); diff != "" {
		t.Errorf("ids (-want +got):\n%s", diff)
	}

	twice := ask(t, h, "runbook:*", "copy:")
	if twice.Rendering() != once.Rendering() {
		t.Error("a second plugin with the same files changed the prompt")
	}
	if got, want := twice.Given, once.Given+len(d.sums); got != want {
		t.Errorf("given: got %d, want %d", got, want)
	}
	for source, r := range offered(twice) {
		want := []fragments.Origin{{Source: source, Plugin: "runbooks"}, {Source: "copy of " + source, Plugin: "copies"}}
		if diff := gocmp.Diff(want, r.Provenance()); diff != "" {
			t.Errorf("provenance of %s (-want +got):\n%s", source, diff)
		}
	}
}

func TestRealRequestBodies(t *testing.T) {
	d := newDesk(t)
	p := ask(t, d.host(t, host.Options{}), "runbook:*", "evidence:INC-42")
	data := base64.StdEncoding.EncodeToString(d.picture)
	tests := []struct {
		name string
		api  model.Dialect
		want any // the messages
	}{
		{"openai", openai.Dialect(), []any{
			map[string]any{"role": "system", "content": p.System},
			map[string]any{"role": "user", "content": []any{
				map[string]any{"type": "text", "text": p.Text.String()},
				map[string]any{"type": "image_url", "image_url": map[string]any{"url": "data:image/png;base64," + data}},
			}},
		}},
		{"anthropic", anthropic.Dialect(), []any{
			map[string]any{"role": "user", "content": []any{
				map[string]any{"type": "text", "text": p.Text.String()},
				map[string]any{"type": "image", "source": map[string]any{"type": "base64", "media_type": "image/png", "data": data}},
			}},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body, err := tt.api.Body(p, "", false)
			if err != nil {
				t.Fatal(err)
			}
			var got map[string]any
			if err := json.Unmarshal(body, &got); err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(tt.want, got["messages"]); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
			if got["model"] != "acme/small" || len(got["tools"].([]any)) != 2 {
				t.Errorf("got model %v and tools %v", got["model"], got["tools"])
			}
		})
	}
}

// TestRealRunbooksAreDeterministic builds one prompt 50 times, on one and two processors, with
// one, two or eight loaders at a time that start in both orders. All visible parts must be
// equal.
func TestRealRunbooksAreDeterministic(t *testing.T) {
	d := newDesk(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	refs := []string{"copy:node/", "runbook:etcd/", "evidence:INC-42", "runbook:*", "copy:", "copy:etcd/", "runbook:node/", "policy:change"}
	var hosts []*host.Host
	for i := range 6 {
		o := host.Options{Workers: []int{1, 2, 8}[i%3]}
		if i >= 3 {
			o.LoadersLastFirst = true
		}
		hosts = append(hosts, d.host(t, o))
	}
	first := ""
	for i := range 50 {
		runtime.GOMAXPROCS(1 + i/6%2)
		got := visible(t, ask(t, hosts[i%6], refs...))
		if first = cmp.Or(first, got); got != first {
			t.Fatalf("run %d gave other bytes:\n%s", i, gocmp.Diff(first, got))
		}
	}
}

// visible returns all visible parts of a prompt: the request in each form, and the report as
// text and as JSON.
func visible(t *testing.T, p *host.Prompt) string {
	t.Helper()
	rows, err := json.Marshal([]any{p.Fragments, p.Attachments, p.Tools, p.Hooks, p.Given, p.SavedBytes})
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("%s\n%s\n%s\n%s\n", p.Sum(), p.Rendering(), report.Text(p), rows)
	for _, d := range []model.Dialect{openai.Dialect(), anthropic.Dialect()} {
		b, err := d.Body(p, "", false)
		if err != nil {
			t.Fatal(err)
		}
		text += string(b) + "\n"
	}
	return text
}
