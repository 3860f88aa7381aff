package ui

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/starhost/starhost/decision"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/texttable"
)

// Bounds of the index of the decision log.
const (
	maxRows   = 40_000 // the newest records, of at most 3 KB each
	maxShown  = 200    // records of one answer
	maxGroups = 20     // groups of each count of one answer
	maxReason = 200    // bytes of a text
	maxAsked  = 100    // bytes of what was asked
	buckets   = 48     // bars in the chart
)

// A row is what lists and filters show of a record.
type row struct {
	ID       string    `json:"id"`
	Time     time.Time `json:"time"`
	Agent    string    `json:"agent"`
	Session  string    `json:"session"`
	Event    string    `json:"event"`
	Tool     string    `json:"tool"`
	Kind     string    `json:"kind"`
	Asked    string    `json:"asked"` // the command, path or address of the call, cut
	Action   string    `json:"action"`
	Answered string    `json:"answered"`
	Plugin   string    `json:"plugin"`
	Reason   string    `json:"reason"`
	Pos      string    `json:"pos"`
}

// An index has the newest records of the decision log in memory, in the order of the files.
type index struct {
	mu      sync.Mutex
	rows    []row
	isWhole bool              // all records at the start are in it
	problem string            // why it reads no more
	older   int               // records that were dropped
	costs   map[costKey]*cost // sums over all records
}

func newIndex() *index { return &index{costs: map[costKey]*cost{}} }

// read adds the records of a folder, and those that programs write, until ctx ends. It calls
// changed after each batch.
func (x *index) read(ctx context.Context, dir string, changed func()) error {
	added := 0
	wait := func() error {
		x.mu.Lock()
		isFirst := !x.isWhole
		x.isWhole = true
		x.mu.Unlock()
		if added > 0 || isFirst {
			changed()
		}
		added = 0
		return nil
	}
	var r decision.Reader
	for record, err := range r.Follow(ctx, dir, wait) {
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			x.mu.Lock()
			x.problem = err.Error()
			x.mu.Unlock()
			return err
		}
		x.add(record)
		added++
	}
	return nil
}

// add adds a record. It drops the oldest half before, if there are too many.
func (x *index) add(r *decision.Record) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.rows) >= maxRows { // answers may still read the old array
		kept := x.rows[len(x.rows)/2:]
		x.older += len(x.rows) - len(kept)
		x.rows = append(make([]row, 0, maxRows), kept...)
	}
	x.addCosts(r)
	d := &r.Decision
	x.rows = append(x.rows, row{
		ID: r.ID, Time: r.Time, Session: r.Session, Agent: r.Agent, Event: r.Event, Tool: r.Tool,
		Kind: r.Kind, Action: d.Action, Answered: r.Answered, Plugin: d.Plugin, Reason: d.Reason, Pos: d.Pos,
		Asked: texttable.EscapeLine(r.Asked(maxAsked)),
	}.own())
}

// own returns a row with copies of its texts, so that it keeps no record in memory.
func (r row) own() row {
	r.Asked = strings.Clone(r.Asked)
	for _, text := range []*string{
		&r.ID, &r.Session, &r.Agent, &r.Event, &r.Tool, &r.Kind, &r.Action, &r.Answered, &r.Plugin, &r.Reason, &r.Pos,
	} {
		*text = strings.Clone(errtext.CutTo(*text, maxReason, "…"))
	}
	return r
}

// A filter chooses rows.
type filter struct {
	since                                  time.Time
	agent, session, plugin, event, actions string
	tool                                   string // a glob, or kind:KIND
	text                                   string // a part of a text of the row
}

// readFilter reads a filter from a query.
func readFilter(q url.Values, now time.Time) (f filter, err error) {
	f = filter{
		agent: q.Get("agent"), session: q.Get("session"), plugin: q.Get("plugin"), event: q.Get("event"),
		actions: q.Get("action"), tool: q.Get("tool"), text: strings.ToLower(q.Get("text")),
	}
	if span := q.Get("since"); span != "" {
		d, err := time.ParseDuration(span)
		if err != nil {
			return f, fmt.Errorf("since: got %.50q, want a span such as 24h", span)
		}
		f.since = now.Add(-d)
	}
	if _, err := path.Match(f.tool, ""); err != nil {
		return f, fmt.Errorf("tool: %.50q is no glob", f.tool)
	}
	return f, nil
}

// matches reports whether a filter chooses a row.
func (f *filter) matches(r *row) bool {
	switch {
	case !f.since.IsZero() && r.Time.Before(f.since),
		f.agent != "" && r.Agent != f.agent,
		f.session != "" && r.Session != f.session,
		f.plugin != "" && r.Plugin != f.plugin,
		f.event != "" && r.Event != f.event,
		f.actions != "" && !contains(f.actions, r.Action) && !contains(f.actions, r.Answered),
		!decision.FitsTool(f.tool, r.Kind, r.Tool): // readFilter checked the glob
		return false
	}
	texts := []string{r.Tool, r.Asked, r.Reason, r.Plugin, r.Session, r.ID}
	return f.text == "" || slices.ContainsFunc(texts, func(s string) bool {
		return strings.Contains(strings.ToLower(s), f.text)
	})
}

// contains reports whether a list with commas has a word.
func contains(list, word string) bool { return strings.Contains(","+list+",", ","+word+",") }

// A group is a number of records that have something in common.
type group struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}

// A bucket is a part of the chart.
type bucket struct {
	Time   time.Time `json:"time"`
	All    int       `json:"all"`
	Denied int       `json:"denied"` // refused or asked
}

// A summary is the answer for a filter.
type summary struct {
	Total    int      `json:"total"`
	Matched  int      `json:"matched"`
	IsWhole  bool     `json:"whole"`
	Problem  string   `json:"problem"`
	Older    int      `json:"older"` // records that are only in the files of the log
	Rows     []row    `json:"rows"`  // the newest first
	Actions  []group  `json:"actions"`
	Plugins  []group  `json:"plugins"`
	Reasons  []group  `json:"reasons"`
	Agents   []group  `json:"agents"`
	Chart    []bucket `json:"chart"`
	Seconds  float64  `json:"seconds"` // a bucket's length
	Unlisted int      `json:"unlisted"`
}

// summarize returns what a filter chooses.
func (x *index) summarize(f *filter) *summary {
	x.mu.Lock()
	rows := x.rows // add never changes a row
	s := &summary{Total: len(rows), IsWhole: x.isWhole, Problem: x.problem, Older: x.older, Rows: []row{}}
	x.mu.Unlock()
	actions, plugins, reasons, agents := map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}
	var matched []*row
	for i := range slices.Backward(rows) {
		r := &rows[i]
		if !f.matches(r) {
			continue
		}
		matched = append(matched, r)
		if len(s.Rows) < maxShown {
			s.Rows = append(s.Rows, *r)
		}
		actions[r.Answered]++
		agents[r.Agent]++
		if r.Plugin != "" {
			plugins[r.Plugin]++
		}
		if r.Reason != "" {
			reasons[r.Reason]++
		}
	}
	s.Matched, s.Unlisted = len(matched), len(matched)-len(s.Rows)
	s.Actions, s.Plugins, s.Reasons, s.Agents = groups(actions), groups(plugins), groups(reasons), groups(agents)
	s.addChart(matched)
	return s
}

// groups returns the largest groups, the largest first.
func groups(counts map[string]int) []group {
	list := make([]group, 0, len(counts))
	for name, n := range counts {
		list = append(list, group{name, n})
	}
	slices.SortFunc(list, func(a, b group) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name))
	})
	return list[:min(len(list), maxGroups)]
}

// addChart counts the rows in equal parts of their time.
func (s *summary) addChart(rows []*row) {
	s.Chart = []bucket{}
	if len(rows) == 0 {
		return
	}
	byTime := func(a, b *row) int { return a.Time.Compare(b.Time) }
	first, last := slices.MinFunc(rows, byTime).Time, slices.MaxFunc(rows, byTime).Time
	width := max(last.Sub(first)/buckets+1, time.Second)
	s.Seconds = width.Seconds()
	for i := range buckets {
		s.Chart = append(s.Chart, bucket{Time: first.Add(time.Duration(i) * width)})
	}
	for _, r := range rows {
		b := &s.Chart[min(int(r.Time.Sub(first)/width), buckets-1)]
		b.All++
		if contains("deny,ask,abort", r.Answered) {
			b.Denied++
		}
	}
}

// answerLog answers with what a filter chooses.
func (s *Server) answerLog(w http.ResponseWriter, r *http.Request) {
	f, err := readFilter(r.URL.Query(), time.Now())
	if err != nil {
		writeError(w, http.StatusBadRequest, err.Error())
		return
	}
	writeJSON(w, http.StatusOK, s.log.summarize(&f))
}

// answerRecord answers with one whole record.
func (s *Server) answerRecord(w http.ResponseWriter, r *http.Request) {
	leave, ok := s.enter(w, r)
	if !ok {
		return
	}
	defer leave()
	reader, err := decision.Open(s.LogDir)
	var record *decision.Record
	if err == nil {
		record, err = decision.Find(reader, s.LogDir, r.URL.Query().Get("id"))
	}
	if err != nil {
		writeError(w, http.StatusNotFound, err.Error())
		return
	}
	writeJSON(w, http.StatusOK, record)
}
