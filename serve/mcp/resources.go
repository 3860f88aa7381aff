package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/near"
)

// scheme is the start of starhost's URIs: starhost://PREFIX/ARG is the reference PREFIX:ARG.
const scheme = "starhost://"

// uriOf returns the URI of a reference.
func uriOf(ref string) string {
	prefix, arg, _ := strings.Cut(ref, ":")
	return scheme + prefix + "/" + (&url.URL{Path: arg}).EscapedPath()
}

// fragmentPart returns the end of a URI that names a part of a resource, "" for no name.
func fragmentPart(name string) string {
	if name == "" {
		return ""
	}
	return "#" + (&url.URL{Fragment: name}).EscapedFragment()
}

// refOf returns the reference of a URI. If the URI has another scheme, it is a reference itself,
// because the scheme can be a loader's prefix.
func refOf(uri string) (string, error) {
	uri, _, _ = strings.Cut(uri, "#")
	rest, ours := strings.CutPrefix(uri, scheme)
	if !ours {
		return uri, nil
	}
	prefix, arg, _ := strings.Cut(rest, "/")
	arg, err := url.PathUnescape(arg)
	return prefix + ":" + arg, err
}

// loaders returns the loaders that clients may use, sorted by prefix: the plugins' loaders, stored
// fragments, and skills. The host's loaders of files and URLs are missing, because only a person
// may name a path or a URL.
func loaders(h *host.Host) []host.LoaderInfo {
	list := slices.DeleteFunc(h.FragmentLoaders(), func(l host.LoaderInfo) bool {
		return l.Plugin == starhost.HostPlugin && l.Prefix != "sha256"
	})
	if len(h.Skills()) > 0 {
		list = append(list, host.LoaderInfo{Prefix: "skill", Plugin: starhost.HostPlugin, Description: "A skill, by PLUGIN:NAME."})
	}
	slices.SortFunc(list, func(a, b host.LoaderInfo) int { return strings.Compare(a.Prefix, b.Prefix) })
	return list
}

// resourceTemplates describes the fragment loaders of a host.
func resourceTemplates(h *host.Host) []*sdk.ResourceTemplate {
	return jsontext.List(loaders(h), func(l *host.LoaderInfo) *sdk.ResourceTemplate {
		return &sdk.ResourceTemplate{
			Name: l.Prefix, URITemplate: scheme + l.Prefix + "/{+arg}",
			Description: descriptionOr(l.Description, "The content that the loader "+l.Prefix+" of plugin "+l.Plugin+" returns for arg."),
		}
	})
}

func templateKey(t *sdk.ResourceTemplate) string { return t.URITemplate }

func (s *Server) addTemplate(t *sdk.ResourceTemplate) { s.sdk.AddResourceTemplate(t, nil) }

// resources describes the skills of a host.
func resources(h *host.Host) []*sdk.Resource {
	return jsontext.List(h.Skills(), func(k *host.SkillInfo) *sdk.Resource {
		return &sdk.Resource{Name: k.Name, URI: uriOf(k.Reference()), Description: k.Description, MIMEType: "text/markdown"}
	})
}

func resourceKey(r *sdk.Resource) string { return r.URI }

func (s *Server) addResource(r *sdk.Resource) { s.sdk.AddResource(r, nil) }

// These limits bound the subscriptions, which the server stores until their session ends.
const (
	maxURI               = 2 << 10 // in bytes
	maxSessionSubscribed = 100     // resources of one session
	maxSubscribed        = 10_000  // subscriptions of all sessions
)

// subscribe adds a resource to a session's subscriptions.
func (s *Server) subscribe(ours *session, uri string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := 0
	for _, n := range s.subscribed {
		all += n
	}
	switch {
	case len(uri) > maxURI:
		return fmt.Errorf("subscribe: got a URI of %d bytes, want at most %d", len(uri), maxURI)
	case ours.subscribed[uri]:
		return nil
	case len(ours.subscribed) == maxSessionSubscribed:
		return fmt.Errorf("subscribe: the session has %d resources, want no more", maxSessionSubscribed)
	case all >= maxSubscribed:
		return fmt.Errorf("subscribe: all sessions together have %d subscriptions, want no more", maxSubscribed)
	}
	ours.subscribed[uri] = true
	s.subscribed[uri]++
	return nil
}

// unsubscribe removes a resource from a session's subscriptions.
func (s *Server) unsubscribe(ours *session, uri string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetSubscription(ours, uri)
}

// forgetSubscription is unsubscribe for a caller that has locked the server.
func (s *Server) forgetSubscription(ours *session, uri string) {
	if !ours.subscribed[uri] {
		return
	}
	delete(ours.subscribed, uri)
	if s.subscribed[uri]--; s.subscribed[uri] <= 0 {
		delete(s.subscribed, uri)
	}
}

// readResource loads the reference of a URI.
func (s *Server) readResource(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	uri := r.Params.URI
	ref, err := refOf(uri)
	if err != nil {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	if checkRef(s.live.Host(), ref) != nil {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	var got starhost.Context
	t, err := s.findSession(r.Session).BetweenTurns(ctx)
	if err == nil {
		got, err = load(ctx, t, ref)
		t.End(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", uri, err)
	}
	return completeRead(r, resourceContents(uri, got)), nil
}

// load loads one reference.
func load(ctx context.Context, t *host.Turn, ref string) (starhost.Context, error) {
	got, err := t.Load(ctx, []string{ref})
	if err != nil {
		return starhost.Context{}, err
	}
	return got[0], nil
}

// checkRef returns an error for a reference that clients may not load.
func checkRef(h *host.Host, ref string) error {
	prefix, arg, named := strings.Cut(ref, ":")
	var prefixes []string
	for _, l := range loaders(h) {
		switch {
		case l.Prefix != prefix || !named:
		case prefix == "sha256" && len(arg) != 2*len(fragments.Hash{}):
			return fmt.Errorf("sha256: got %q, want a whole id, because a part of it could be guessed", errtext.Cut(arg))
		default:
			return nil
		}
		prefixes = append(prefixes, l.Prefix+":")
	}
	return fmt.Errorf("no loader for %q%s, want one of %s", errtext.Cut(ref), near.DidYouMean(prefix+":", prefixes), strings.Join(prefixes, ", "))
}

// resourceContents converts a loader's result. If it has several parts, each part's URI ends with
// its source.
func resourceContents(uri string, c starhost.Context) []*sdk.ResourceContents {
	several := len(c.Fragments)+len(c.Attachments) > 1
	at := func(source string) string {
		if several {
			return uri + fragmentPart(source)
		}
		return uri
	}
	list := []*sdk.ResourceContents{}
	for _, f := range c.Fragments {
		list = append(list, &sdk.ResourceContents{URI: at(f.Source), MIMEType: "text/plain", Text: f.Content})
	}
	for i := range c.Attachments {
		a := &c.Attachments[i]
		if a.URL != "" {
			list = append(list, &sdk.ResourceContents{URI: a.URL, MIMEType: a.Type})
			continue
		}
		list = append(list, resourceContent(at(descriptionOr(a.Name, a.Source)), a))
	}
	return list
}

// LoaderTool returns a plugin with the tool load_fragment, for clients that do not use resources.
// It returns false if the host has no loaders for clients. Hooks guard the tool like any other.
func LoaderTool(h *host.Host) (starhost.Plugin, bool) {
	all := loaders(h)
	if len(all) == 0 {
		return starhost.Plugin{}, false
	}
	var doc strings.Builder
	doc.WriteString("Loads what a reference of the form PREFIX:ARGUMENT stands for. The prefixes are:")
	for _, l := range all {
		fmt.Fprintf(&doc, "\n%s: %s", l.Prefix, descriptionOr(l.Description, "of plugin "+l.Plugin))
	}
	return starhost.Plugin{Name: "load-fragment", Tools: []starhost.Tool{{
		Name: "load_fragment", Description: doc.String(),
		Parameters: []byte(`{"type":"object","properties":{"ref":{"type":"string","description":"The reference, as PREFIX:ARGUMENT."}},"required":["ref"],"additionalProperties":false}`),
		Call: func(ctx context.Context, call starhost.ToolCall) (starhost.Result, error) {
			return loadFragment(ctx, h, call)
		},
	}}}, true
}

// loadFragment implements the tool load_fragment.
func loadFragment(ctx context.Context, h *host.Host, call starhost.ToolCall) (starhost.Result, error) {
	var args struct{ Ref string }
	if err := json.Unmarshal(call.Arguments, &args); err != nil { // the host has checked the arguments
		return starhost.Result{}, err
	}
	if err := checkRef(h, args.Ref); err != nil {
		return starhost.Result{ForLLM: err.Error(), IsError: true}, nil
	}
	got, err := load(ctx, host.TurnOf(ctx), args.Ref)
	if _, ok := errors.AsType[*host.RefError](err); ok {
		return starhost.Result{ForLLM: err.Error(), IsError: true}, nil
	}
	if err != nil {
		return starhost.Result{}, err
	}
	merged := fragments.Merge(got.Fragments).Fragments()
	texts := jsontext.List(merged, func(f *fragments.Fragment) string { return f.Content })
	return starhost.Result{ForLLM: strings.Join(texts, "\n"), Attachments: got.Attachments}, nil
}
