package starlark

import (
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// This file makes the rewriter instrument a file for [Coverage]: it puts a probe, a call that
// counts, before each statement and around each condition. Probes are steps like any other. So a
// covered run may take more steps than its limit says: see coveredSteps.

// The names that probes call.
const (
	lineProbe   = "$line"
	branchProbe = "$arm"
)

// isProbe reports whether a name is one that probes call.
func isProbe(name string) bool { return name == lineProbe || name == branchProbe }

// coveredSteps is the number of interpreter steps that count as one while coverage is measured, so
// that no run fails because of its probes. A list of statements `if x: pass` grows most, by a
// factor of 4.3.
const coveredSteps = 8

// stepRate is the number of interpreter steps for one step of a limit, an allowance or a usage.
func (s *Sandbox) stepRate() uint64 {
	if s.coverage != nil {
		return coveredSteps
	}
	return 1
}

// probeSites are the places of a file at which something is counted.
type probeSites struct {
	counters int // numbers from 1
	lines    []lineSite
	branches []branchSite
}

type lineSite struct{ line, counter int }

type branchSite struct{ line, col, yes, no int }

func (s *probeSites) counter() int {
	s.counters++
	return s.counters
}

// instrument is compile with probes, and returns what they count.
func (s *Sandbox) instrument(f *File, extra starlark.StringDict) (*starlark.Program, []string, *probeSites, error) {
	sites := &probeSites{}
	program, uses, err := s.compile(f, extra, sites)
	return program, uses, sites, err
}

// isCounted reports whether a statement counts as a line: pass and strings do nothing.
func isCounted(s syntax.Stmt) bool {
	switch s := s.(type) {
	case *syntax.BranchStmt:
		return s.Token != syntax.PASS
	case *syntax.ExprStmt:
		_, literal := s.X.(*syntax.Literal)
		return !literal
	}
	return true
}

// lineProbeStmt returns the probe of a statement that begins at pos.
func (r *rewriter) lineProbeStmt(pos syntax.Position) syntax.Stmt {
	n := r.sites.counter()
	r.sites.lines = append(r.sites.lines, lineSite{int(pos.Line), n})
	return &syntax.ExprStmt{X: probeCall(pos, lineProbe, intLiteral(pos, n))}
}

// rewriteCondition rewrites the condition of the if, or elif, at pos, with a probe of its outcome.
func (r *rewriter) rewriteCondition(pos syntax.Position, e syntax.Expr) syntax.Expr {
	if r.sites == nil {
		return r.expr(e)
	}
	yes, no := r.sites.counter(), r.sites.counter()
	r.sites.branches = append(r.sites.branches, branchSite{int(pos.Line), int(pos.Col), yes, no})
	return probeCall(pos, branchProbe, intLiteral(pos, yes), intLiteral(pos, no), r.expr(e))
}

func probeCall(pos syntax.Position, name string, args ...syntax.Expr) *syntax.CallExpr {
	return &syntax.CallExpr{Fn: ident(pos, name), Lparen: pos, Args: args, Rparen: pos}
}
