package mcp

import (
	"context"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/starhost/starhost/fragments"
)

// These limits bound the stored fragments in a client's list of resources.
const (
	maxNamedFragments = 1000 // with a name in the store
	maxSentFragments  = 256  // from the client's own prompts
)

// recordFragments records the fragments of a prompt, so that its client finds them among the
// resources.
func (s *session) recordFragments(rows []*fragments.Row) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range rows {
		_, listed := s.sentFragments[r.ID]
		sent := r.Status == fragments.Kept || r.Status == fragments.Changed
		if sent && (listed || len(s.sentFragments) < maxSentFragments) {
			s.sentFragments[r.ID] = r.Source
		}
	}
}

// addStored adds stored fragments to the last page of a list of resources: fragments with a name,
// and fragments of the client's own prompts. The list omits the fragments of other clients'
// prompts: only a client that knows their ids may read them.
func (s *Server) addStored(
	ctx context.Context, ss *sdk.ServerSession, list *sdk.ListResourcesResult,
) (sdk.Result, error) {
	if s.options.Fragments == nil || list.NextCursor != "" {
		return list, nil
	}
	names, err := namedFragments(ctx, s.options.Fragments)
	if err != nil {
		return nil, err
	}
	ours := s.findSession(ss)
	ours.mu.Lock()
	defer ours.mu.Unlock()
	list.Resources = slices.Clone(list.Resources)
	for id, aliases := range names {
		list.Resources = append(list.Resources, storedResource(id, strings.Join(aliases, ", "), "A stored fragment."))
	}
	for id, source := range ours.sentFragments {
		if names[id] == nil {
			list.Resources = append(list.Resources, storedResource(id, descriptionOr(source, id.Short()), "A fragment of an earlier prompt."))
		}
	}
	slices.SortFunc(list.Resources, func(a, b *sdk.Resource) int { return strings.Compare(a.URI, b.URI) })
	return list, nil
}

// namedFragments returns the stored fragments that have names, with their names in order.
func namedFragments(ctx context.Context, store fragments.Store) (map[fragments.Hash][]string, error) {
	all, err := store.Aliases(ctx)
	if err != nil {
		return nil, err
	}
	names := map[fragments.Hash][]string{}
	for _, name := range all[:min(len(all), maxNamedFragments)] {
		id, ok, err := store.Alias(ctx, name)
		if err != nil {
			return nil, err
		}
		if ok { // the name can have gone since
			names[id] = append(names[id], name)
		}
	}
	return names, nil
}

// storedResource describes a stored fragment.
func storedResource(id fragments.Hash, name, description string) *sdk.Resource {
	return &sdk.Resource{Name: name, URI: uriOf("sha256:" + id.String()), Description: description, MIMEType: "text/plain"}
}
