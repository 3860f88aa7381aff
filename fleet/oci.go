package fleet

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/starhost/starhost/bundle"
	"github.com/starhost/starhost/internal/disk"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/loopback"
)

// The media types of the two layers of a bundle in a registry.
const (
	bundleLayer    = "application/vnd.starhost.bundle.v1.tar+gzip"
	signatureLayer = "application/vnd.starhost.bundle.v1.minisig"
)

// maxImage is the most bytes of an image manifest, and of the answer of a token server or a credential helper.
const maxImage = 1 << 20

// manifestTypes are the media types of image manifests.
const manifestTypes = "application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json"

// A registry is one repository of a registry, from which a round pulls.
type registry struct {
	*round
	client *http.Client
	base   string // https://HOST/v2/NAME
	host   string
	name   string // of the repository
	auth   string // the header Authorization, "" before the registry asks for it
}

// fetchImage pulls a bundle from a registry. The ETag is the digest of its image manifest, which one short
// request reads.
func (r *round) fetchImage(ctx context.Context, u *url.URL, etag string) (got fetched, err error) {
	name, ref := strings.TrimPrefix(u.Path, "/"), "latest"
	if before, digest, ok := strings.Cut(name, "@"); ok {
		name, ref = before, digest
	} else if i := strings.LastIndexByte(name, ':'); i >= 0 {
		name, ref = name[:i], name[i+1:]
	}
	scheme := "https://"
	if loopback.Is(u.Hostname()) {
		scheme = "http://"
	}
	g := &registry{round: r, host: u.Host, name: name, base: scheme + u.Host + "/v2/" + name}
	// Blobs have a digest, so that it does not matter which host sends them. net/http sends passwords to no
	// other host.
	g.client = newClient(func(*url.URL) bool { return true })
	text, err := g.read(ctx, "/manifests/"+ref, maxImage)
	if err != nil {
		return got, err
	}
	got.etag = sumOf(text)
	if strings.HasPrefix(ref, "sha256:") && ref != got.etag {
		return got, r.errorf(codeFetch, "%s: got the manifest %s, want the one of the URL", r.config.URL, got.etag)
	}
	if etag == got.etag {
		return fetched{same: true}, nil
	}
	var image struct {
		Layers []layer `json:"layers"`
	}
	if err := json.Unmarshal(text, &image); err != nil {
		return got, r.errorf(codeFetch, "%s: the manifest of the image: %s", r.config.URL, errtext.Clip(err.Error()))
	}
	if got.archive, err = g.layer(ctx, image.Layers, bundleLayer, bundle.MaxBytes); err != nil {
		return got, err
	}
	if got.archive == nil {
		return got, r.errorf(codeFetch, "%s: got an image without a layer of type %s", r.config.URL, bundleLayer)
	}
	if got.signature, err = g.layer(ctx, image.Layers, signatureLayer, bundle.MaxSignature); err == nil && got.signature == nil {
		err = r.errorf("E1002", "%s: got no signature, want a layer of type %s", r.config.URL, signatureLayer)
	}
	return got, err
}

// A layer is what an image manifest says about one file.
type layer struct {
	MediaType string `json:"mediaType"`
	Digest    string `json:"digest"`
	Size      int64  `json:"size"`
}

// layer returns the contents of the only layer of a type, nil if there is none.
func (g *registry) layer(ctx context.Context, layers []layer, kind string, most int64) (content []byte, err error) {
	found := 0
	for _, l := range layers {
		if l.MediaType != kind {
			continue
		}
		if found++; found > 1 || l.Size < 0 || l.Size > most || len(l.Digest) != len("sha256:")+64 {
			return nil, g.errorf(codeFetch, "%s: got a second layer of type %s, or one that is too large, or without SHA-256", g.config.URL, kind)
		}
		if content, err = g.read(ctx, "/blobs/"+l.Digest, l.Size); err != nil {
			return nil, err
		}
		if sumOf(content) != l.Digest {
			return nil, g.errorf(codeFetch, "%s: got other bytes than those of the layer %s", g.config.URL, l.Digest)
		}
		if content == nil {
			content = []byte{}
		}
	}
	return content, nil
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// read gets a file of the repository. If the registry asks who this is, read answers once.
func (g *registry) read(ctx context.Context, path string, most int64) ([]byte, error) {
	for {
		header := http.Header{"Accept": {manifestTypes}}
		if g.auth != "" {
			header.Set("Authorization", g.auth)
		}
		content, _, err := g.get(ctx, g.client, g.base+path, header, most)
		status, ok := errors.AsType[*statusError](err)
		if !ok || status.code != http.StatusUnauthorized || g.auth != "" {
			return content, err
		}
		if g.auth, err = g.authorize(ctx, status.header.Get("WWW-Authenticate")); err != nil {
			return nil, err
		}
	}
}

// authorize returns the header Authorization for the challenge of a registry: the password of the user's
// docker config, or the token that a token server gives for it, or to anybody.
func (g *registry) authorize(ctx context.Context, challenge string) (string, error) {
	basic, err := g.password(ctx)
	if err != nil {
		return "", err
	}
	kind, rest, _ := strings.Cut(challenge, " ")
	if strings.EqualFold(kind, "Basic") && basic != "" {
		return basic, nil
	}
	params := parseChallenge(rest)
	realm, err := url.Parse(params["realm"])
	if !strings.EqualFold(kind, "Bearer") || err != nil || realm.Scheme != "https" && !loopback.Is(realm.Hostname()) {
		return "", g.errorf(codeFetch, "%s: the registry asks for a password: docker login %s stores one", g.config.URL, g.host)
	}
	query := realm.Query()
	query.Set("service", params["service"])
	query.Set("scope", "repository:"+g.name+":pull")
	realm.RawQuery = query.Encode()
	header := http.Header{}
	if basic != "" {
		header.Set("Authorization", basic)
	}
	text, _, err := g.get(ctx, g.client, realm.String(), header, maxImage)
	if err != nil {
		return "", err
	}
	var answer struct {
		Token       string `json:"token"`
		AccessToken string `json:"access_token"`
	}
	if err := json.Unmarshal(text, &answer); err != nil || answer.Token+answer.AccessToken == "" {
		return "", g.errorf(codeFetch, "%s: got no token", withoutQuery(realm.String()))
	}
	return "Bearer " + cmp.Or(answer.Token, answer.AccessToken), nil
}

// parseChallenge returns the parameters of a challenge: realm="...",service="...".
func parseChallenge(text string) map[string]string {
	params := map[string]string{}
	for len(params) < 10 {
		name, rest, ok := strings.Cut(text, `="`)
		if !ok {
			break
		}
		value, rest, _ := strings.Cut(rest, `"`)
		params[strings.ToLower(strings.Trim(name, " ,"))] = value
		text = rest
	}
	return params
}

// password returns the header for the password that docker login stored for the registry, "" for none.
func (g *registry) password(ctx context.Context) (string, error) {
	folder := cmp.Or(g.Getenv("DOCKER_CONFIG"), filepath.Join(g.Getenv("HOME"), ".docker"))
	text, err := disk.Read(filepath.Join(folder, "config.json"))
	if err != nil {
		return "", nil // most registries of policies need none
	}
	var config struct {
		Auths map[string]struct {
			Auth string `json:"auth"`
		} `json:"auths"`
		CredHelpers map[string]string `json:"credHelpers"`
		CredsStore  string            `json:"credsStore"`
	}
	if err := json.Unmarshal(text, &config); err != nil {
		return "", g.errorf(codeFetch, "%s: it is no JSON of docker", filepath.Join(folder, "config.json"))
	}
	if auth := config.Auths[g.host].Auth; auth != "" {
		return "Basic " + auth, nil
	}
	helper := cmp.Or(config.CredHelpers[g.host], config.CredsStore)
	if helper == "" {
		return "", nil
	}
	return g.askHelper(ctx, helper)
}

// askHelper asks one of docker's programs for the password of the registry.
func (g *registry) askHelper(ctx context.Context, helper string) (string, error) {
	if strings.Trim(helper, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return "", g.errorf(codeFetch, "docker config: got the helper %s, want the end of the name of a program docker-credential-NAME", errtext.Brief(helper))
	}
	cmd := exec.CommandContext(ctx, "docker-credential-"+helper, "get")
	cmd.Stdin = strings.NewReader(g.host)
	cmd.WaitDelay = time.Second
	pipe, err := cmd.StdoutPipe()
	var out []byte
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		out, err = io.ReadAll(io.LimitReader(pipe, maxImage))
		err = errors.Join(err, pipe.Close(), cmd.Wait()) // a longer answer ends the program
	}
	if err != nil {
		return "", g.errorf(codeFetch, "docker-credential-%s: %s", helper, errtext.Clip(err.Error())) // never its output
	}
	var answer struct{ Username, Secret string }
	if err := json.Unmarshal(out, &answer); err != nil {
		return "", g.errorf(codeFetch, "docker-credential-%s: got no JSON", helper)
	}
	return "Basic " + base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%s:%s", answer.Username, answer.Secret)), nil
}
