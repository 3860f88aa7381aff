package mcp

import (
	"context"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/starhost/starhost/fragments"
)

// Bounds of the stored fragments that a client is told of.
const (
	maxNamed = 1000 // of the store, by their names
	maxKept  = 256  // of its own prompts
)

// keep notes what a prompt kept, so that its client finds it among the resources.
func (s *session) keep(rows []*fragments.Row) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range rows {
		_, known := s.kept[r.ID]
		if (r.Status == fragments.Kept || r.Status == fragments.Changed) && (known || len(s.kept) < maxKept) {
			s.kept[r.ID] = r.Source
		}
	}
}

// withStored adds the stored fragments to the last page of a list of resources:
// those with names, and those that the client's own prompts kept. What other clients
// were given is theirs, as long as nobody tells its id.
func (s *Server) withStored(ctx context.Context, ss *sdk.ServerSession, list *sdk.ListResourcesResult) (sdk.Result, error) {
	if s.options.Fragments == nil || list.NextCursor != "" {
		return list, nil
	}
	names, err := named(ctx, s.options.Fragments)
	if err != nil {
		return nil, err
	}
	ours := s.session(ss)
	ours.mu.Lock()
	defer ours.mu.Unlock()
	list.Resources = slices.Clone(list.Resources)
	for id, aliases := range names {
		list.Resources = append(list.Resources, stored(id, strings.Join(aliases, ", "), "A stored fragment."))
	}
	for id, source := range ours.kept {
		if names[id] == nil {
			list.Resources = append(list.Resources, stored(id, described(source, id.Short()), "A fragment of an earlier prompt."))
		}
	}
	slices.SortFunc(list.Resources, func(a, b *sdk.Resource) int { return strings.Compare(a.URI, b.URI) })
	return list, nil
}

// named returns the contents of a store that have names, with those, sorted.
func named(ctx context.Context, store fragments.Store) (map[fragments.Hash][]string, error) {
	all, err := store.Aliases(ctx)
	if err != nil {
		return nil, err
	}
	names := map[fragments.Hash][]string{}
	for _, name := range all[:min(len(all), maxNamed)] {
		id, ok, err := store.Alias(ctx, name)
		if err != nil {
			return nil, err
		}
		if ok { // nobody took it away meanwhile
			names[id] = append(names[id], name)
		}
	}
	return names, nil
}

// stored describes a stored fragment.
func stored(id fragments.Hash, name, description string) *sdk.Resource {
	return &sdk.Resource{Name: name, URI: uriOf("sha256:" + id.String()), Description: description, MIMEType: "text/plain"}
}
