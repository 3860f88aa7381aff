//go:build unix

package fleet_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// The password that the registry of these tests wants, and the token that its token server gives for it.
const (
	password = "Basic bWU6aHVudGVyMg==" // me:hunter2
	token    = "Bearer token-42"
)

type layer struct {
	MediaType string `json:"mediaType"`
	Digest    string `json:"digest"`
	Size      int    `json:"size"`
}

func layerOf(kind string, content []byte) layer {
	return layer{"application/vnd.starhost.bundle.v1." + kind, sum(content), len(content)}
}

func sum(content []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(content)) }

func image(layers ...layer) []byte {
	text, err := json.Marshal(map[string]any{"schemaVersion": 2, "layers": layers})
	if err != nil {
		panic(err)
	}
	return text
}

// A registry has one repository, policy/ops, with the tag stable.
type registry struct {
	*httptest.Server
	mu     sync.Mutex
	image  []byte
	blobs  map[string][]byte
	auth   string // "", "basic" or "bearer"
	asked  []string
	leaked bool // the storage got a password
}

func newRegistry(t *testing.T, r release) *registry {
	g := &registry{blobs: map[string][]byte{}}
	storage := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.leaked = g.leaked || req.Header.Get("Authorization") != ""
		w.Write(g.blobs[strings.TrimPrefix(req.URL.Path, "/")])
	}))
	elsewhere := strings.Replace(storage.URL, "127.0.0.1", "localhost", 1)
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.asked = append(g.asked, req.URL.String())
		header := req.Header.Get("Authorization")
		switch rest, ok := strings.CutPrefix(req.URL.Path, "/v2/policy/ops/"); {
		case req.URL.Path == "/token":
			if header != password || req.URL.Query().Get("scope") != "repository:policy/ops:pull" || req.URL.Query().Get("service") != "here" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			fmt.Fprintf(w, `{"token": %q}`, strings.TrimPrefix(token, "Bearer "))
		case g.auth == "basic" && header != password:
			w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
			w.WriteHeader(http.StatusUnauthorized)
		case g.auth == "bearer" && header != token:
			w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="%s/token",service="here",scope="other"`, g.URL))
			w.WriteHeader(http.StatusUnauthorized)
		case ok && (rest == "manifests/stable" || rest == "manifests/"+sum(g.image)):
			w.Write(g.image)
		case ok && strings.HasPrefix(rest, "blobs/"):
			http.Redirect(w, req, elsewhere+"/"+strings.TrimPrefix(rest, "blobs/"), http.StatusTemporaryRedirect)
		default:
			http.NotFound(w, req)
		}
	}))
	t.Cleanup(func() { g.Close(); storage.Close() })
	g.publish(r)
	return g
}

func (g *registry) publish(r release) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.blobs[sum(r.archive)], g.blobs[sum(r.signature)] = r.archive, r.signature
	g.image = image(layerOf("tar+gzip", r.archive), layerOf("minisig", r.signature))
}

func (g *registry) url(ref string) string {
	return "oci://" + strings.TrimPrefix(g.URL, "http://") + "/policy/ops" + ref
}

// TestRegistry pulls by tag and by digest, with a password and a token server; an image that did not change
// costs one request.
func TestRegistry(t *testing.T) {
	k := newKey(t)
	v1, v2 := pack(t, k, "ops", 1, files("v1")), pack(t, k, "ops", 2, plain("v2"))
	docker := t.TempDir()
	t.Setenv("DOCKER_CONFIG", docker)
	bin := t.TempDir()
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	helper := "#!/bin/sh\nread host\n[ \"$1\" = get ] && [ -n \"$host\" ] && echo '{\"Username\": \"me\", \"Secret\": \"hunter2\"}'\n"
	if err := os.WriteFile(filepath.Join(bin, "docker-credential-test"), []byte(helper), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, auth, config string }{
		{"anybody", "", ""},
		{"a password", "basic", `{"auths": {"HOST": {"auth": "bWU6aHVudGVyMg=="}}}`},
		{"a token", "bearer", `{"auths": {"HOST": {"auth": "bWU6aHVudGVyMg=="}}}`},
		{"a helper", "bearer", `{"credHelpers": {"HOST": "test"}}`},
		{"the helper of all", "basic", `{"credsStore": "test"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newRegistry(t, v1)
			g.auth = tt.auth
			host := strings.TrimPrefix(g.URL, "http://")
			if err := os.WriteFile(filepath.Join(docker, "config.json"), []byte(strings.ReplaceAll(tt.config, "HOST", host)), 0o600); err != nil {
				t.Fatal(err)
			}
			m := newMachine(t, ops(g.url(":stable"), k))
			if tt.config == "" {
				os.Remove(filepath.Join(docker, "config.json"))
			}
			if b := m.must(); b.Digest != v1.digest || m.answer() != "v1" {
				t.Fatalf("got %+v", b)
			}
			before := len(g.asked)
			m.must()
			if n := len(g.asked) - before; n > 3 || tt.auth == "" && n > 1 {
				t.Errorf("an image that did not change: got %q, want one request, and a token", g.asked[before:])
			}
			g.publish(v2)
			if b := m.must(); b.Digest != v2.digest {
				t.Errorf("the next one: got %+v", b)
			}
			m.configure(ops(g.url("@"+sum(g.image)), k))
			m.must()
			if g.leaked {
				t.Error("the storage of another host got the password")
			}
			status, err := os.ReadFile(filepath.Join(m.state, "status.json"))
			if err != nil || strings.Contains(string(status), "hunter2") || strings.Contains(string(status), "token-42") {
				t.Errorf("the status has a password: %s, %v", status, err)
			}
		})
	}
}

func TestRegistryFailures(t *testing.T) {
	k := newKey(t)
	v1 := pack(t, k, "ops", 1, files("v1"))
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	archive, signature := layerOf("tar+gzip", v1.archive), layerOf("minisig", v1.signature)
	sized := func(l layer, size int) layer { l.Size = size; return l }
	tests := []struct {
		name, ref string
		change    func(g *registry)
		exit      int
		want      string
	}{
		{"no such tag", ":canary", nil, 5, "got status 404"},
		{"another digest", "@sha256:" + strings.Repeat("0", 64), nil, 5, "got status 404"},
		{"no password", ":stable", func(g *registry) { g.auth = "basic" }, 5, "docker login"},
		{"no password for the token server", ":stable", func(g *registry) { g.auth = "bearer" }, 5, "/token: got status 401"},
		{"no JSON", ":stable", func(g *registry) { g.image = []byte("<html>") }, 5, "the manifest of the image"},
		{"another image", ":stable", func(g *registry) { g.image = image() }, 5, "without a layer of type"},
		{"no signature", ":stable", func(g *registry) { g.image = image(archive) }, 6, "got no signature"},
		{"two archives", ":stable", func(g *registry) { g.image = image(archive, archive, signature) }, 5, "second layer"},
		{"too large", ":stable", func(g *registry) { g.image = image(sized(archive, 64<<20+1), signature) }, 5, "too large"},
		{"larger than it says", ":stable", func(g *registry) { g.image = image(sized(archive, 10), signature) }, 5, "want at most 10"},
		{"other bytes", ":stable", func(g *registry) { g.blobs[archive.Digest] = []byte("other") }, 5, "other bytes than those of the layer"},
		{"a digest that is a path", ":stable", func(g *registry) {
			g.image = image(layer{archive.MediaType, "../../../token", 5}, signature)
		}, 5, "without SHA-256"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := newRegistry(t, v1)
			if tt.change != nil {
				tt.change(g)
			}
			m := newMachine(t, ops(g.url(tt.ref), k))
			before := m.tree()
			_, exit, err := m.sync()
			if exit != tt.exit || err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got exit %d, %v; want %d, %q", exit, err, tt.exit, tt.want)
			}
			if got := m.tree(); len(got) != len(before)+2 { // bundles/ops
				t.Errorf("files are left: %q", got)
			}
		})
	}
}
