//go:build unix

package fleet_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/starhost/starhost/internal/testbed"
)

// A tokenServer gives a registry's tokens to whoever has the password: JWTs that its key signs.
type tokenServer struct {
	*httptest.Server
	t           *testing.T
	key         *rsa.PrivateKey
	certificate []byte // of the key, in DER
	asked       []string
}

func newTokenServer(t *testing.T) *tokenServer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "tokens"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	s := &tokenServer{t: t, key: key}
	if s.certificate, err = x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key); err != nil {
		t.Fatal(err)
	}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *tokenServer) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	scope := req.URL.Query().Get("scope")
	s.asked = append(s.asked, scope)
	if user, secret, _ := req.BasicAuth(); user != "me" || secret != "hunter2" || req.URL.Query().Get("service") != "here" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	access := []any{}
	if parts := strings.Split(scope, ":"); len(parts) == 3 {
		access = append(access, map[string]any{"type": parts[0], "name": parts[1], "actions": strings.Split(parts[2], ",")})
	}
	part := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			s.t.Error(err)
		}
		return base64.RawURLEncoding.EncodeToString(text)
	}
	now := time.Now().Unix()
	text := part(map[string]any{"typ": "JWT", "alg": "RS256", "x5c": []string{base64.StdEncoding.EncodeToString(s.certificate)}}) + "." +
		part(map[string]any{"iss": "tokens", "sub": "me", "aud": "here", "nbf": now - 10, "iat": now, "exp": now + 300, "jti": fmt.Sprint(now), "access": access})
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, s.key, crypto.SHA256, sum[:])
	if err != nil {
		s.t.Error(err)
	}
	fmt.Fprintf(w, `{"token": %q}`, text+"."+base64.RawURLEncoding.EncodeToString(signature))
}

// A debianRegistry is a process of Debian's docker-registry.
type debianRegistry struct{ dir, address string }

// write writes a file below the folder of the registry.
func (g *debianRegistry) write(t *testing.T, name string, content []byte) {
	t.Helper()
	at := filepath.Join(g.dir, name)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// startDebianRegistry starts a registry, with the token server or open to all.
func startDebianRegistry(t *testing.T, tokens *tokenServer) *debianRegistry {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &debianRegistry{t.TempDir(), listener.Addr().String()}
	listener.Close()
	config := fmt.Sprintf("version: 0.1\nstorage:\n  filesystem:\n    rootdirectory: %s\nhttp:\n  addr: %s\n", filepath.Join(g.dir, "storage"), g.address)
	if tokens != nil {
		config += fmt.Sprintf("auth:\n  token:\n    realm: %s/token\n    service: here\n    issuer: tokens\n    rootcertbundle: %s\n", tokens.URL, filepath.Join(g.dir, "roots.pem"))
		g.write(t, "roots.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: tokens.certificate}))
	}
	g.write(t, "registry.yml", []byte(config))
	server := exec.Command(testbed.Need(t, "docker-registry"), "serve", filepath.Join(g.dir, "registry.yml"))
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	for i := 0; ; i++ { // until the registry listens
		if resp, err := http.Get("http://" + g.address + "/v2/"); err == nil {
			resp.Body.Close()
			break
		} else if i == 100 {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
	}
	return g
}

// push copies an image of the two layers into the registry by skopeo, and returns its digest.
func (g *debianRegistry) push(t *testing.T, r release, more ...string) string {
	t.Helper()
	blob := func(content []byte) string {
		g.write(t, "image/blobs/sha256/"+strings.TrimPrefix(sum(content), "sha256:"), content)
		return sum(content)
	}
	config := []byte("{}")
	archive, signature := layerOf("tar+gzip", r.archive), layerOf("minisig", r.signature)
	blob(r.archive)
	blob(r.signature)
	manifest := fmt.Appendf(nil, `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{"mediaType":"application/vnd.starhost.bundle.v1+json","digest":%q,"size":%d},"layers":[{"mediaType":%q,"digest":%q,"size":%d},{"mediaType":%q,"digest":%q,"size":%d}]}`,
		blob(config), len(config), archive.MediaType, archive.Digest, archive.Size, signature.MediaType, signature.Digest, signature.Size)
	digest := blob(manifest)
	g.write(t, "image/index.json", fmt.Appendf(nil, `{"schemaVersion":2,"manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":%q,"size":%d,"annotations":{"org.opencontainers.image.ref.name":"stable"}}]}`, digest, len(manifest)))
	g.write(t, "image/oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`))
	args := append([]string{"--insecure-policy", "copy", "--preserve-digests", "--dest-tls-verify=false"}, more...)
	args = append(args, "oci:"+filepath.Join(g.dir, "image")+":stable", "docker://"+g.address+"/policy/ops:stable")
	if out, err := exec.Command(testbed.Need(t, "skopeo"), args...).CombinedOutput(); err != nil {
		t.Fatalf("skopeo: %v\n%s", err, out)
	}
	return digest
}

// TestDebianRegistry pulls by tag and by digest from Debian's docker-registry, into which Debian's skopeo
// copies an image, without a password and with the tokens of another server.
func TestDebianRegistry(t *testing.T) {
	testbed.NeedSet(t, "STARHOST_LONG", "it runs a registry")
	k := newKey(t)
	v1, v2 := pack(t, k, "ops", 1, files("v1")), pack(t, k, "ops", 2, files("v2"))
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	pull := func(t *testing.T, g *debianRegistry, digest string, want release, answer string) {
		t.Helper()
		for _, ref := range []string{":stable", "@" + digest} {
			m := newMachine(t, ops("oci://"+g.address+"/policy/ops"+ref, k))
			if b := m.must(); b.Digest != want.digest || m.answer() != answer {
				t.Errorf("%s: got %+v", ref, b)
			}
			m.must()
		}
	}
	t.Run("anybody", func(t *testing.T) {
		g := startDebianRegistry(t, nil)
		pull(t, g, g.push(t, v1), v1, "v1")
	})
	t.Run("tokens", func(t *testing.T) {
		tokens := newTokenServer(t)
		g := startDebianRegistry(t, tokens)
		digest := g.push(t, v1, "--dest-creds", "me:hunter2")
		m := newMachine(t, ops("oci://"+g.address+"/policy/ops:stable", k))
		if _, exit, err := m.sync(); exit != 5 || err == nil || !strings.Contains(err.Error(), "got status 401") {
			t.Errorf("without a password: got exit %d, %v", exit, err)
		}
		login := fmt.Appendf(nil, `{"auths": {%q: {"auth": "bWU6aHVudGVyMg=="}}}`, g.address)
		if err := os.WriteFile(filepath.Join(os.Getenv("DOCKER_CONFIG"), "config.json"), login, 0o600); err != nil {
			t.Fatal(err)
		}
		pull(t, g, digest, v1, "v1")
		if b := m.must(); b.Digest != v1.digest {
			t.Errorf("with a password: got %+v", b)
		}
		digest = g.push(t, v2, "--dest-creds", "me:hunter2")
		if b := m.must(); b.Digest != v2.digest || m.answer() != "v2" {
			t.Errorf("the next version: got %+v", b)
		}
		pull(t, g, digest, v2, "v2")
		if last := tokens.asked[len(tokens.asked)-1]; last != "repository:policy/ops:pull" {
			t.Errorf("got a request for %q, want no other right than to pull", last)
		}
	})
}
