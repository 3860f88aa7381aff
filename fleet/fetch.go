package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/starhost/starhost/bundle"
	"github.com/starhost/starhost/internal/errtext"
)

// fetched is an archive that nobody has checked yet.
type fetched struct {
	archive, signature []byte
	etag               string
	same               bool // the server says that the archive is the active one
}

// errSlow is the cause of the end of a download that takes too long.
var errSlow = errors.New("too slow")

// fetch gets the archive and its signature, unless the server says that the archive still has etag.
func (r *round) fetch(ctx context.Context, etag string) (got fetched, err error) {
	u, err := url.Parse(r.config.URL)
	if err != nil {
		return got, r.errorf(codeFetch, "url: %s", errtext.Clip(err.Error()))
	}
	switch u.Scheme {
	case "file":
		got, err = r.fetchFile(filepath.FromSlash(u.Path))
	case "oci":
		got, err = r.fetchImage(ctx, u, etag)
	default:
		got, err = r.fetchURL(ctx, u, etag)
	}
	if err == nil && !got.same && !bundle.IsArchive(got.archive) {
		err = r.errorf(codeFetch, "%s: got no tar.gz", r.config.URL)
	}
	return got, err
}

// fetchFile reads the archive from the disk, or from a folder that the system mounts.
func (r *round) fetchFile(name string) (got fetched, err error) {
	if got.archive, err = bundle.ReadArchive(name); err != nil {
		return got, r.errorf(codeFetch, "%s: %s", r.config.URL, errtext.Clip(err.Error()))
	}
	got.signature, err = bundle.ReadArchive(name + bundle.SignatureSuffix)
	if errors.Is(err, os.ErrNotExist) {
		return got, r.unsigned()
	}
	if err != nil {
		return got, r.errorf(codeFetch, "%s: %s", r.config.URL+bundle.SignatureSuffix, errtext.Clip(err.Error()))
	}
	return got, nil
}

func (r *round) unsigned() error {
	return r.errorf("E1002", "%s: got no signature, want the file %s of starhost bundle sign", r.config.URL, filepath.Base(r.config.URL)+bundle.SignatureSuffix)
}

// fetchURL gets the archive from a web server.
func (r *round) fetchURL(ctx context.Context, u *url.URL, etag string) (got fetched, err error) {
	client := newClient(func(to *url.URL) bool { return to.Host == u.Host || slices.Contains(r.config.Redirects, to.Host) })
	header := http.Header{}
	if etag != "" {
		header.Set("If-None-Match", etag)
	}
	got.archive, header, err = r.get(ctx, client, u.String(), header, bundle.MaxBytes)
	if status, ok := errors.AsType[*statusError](err); ok && status.code == http.StatusNotModified && etag != "" {
		return fetched{same: true}, nil
	}
	if err != nil {
		return got, err
	}
	if kind := header.Get("Content-Type"); !bundle.IsArchive(got.archive) {
		return got, r.errorf(codeFetch, "%s: got %s, want a tar.gz: does this network ask for a log-in?", r.config.URL, errtext.Brief(kind))
	}
	if got.etag = header.Get("ETag"); len(got.etag) > 200 {
		got.etag = ""
	}
	got.signature, _, err = r.get(ctx, client, u.String()+bundle.SignatureSuffix, nil, bundle.MaxSignature)
	if status, ok := errors.AsType[*statusError](err); ok && (status.code == http.StatusNotFound || status.code == http.StatusGone) {
		err = r.unsigned()
	}
	return got, err
}

// newClient returns a client that keeps no connection, takes bytes as they are, and goes to another address
// only if allowed says so.
func newClient(allowed func(*url.URL) bool) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableCompression, transport.DisableKeepAlives = true, true
	transport.MaxResponseHeaderBytes = 64 << 10
	return &http.Client{Transport: transport, CheckRedirect: func(req *http.Request, via []*http.Request) error {
		switch {
		case len(via) > 5:
			return errors.New("got more than 5 redirects")
		case via[0].URL.Scheme == "https" && req.URL.Scheme != "https":
			return errors.New("got a redirect away from https")
		case !allowed(req.URL):
			return fmt.Errorf("got a redirect to %s, want one of the same host (redirects = [%q] allows it)", req.URL.Host, req.URL.Host)
		}
		return nil
	}}
}

// A statusError is an answer of a server that is no file.
type statusError struct {
	error
	code   int
	header http.Header
}

func (e *statusError) Unwrap() error { return e.error }

// get returns the body of an answer with status 200, of at most most bytes, and its header.
func (r *round) get(ctx context.Context, client *http.Client, address string, header http.Header, most int64) ([]byte, http.Header, error) {
	fail := func(err error) ([]byte, http.Header, error) {
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err // without the address, which is in front already
		}
		if context.Cause(ctx) == errSlow {
			err = fmt.Errorf("it took more than %v", r.Wait)
		}
		return nil, nil, r.errorf(codeFetch, "%s: %s", withoutQuery(address), errtext.Clip(err.Error()))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return fail(err)
	}
	if header != nil {
		req.Header = header
	}
	req.Header.Set("User-Agent", "starhost")
	resp, err := client.Do(req)
	if err != nil {
		return fail(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		err := r.errorf(codeFetch, "%s: got status %d %s, want 200", withoutQuery(address), resp.StatusCode, http.StatusText(resp.StatusCode))
		return nil, nil, &statusError{err, resp.StatusCode, resp.Header}
	}
	if resp.ContentLength > most {
		return fail(fmt.Errorf("got %d bytes, want at most %d", resp.ContentLength, most))
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	if err == nil && int64(len(body)) > most {
		err = fmt.Errorf("got more than %d bytes, want at most that", most)
	}
	if err != nil {
		return fail(err)
	}
	return body, resp.Header, nil
}

// withoutQuery returns an address for messages: what is behind ? can be a secret of a token server.
func withoutQuery(address string) string {
	address, _, _ = strings.Cut(address, "?")
	return address
}
