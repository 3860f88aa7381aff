package effects

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
)

// A Replay runs a turn again from its journal. As a World's Answers, it gives each effect the reply that the
// journal has, in the order of each lane, and no effect happens. Its method Answer is a value for
// host.Options: it takes the place of the model and the person who approves. A Replay serves one turn. It is
// safe for concurrent use.
type Replay struct {
	mu         sync.Mutex
	lanes      map[string]*replayLane
	divergence *DivergenceError // the divergence in the first lane that has one, or nil
}

// A replayLane has the effects that a journal records for a lane, and the number of them that the turn has
// repeated so far.
type replayLane struct {
	entries []RecordedEffect
	next    int
}

// A DivergenceError reports the place where a turn did something else than its journal says.
type DivergenceError struct {
	// Lane is the path of the handler call, and Plugin the handler's plugin.
	Lane, Plugin string
	// Number counts the lane's effects from 1.
	Number int
	// Want is the effect of the journal, and Got the effect of the turn: its kind and its
	// request as JSON, or a text that says that there is none.
	Want, Got string
	// Refused is the *[PermissionError] of an effect that the plugin may no longer do; else
	// nil.
	Refused error
}

func (e *DivergenceError) Error() string {
	return fmt.Sprintf("replay: lane %s of %s: effect %d: got %s, want %s as recorded", errtext.Clip(e.Lane), errtext.Clip(e.Plugin), e.Number, e.Got, e.Want)
}

// Code returns "E0516", which [Codes] explains.
func (e *DivergenceError) Code() string { return "E0516" }

// Unwrap returns Refused.
func (e *DivergenceError) Unwrap() error { return e.Refused }

// ReadJournal reads the lines of a [Journal]. Error messages call the file name.
func ReadJournal(name string, lines []byte) (*Replay, error) {
	p := &Replay{lanes: map[string]*replayLane{}}
	err := readEntries(name, lines, func(_ int, e RecordedEffect) {
		lane := p.lane(e.Lane)
		lane.entries = append(lane.entries, e)
	})
	return p, err
}

func (p *Replay) lane(path string) *replayLane {
	if p.lanes[path] == nil {
		p.lanes[path] = &replayLane{}
	}
	return p.lanes[path]
}

// answer returns the next reply that the journal has for the lane. After a divergence, it returns the
// divergence's error to the same lane and all later lanes. Earlier lanes that run at the same time go on, so
// that the reported lane is the first one on any number of cores.
func (p *Replay) answer(path, plugin string, c effectCall) (RecordedEffect, bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.isPastDivergence(path) {
		return RecordedEffect{}, false, p.divergence
	}
	lane, request := p.lane(path), jsontext.EncodeOrNull(c.request)
	want := "no further effect"
	if lane.next < len(lane.entries) {
		e := lane.entries[lane.next]
		if e.matches(plugin, c.kind, request) {
			lane.next++
			return e, true, nil
		}
		want = describe(e.Kind, e.Request)
		if e.Plugin != plugin {
			want += " of " + errtext.Clip(e.Plugin)
		}
	}
	p.divergence = &DivergenceError{
		Lane: path, Plugin: plugin, Number: lane.next + 1, Want: want, Got: describe(c.kind, request),
	}
	return RecordedEffect{}, false, p.divergence
}

// matches reports whether an entry records an effect with that plugin, kind and request.
func (e *RecordedEffect) matches(plugin, kind string, request []byte) bool {
	return e.Kind == kind && e.Plugin == plugin && covers(decodeText(e.Request), decodeText(request), false)
}

// recordRefusal notes that a plugin may not do an effect. If the journal has this effect next in the lane,
// the turn diverges here.
func (p *Replay) recordRefusal(path, plugin string, c effectCall) {
	p.mu.Lock()
	defer p.mu.Unlock()
	lane, request := p.lane(path), jsontext.EncodeOrNull(c.request)
	if p.isPastDivergence(path) || lane.next == len(lane.entries) {
		return
	}
	if !lane.entries[lane.next].matches(plugin, c.kind, request) {
		return
	}
	effect := describe(c.kind, request)
	p.divergence = &DivergenceError{
		Lane: path, Plugin: plugin, Number: lane.next + 1,
		Want: effect, Got: "no permission for " + effect, Refused: c.refusal,
	}
}

// isPastDivergence reports whether the next effect of a lane comes after the divergence. It also does if the
// lane called the one that diverged.
func (p *Replay) isPastDivergence(path string) bool {
	d := p.divergence
	return d != nil && (compareLanes(d.Lane, path) <= 0 || strings.HasPrefix(d.Lane, path+"/"))
}

// Answer returns the replies of the model and of the person who approves, from the journal. It is a value for
// host.Options.Answer.
func (p *Replay) Answer(in host.Input) (json.RawMessage, error) {
	e, _, err := p.answer(in.Lane, starhost.HostPlugin, effectCall{kind: in.Kind, request: in.Request})
	if err != nil {
		return nil, err
	}
	return decodeReply[json.RawMessage](e)
}

// End returns the divergence of the first lane that has one, as a *[DivergenceError], or nil. Call it after
// the turn. A lane that did not repeat all of its effects diverges too.
func (p *Replay) End() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, path := range p.paths() {
		lane := p.lanes[path]
		switch {
		case p.isPastDivergence(path):
			return p.divergence
		case lane.next < len(lane.entries):
			e := lane.entries[lane.next]
			return &DivergenceError{
				Lane: path, Plugin: e.Plugin, Number: lane.next + 1,
				Want: describe(e.Kind, e.Request), Got: "no further effect",
			}
		}
	}
	if p.divergence != nil {
		return p.divergence
	}
	return nil
}

// paths returns the lanes in order.
func (p *Replay) paths() []string {
	var all []string
	for path := range p.lanes {
		all = append(all, path)
	}
	slices.SortFunc(all, compareLanes)
	return all
}

// compareLanes orders the paths of lanes by their numbers. A lane comes before the lanes that
// it called.
func compareLanes(a, b string) int {
	return slices.CompareFunc(strings.Split(a, "/"), strings.Split(b, "/"), func(x, y string) int {
		m, _ := strconv.Atoi(x) // 0 for a text that is no lane
		n, _ := strconv.Atoi(y)
		return cmp.Compare(m, n)
	})
}

// describe returns a text about an effect, for messages.
func describe(kind string, request []byte) string { return kind + " " + errtext.Clip(string(request)) }

// decodeText returns a JSON text as a Go value that can be compared, nil for a text that is not
// JSON. Numbers keep their spelling, so that 1 and 1.0 differ.
func decodeText(text []byte) any {
	v, err := jsontext.DecodeValue(string(text))
	if err != nil {
		return nil
	}
	return v
}

// covers reports whether got equals want. If partly is true, got may have further members.
func covers(want, got any, partly bool) bool {
	w, isObject := want.(map[string]any)
	g, alike := got.(map[string]any)
	if !partly || !isObject || !alike {
		return reflect.DeepEqual(want, got)
	}
	for name, value := range w {
		if other, ok := g[name]; !ok || !reflect.DeepEqual(value, other) {
			return false
		}
	}
	return true
}
