package decision

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// A Filter selects records; its zero value selects all.
type Filter struct {
	Session, Plugin, Tool string   // tool is a glob, or kind:KIND
	Actions, Approvals    []string // nil for all
}

// Selects reports whether the filter selects a record.
func (f *Filter) Selects(r *Record) bool {
	isPlugin := func(h Handler) bool { return h.Plugin == f.Plugin }
	isAsker := func(d Decision) bool { return d.Plugin == f.Plugin }
	approval := cmp.Or(r.Approval, &Approval{})
	switch {
	case f.Session != "" && r.Session != f.Session:
		return false
	case f.Plugin != "" && !slices.ContainsFunc(r.Handlers, isPlugin) &&
		!slices.ContainsFunc(approval.Asks, isAsker):
		return false
	case f.Actions != nil && !slices.Contains(f.Actions, r.Decision.Action) && !slices.Contains(f.Actions, r.Answered):
		return false
	case f.Approvals != nil && !slices.Contains(f.Approvals, approval.By) &&
		(r.Approval == nil || !slices.Contains(f.Approvals, "any")):
		return false
	}
	kind, isKind := strings.CutPrefix(f.Tool, "kind:")
	if isKind {
		return r.Kind == kind
	}
	fits, _ := path.Match(f.Tool, r.Tool)
	return f.Tool == "" || fits
}
