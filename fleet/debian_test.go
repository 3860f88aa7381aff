//go:build unix

package fleet_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/starhost/starhost/internal/testbed"
)

// TestDebianRegistry pulls by tag and by digest from Debian's docker-registry, into which Debian's skopeo
// copies an image of the two layers.
func TestDebianRegistry(t *testing.T) {
	testbed.NeedSet(t, "STARHOST_LONG", "it runs a registry")
	program, skopeo := testbed.Need(t, "docker-registry"), testbed.Need(t, "skopeo")
	k := newKey(t)
	v1 := pack(t, k, "ops", 1, files("v1"))
	dir := t.TempDir()
	write := func(name string, content []byte) {
		t.Helper()
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	write("registry.yml", fmt.Appendf(nil, "version: 0.1\nstorage:\n  filesystem:\n    rootdirectory: %s\nhttp:\n  addr: %s\n", filepath.Join(dir, "storage"), address))
	server := exec.Command(program, "serve", filepath.Join(dir, "registry.yml"))
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })

	blob := func(content []byte) string {
		write("image/blobs/sha256/"+strings.TrimPrefix(sum(content), "sha256:"), content)
		return sum(content)
	}
	config := []byte("{}")
	archive, signature := layerOf("tar+gzip", v1.archive), layerOf("minisig", v1.signature)
	blob(v1.archive)
	blob(v1.signature)
	manifest := fmt.Appendf(nil, `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{"mediaType":"application/vnd.starhost.bundle.v1+json","digest":%q,"size":%d},"layers":[{"mediaType":%q,"digest":%q,"size":%d},{"mediaType":%q,"digest":%q,"size":%d}]}`,
		blob(config), len(config), archive.MediaType, archive.Digest, archive.Size, signature.MediaType, signature.Digest, signature.Size)
	digest := blob(manifest)
	write("image/index.json", fmt.Appendf(nil, `{"schemaVersion":2,"manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":%q,"size":%d,"annotations":{"org.opencontainers.image.ref.name":"stable"}}]}`, digest, len(manifest)))
	write("image/oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`))

	for i := 0; ; i++ { // until the registry listens
		if resp, err := http.Get("http://" + address + "/v2/"); err == nil {
			resp.Body.Close()
			break
		} else if i == 100 {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
	}
	out, err := exec.Command(skopeo, "--insecure-policy", "copy", "--preserve-digests", "--dest-tls-verify=false",
		"oci:"+filepath.Join(dir, "image")+":stable", "docker://"+address+"/policy/ops:stable").CombinedOutput()
	if err != nil {
		t.Fatalf("skopeo: %v\n%s", err, out)
	}
	for _, ref := range []string{":stable", "@" + digest} {
		m := newMachine(t, ops("oci://"+address+"/policy/ops"+ref, k))
		if b := m.must(); b.Digest != v1.digest || m.answer() != "v1" {
			t.Errorf("%s: got %+v", ref, b)
		}
		m.must()
	}
}
