package effects

import "github.com/starhost/starhost/host"

// An Owner says under which name sessions and the store have a plugin's values.
type Owner struct {
	// Name is the name that the values are stored under. Two plugins can have one name, so Name also says
	// where the plugin comes from.
	Name string
	// Layer says which layer's budget the plugin's values in a session use: "managed", "project" for a
	// project that nobody trusts, or "" for all others. No layer can use up the room of another.
	Layer string
}

// owner returns the name that the plugin's values are stored under.
func (w *World) owner() string {
	if w.Owner == nil {
		return w.Plugin
	}
	return w.Owner().Name
}

// state returns the plugin's values in a session.
func (w *World) state(s *host.Session) *State {
	state := StateOf(s, w.owner())
	if w.Owner != nil {
		state.SetLayer(w.Owner().Layer)
	}
	return state
}
