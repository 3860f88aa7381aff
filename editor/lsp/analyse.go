package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/starnames"
)

// schedule asks for an analysis of a document, when the user stops typing.
func (s *server) schedule(uri string) {
	if len(s.waiting) == 0 {
		s.since = time.Now()
	}
	s.waiting[uri] = true
	s.timer.Reset(min(quiet, max(0, maxWait-time.Since(s.since))))
}

// analyse starts the analysis of a document that waits for one. Only one runs at a time.
func (s *server) analyse() {
	if s.working || len(s.waiting) == 0 {
		return
	}
	uri := slices.Min(slices.Collect(maps.Keys(s.waiting)))
	d := s.docs[uri]
	delete(s.waiting, uri)
	if d == nil {
		s.analyse()
		return
	}
	key := s.key(d)
	job := Job{Dir: s.folder(d), Path: d.path, Unsaved: map[string]string{}}
	var docs []*document
	texts := map[*document]string{}
	for _, other := range s.docs {
		if !other.isCase {
			job.Unsaved[other.path] = other.text
		}
		if s.key(other) == key { // one analysis is about all of them
			delete(s.waiting, other.uri)
			docs, texts[other] = append(docs, other), other.text
		}
	}
	s.working = true
	go func() {
		ctx, cancel := context.WithTimeout(s.ctx, maxAnalysis)
		defer cancel()
		found, err := s.check(ctx, job)
		if ctx.Err() != nil && s.ctx.Err() == nil {
			err = fmt.Errorf("the analysis of %s took over %v", errtext.CutTo(filepath.Base(job.Path), 100, "…"), maxAnalysis)
		}
		s.handBack(func() { s.analysed(key, docs, texts, found, err) })
	}()
}

// check calls the analysis. A panic becomes an error.
func (s *server) check(ctx context.Context, job Job) (found Analysis, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("internal error: %v; this is a bug of starhost", p)
		}
	}()
	return s.options.Check(ctx, job), nil
}

// handBack runs a function on the goroutine of the server.
func (s *server) handBack(task func()) {
	select {
	case s.tasks <- task:
	case <-s.ctx.Done():
	}
}

// analysed shows the findings of an analysis, and starts the next one.
func (s *server) analysed(key string, docs []*document, texts map[*document]string, found Analysis, err error) {
	s.working = false
	defer s.timer.Reset(quiet)
	if err != nil {
		_ = s.logError("check", err)
		return
	}
	if found.Facts != nil && (!found.Failed || s.byRoot[key] == nil) { // a broken plugin registers nothing
		s.byRoot[key] = found.Facts
	}
	for _, d := range docs {
		if s.docs[d.uri] != d || d.isCase || d.text != texts[d] {
			continue // closed, or edited since: the next analysis is about it
		}
		d.shown, d.shownText = s.diagnostics(d, found.Findings), d.text
		s.publish(d)
	}
}

// diagnostics returns the findings about a document. If the text does not parse, findings of the
// last one that did stay for the lines that are as they were.
func (s *server) diagnostics(d *document, findings []Finding) []diagnostic {
	list := []diagnostic{}
	for _, f := range findings {
		if f.Path != d.path || len(list) >= maxShown {
			continue
		}
		list = append(list, newDiagnostic(d.source, f))
	}
	t := d.outline()
	if t == nil || t.isCurrent {
		return list
	}
	old := newSource(d.shownText, 0, d.utf8)
	moved := tree{parsed: old}
	moved.follow(d.source)
	for _, g := range d.shown {
		from, okFrom := moved.toNow(old.offset(g.Range.Start))
		to, okTo := moved.toNow(old.offset(g.Range.End))
		if okFrom && okTo && from < to && len(list) < maxShown && !strings.HasPrefix(g.Code, syntaxCode) {
			g.Range = d.source.span(from, to)
			if !slices.ContainsFunc(list, func(h diagnostic) bool { return h.Range.Start.Line == g.Range.Start.Line }) {
				list = append(list, g)
			}
		}
	}
	return list
}

// syntaxCode is the code of mistakes that keep a text from being parsed.
const syntaxCode = "E0101"

// newDiagnostic returns a finding with the range of the word at its place.
func newDiagnostic(src *source, f Finding) diagnostic {
	at := src.offsetOf(starnames.Pos{Line: max(f.Line, 1), Col: max(f.Col, 1)})
	line := src.lineAt(at)
	end := src.lines[line] + len(src.line(line))
	n := wordLength(src.text[at:end])
	switch {
	case n > 0:
		end = at + n
	case at < end:
		end = at + 1
	case at > src.lines[line]: // behind the last character
		at--
	}
	g := diagnostic{
		Range: src.span(at, end), Severity: severities[f.Severity], Code: f.Code, Source: "starhost", Message: f.Message,
	}
	if f.Help != "" {
		g.Message += "\n" + f.Help
	}
	g.Message = errtext.CutTo(g.Message, maxText, "…")
	return g
}

// publish shows the diagnostics of a document.
func (s *server) publish(d *document) {
	list := slices.Clone(d.shown)
	if d.caseNote != nil {
		list = append(list, *d.caseNote)
	}
	if list == nil {
		list = []diagnostic{}
	}
	_ = s.notify("textDocument/publishDiagnostics", publishParams{d.uri, &d.version, list})
}

// execute runs the command of a lens: a golden case.
func (s *server) execute(p executeParams) error {
	var uri string
	if p.Command != runCase || len(p.Arguments) != 1 || json.Unmarshal(p.Arguments[0], &uri) != nil {
		return &responseError{codeInvalidParams, "want " + runCase + " with the URI of a golden case"}
	}
	d := s.docs[uri]
	switch {
	case d == nil || !d.isCase:
		return failf("%s: want an open golden case", runCase)
	case s.testing:
		return failf("%s: another case runs", runCase)
	}
	s.testing = true
	go func() {
		ctx, cancel := context.WithTimeout(s.ctx, maxCase)
		defer cancel()
		report, ok := s.options.RunCase(ctx, d.path)
		if ctx.Err() != nil && s.ctx.Err() == nil {
			report, ok = fmt.Sprintf("the case took over %v", maxCase), false
		}
		s.handBack(func() { s.caseDone(d, report, ok) })
	}()
	return nil
}

// caseDone shows the result of a golden case: a message, and a diagnostic if it failed.
func (s *server) caseDone(d *document, report string, ok bool) {
	s.testing = false
	if s.docs[d.uri] != d {
		return
	}
	d.caseNote = nil
	kind, text := messageInfo, filepath.Base(d.path)+": ok"
	if !ok {
		kind, text = messageWarning, filepath.Base(d.path)+": failed"
		at := d.source
		for _, name := range []string{"want", "rows.jsonl"} {
			if part := d.section(name); part != nil {
				at = part
				break
			}
		}
		line := max(at.first-1, 0)
		where := span{position{line, 0}, position{line, len(d.line(line))}}
		d.caseNote = &diagnostic{Range: where, Severity: severityError, Source: "starhost test", Message: errtext.CutTo(report, maxText, "…")}
	}
	s.publish(d)
	_ = s.notify("window/showMessage", messageParams{kind, text})
}
