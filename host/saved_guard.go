// This file lets a session remember its guards, so that the host notices if one is gone.

package host

import (
	"cmp"
	"slices"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/internal/errtext"
)

// gone returns the error that a guard which the session had is gone.
func (g *Guard) gone() error {
	if g.Name == "" {
		return errtext.Errorf("this session had a guard (%s) and has none now", cmp.Or(g.From, "not loaded"))
	}
	return errtext.Errorf("this session had the required guard %s (%s), which is not loaded now", g.Name, g.From)
}

// allGuards returns the guards that sessions remember, with the lost ones: a session may begin while its only
// guard is lost.
func (r *registry) allGuards() []Guard {
	forAny := func(g Guard) bool { return g.Name == "" }
	if len(r.lost) == 0 || slices.ContainsFunc(r.guards, forAny) {
		return r.guards
	}
	return append(slices.Clip(r.guards), Guard{From: r.lost[0].Name})
}

// missing returns the guards of a session that the registry does not have, neither loaded nor lost.
func (r *registry) missing(had []Guard) (lost []Guard) {
	for i := range had {
		if g := &had[i]; !r.hasGuard(g) && (g.Name != "" || lost == nil) { // without a name it may be one of the others
			lost = append(lost, Guard{Name: g.Name, Err: g.gone(), Events: g.Events})
		}
	}
	return lost
}

// hasGuard reports whether the guard of a session is loaded, or known to be lost by [Host.Lose]. A plugin of
// the same name that comes from elsewhere, or that only warns, is not that guard.
func (r *registry) hasGuard(g *Guard) bool {
	if g.Name == "" {
		return len(r.lost) > 0 || slices.ContainsFunc(r.guards, func(o Guard) bool { return o.Name == "" })
	}
	return slices.ContainsFunc(r.lost, func(o Guard) bool { return o.Name == g.Name }) ||
		slices.ContainsFunc(r.plugins, func(p *starhost.Plugin) bool { return p.Name == g.Name && p.From == g.From && !p.Warn })
}

// Remember returns the guards that a session remembers: those that it had, which stay as they were, and then
// the host's other guards.
func (h *Host) Remember(had []Guard) []Guard { return h.registry.Load().remember(had) }

func (r *registry) remember(had []Guard) []Guard {
	for _, g := range r.allGuards() {
		if !slices.ContainsFunc(had, func(o Guard) bool { return o.Name == g.Name }) {
			had = append(slices.Clip(had), g)
		}
	}
	return had
}

// Missing returns the guards that a session had and the host does not have, each with the reason.
func (h *Host) Missing(had []Guard) []Guard { return h.registry.Load().missing(had) }

// Losing returns a host with the current plugins that has lost further guards, for one session.
func (h *Host) Losing(guards ...Guard) *Host {
	o := &Host{opts: h.opts, optionsErr: h.optionsErr, hashes: h.hashes}
	o.live = NewLiveHost(o)
	o.registry.Store(h.registry.Load().withLost(guards))
	return o
}

// guarded returns the registry for the session's next turn. It has lost the guards that the session had and
// that are gone. The caller has the session's token.
func (s *Session) guarded(r *registry) *registry {
	if s.checked != r {
		s.checked, s.registry = r, r.withLost(r.missing(s.guards))
		s.guards = r.remember(s.guards)
	}
	return s.registry
}
