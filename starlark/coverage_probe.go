package starlark

import (
	"go.starlark.net/syntax"
)

// This file lets the rewriter instrument a file for [Coverage]. A probe is a call that counts; the
// rewriter puts one before each statement and around each condition. Probes are steps like any
// other, so a run that is measured may take more steps than its limit; see coveredSteps.

// These are the names of the functions that probes call.
const (
	lineProbe   = "$line"
	branchProbe = "$arm"
)

// isProbe reports whether probes call a function of that name.
func isProbe(name string) bool { return name == lineProbe || name == branchProbe }

// coveredSteps is the number of interpreter steps that count as one while coverage is measured, so
// that no run fails because of its probes. A list of statements `if x: pass` grows most, by a
// factor of 4.3.
const coveredSteps = 8

// probeSites are the places of a file that have a probe.
type probeSites struct {
	counters int // the number of counters; their numbers begin with 1
	lines    []lineSite
	branches []branchSite
}

type lineSite struct{ line, counter int }

type branchSite struct{ line, col, yes, no int }

func (s *probeSites) counter() int {
	s.counters++
	return s.counters
}

// isCounted reports whether a statement counts as a line. Strings and pass statements do not.
func isCounted(s syntax.Stmt) bool {
	if start, _ := s.Span(); start.Line < 1 {
		return false // a line of the host's, which ParseBehind put before the file
	}
	switch s := s.(type) {
	case *syntax.BranchStmt:
		return s.Token != syntax.PASS
	case *syntax.ExprStmt:
		_, literal := s.X.(*syntax.Literal)
		return !literal
	}
	return true
}

// lineProbeStmt returns the probe that counts a statement that begins at pos.
func (r *rewriter) lineProbeStmt(pos syntax.Position) syntax.Stmt {
	n := r.sites.counter()
	r.sites.lines = append(r.sites.lines, lineSite{int(pos.Line), n})
	return &syntax.ExprStmt{X: probeCall(pos, lineProbe, intLiteral(pos, n))}
}

// probeCondition returns the condition of the if or elif at pos, rewritten and with a probe.
func (r *rewriter) probeCondition(pos syntax.Position, e syntax.Expr) syntax.Expr {
	yes, no := r.sites.counter(), r.sites.counter()
	r.sites.branches = append(r.sites.branches, branchSite{int(pos.Line), int(pos.Col), yes, no})
	return probeCall(pos, branchProbe, intLiteral(pos, yes), intLiteral(pos, no), r.expr(e))
}

func probeCall(pos syntax.Position, name string, args ...syntax.Expr) *syntax.CallExpr {
	return &syntax.CallExpr{Fn: ident(pos, name), Lparen: pos, Args: args, Rparen: pos}
}
