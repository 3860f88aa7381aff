package decision

import (
	"bytes"
	"container/list"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/starhost/starhost/effects"
)

// Bounds of the values that a replay stores in memory.
const (
	maxSessions = 10_000
	maxValues   = 16 << 20 // bytes of the values of all sessions, and of the store
	entryBytes  = 200      // bytes that a session or a value takes beside its texts
)

// pastValues simulate ctx.state and ctx.store. While a plugin writes what the record says, it reads the
// recorded replies. From its first other write on, it reads the values that it wrote itself, and the values
// that the record shows from before.
type pastValues struct {
	sessions  map[string]*list.Element // elements with a *pastSession, by agent and id
	byUse     *list.List               // the sessions, the last used one first
	evicted   bloom                    // the keys of the sessions that the replay forgot
	size      int                      // the bytes of all sessions
	max       int                      // the most sessions; tests set fewer
	store     map[string]*pluginValues // the values in ctx.store, by plugin
	storeSize int
}

// A pastSession is the part of a session that a replay remembers.
type pastSession struct {
	key       string
	isWhole   bool // the replay has seen the session from its start
	hasStart  bool // a record has told the number of its turn
	isCounted bool // the report has counted the session
	state     map[string]*pluginValues
	size      int
}

// pluginValues are the values of one plugin, in a session or in the store.
type pluginValues struct {
	differs bool // the plugin has written something else than the record says
	isWhole bool // all values are known: a key without a value is absent
	values  map[string]pastValue
}

// A pastValue is the value of a key.
type pastValue struct {
	json      json.RawMessage // nil if the key is absent
	isUnknown bool
	writer    string // the session that wrote the value; "" if the replay has not seen that
}

// A valueChange is a change of a value that the replayed event made.
type valueChange struct {
	values *pluginValues
	effect valueEffect
	old    pastValue
}

func newPastValues() pastValues {
	return pastValues{
		sessions: map[string]*list.Element{}, byUse: list.New(), max: maxSessions,
		store: map[string]*pluginValues{}, evicted: bloom{seed: maphash.MakeSeed()},
	}
}

// sessionOf returns the session that a record belongs to.
func (p *pastValues) sessionOf(r *Record) *pastSession {
	key := r.Agent + "\x00" + r.Session
	if e := p.sessions[key]; e != nil {
		p.byUse.MoveToFront(e)
		s := e.Value.(*pastSession)
		s.startAt(r.Turn)
		return s
	}
	isEvicted := p.evicted.has(key)
	s := &pastSession{key: key, isWhole: !isEvicted, isCounted: isEvicted, size: entryBytes + len(key)}
	s.startAt(r.Turn)
	p.sessions[key] = p.byUse.PushFront(s)
	p.size += s.size
	for p.byUse.Len() > 1 && (p.byUse.Len() > p.max || p.size > maxValues) {
		old := p.byUse.Remove(p.byUse.Back()).(*pastSession)
		delete(p.sessions, old.key)
		p.size -= old.size
		p.evicted.add(old.key)
	}
	return s
}

// startAt stores the turn of a record. If a session began before the log, the replay does not know the whole
// session. Records of handlers that do not need the session's state have the turn 0.
func (s *pastSession) startAt(turn int) {
	if turn > 1 && !s.hasStart {
		s.isWhole = false
		for _, values := range s.state {
			values.isWhole = false
		}
	}
	s.hasStart = s.hasStart || turn > 0
}

// hasValueEffects reports whether a record has effects on values, because later events can depend on them.
func (r *Record) hasValueEffects() bool {
	for i := range r.Handlers {
		for _, line := range r.Handlers[i].Effects {
			if bytes.Contains(line, []byte(`"state.`)) || bytes.Contains(line, []byte(`"store.`)) {
				return true
			}
		}
	}
	return false
}

// valuesOf returns the values that a plugin has in the session or in the store.
func (p *pastValues) valuesOf(e *pastEvent, plugin, where string) *pluginValues {
	all, isWhole := p.store, false
	if where == "state" {
		if e.session.state == nil {
			e.session.state = map[string]*pluginValues{}
		}
		all, isWhole = e.session.state, e.session.isWhole
	}
	if all[plugin] == nil {
		set := &e.record.Set
		wasThere := set.IsUnknown() || slices.ContainsFunc(set.Plugins, func(p Plugin) bool { return p.Name == plugin })
		if !wasThere && where == "store" {
			isWhole = true
		}
		all[plugin] = &pluginValues{isWhole: isWhole, values: map[string]pastValue{}}
	}
	return all[plugin]
}

// A valueEffect is a plugin's request to read or write a value.
type valueEffect struct {
	plugin, where, verb string          // where is "state" or "store"; verb is, for example, "get"
	raw                 json.RawMessage // the request as JSON
	request             struct {
		Key             string
		N               int64
		Value, Old, New json.RawMessage
	}
}

// newValueEffect decodes a request. ok is false if the request is not about values.
func newValueEffect(plugin, kind string, raw json.RawMessage) (v valueEffect, ok bool) {
	v.plugin, v.raw = plugin, raw
	v.where, v.verb, _ = strings.Cut(kind, ".")
	ok = v.where == "state" || v.where == "store"
	return v, ok && json.Unmarshal(raw, &v.request) == nil
}

// isWrite reports whether the effect can change a value.
func (v *valueEffect) isWrite() bool { return v.verb != "get" && v.verb != "keys" }

// isSame reports whether a recorded effect is this one.
func (v *valueEffect) isSame(past *pastEffect) bool {
	return past.Plugin == v.plugin && past.Kind == v.where+"."+v.verb && sameJSON(past.Request, v.raw)
}

// startEvent stores the values that the record of an event shows from before the event.
func (p *pastValues) startEvent(e *pastEvent) {
	written := map[string]bool{}
	for i := range e.effects {
		past := &e.effects[i]
		v, ok := newValueEffect(past.Plugin, past.Kind, past.Request)
		if !ok {
			continue
		}
		id := v.where + "\x00" + v.plugin + "\x00" + v.request.Key
		values := p.valuesOf(e, v.plugin, v.where)
		if _, touched := values.values[v.request.Key]; v.verb == "get" && !written[id] && !(touched && values.differs) {
			p.apply(e, values, &v, past.Reply)
		}
		written[id] = written[id] || v.isWrite()
	}
}

// endEvent compares what the plugins wrote with the record. If the replay cannot tell about the event,
// endEvent takes for granted that a plugin wrote what the record says, if the plugin always did so before.
// Otherwise, the values that it may have written become unknown.
func (p *pastValues) endEvent(e *pastEvent) {
	if e.unknown != "" {
		p.undo(e)
	}
	for i := range e.effects {
		past := &e.effects[i]
		v, ok := newValueEffect(past.Plugin, past.Kind, past.Request)
		if !ok || !v.isWrite() {
			continue
		}
		values := p.valuesOf(e, v.plugin, v.where)
		switch {
		case e.unknown != "" && values.differs:
			p.set(e, values, &v, pastValue{isUnknown: true})
		case e.unknown != "" && past.Err == nil:
			p.apply(e, values, &v, past.Reply)
		case e.unknown == "" && !past.used:
			values.differs = true
			if _, touched := values.values[v.request.Key]; !touched {
				p.set(e, values, &v, pastValue{isUnknown: !values.isWhole})
			}
		}
	}
}

// rollback takes back the changes of an event that the replay will fire again.
func (p *pastValues) rollback(e *pastEvent) {
	for _, c := range slices.Backward(e.changes) {
		p.set(e, c.values, &c.effect, c.old)
	}
	for _, values := range e.diverged {
		values.differs = false
	}
}

// undo takes back the changes of an event about which the replay cannot tell.
func (p *pastValues) undo(e *pastEvent) {
	p.rollback(e)
	for _, c := range e.changes {
		if c.values.differs {
			p.set(e, c.values, &c.effect, pastValue{isUnknown: true})
		}
	}
}

// answer returns the reply to an effect on values. If the replay cannot tell the reply, unknown says why.
func (p *pastValues) answer(e *pastEvent, v *valueEffect) (reply effects.RecordedEffect, unknown string) {
	values := p.valuesOf(e, v.plugin, v.where)
	if past := e.nextValue(v); past != nil && !values.differs {
		if !past.hasReply() {
			return reply, fmt.Sprintf("%s.%s: the reply to %s was too large for the log", v.where, v.verb, v.plugin)
		}
		past.used = true
		if past.Err == nil {
			p.apply(e, values, v, past.Reply)
		}
		return past.RecordedEffect, ""
	}
	if v.isWrite() && !values.differs {
		values.differs = true
		e.diverged = append(e.diverged, values)
	}
	raw, unknown := p.simulate(e, values, v)
	return effects.RecordedEffect{Reply: raw}, unknown
}

// nextValue returns the recorded effect that answers a request. For a write it is the plugin's next recorded
// write, and for a read it is the next equal read before that write. It returns nil if the record has another
// effect there.
func (r *pastEvent) nextValue(v *valueEffect) *pastEffect {
	for i := range r.effects {
		past := &r.effects[i]
		if past.used || past.Plugin != v.plugin || !strings.HasPrefix(past.Kind, v.where+".") {
			continue
		}
		if v.isSame(past) {
			return past
		}
		if verb := past.Kind[len(v.where)+1:]; verb != "get" && verb != "keys" {
			return nil
		}
	}
	return nil
}

// apply changes the values as a recorded effect with its reply has changed them.
func (p *pastValues) apply(e *pastEvent, values *pluginValues, v *valueEffect, reply json.RawMessage) {
	next := pastValue{writer: e.session.key}
	switch v.verb {
	case "get":
		var found struct {
			Value json.RawMessage
			Found bool
		}
		if json.Unmarshal(reply, &found) != nil {
			return
		}
		if was, ok := values.values[v.request.Key]; ok && bytes.Equal(was.json, found.Value) && !was.isUnknown {
			return // the replay has seen who wrote the value
		}
		next = pastValue{json: found.Value}
	case "set":
		next.json = v.request.Value
	case "add":
		next.json = reply
	case "swap":
		if string(reply) != "true" {
			return
		}
		if string(v.request.New) != "null" {
			next.json = v.request.New
		}
	case "keys":
		return
	}
	p.set(e, values, v, next)
}

// set sets a value, and counts its bytes. If the store becomes too large, the replay forgets all of it.
func (p *pastValues) set(e *pastEvent, values *pluginValues, v *valueEffect, next pastValue) {
	old, ok := values.values[v.request.Key]
	if !ok {
		old.isUnknown = !values.isWhole
	}
	if e.firing {
		e.changes = append(e.changes, valueChange{values, *v, old})
	}
	grown := len(next.json) - len(old.json)
	if !ok {
		grown += len(v.request.Key) + entryBytes
	}
	values.values[v.request.Key] = next
	if v.where == "state" {
		e.session.size += grown
		p.size += grown
		return
	}
	if p.storeSize += grown; p.storeSize > maxValues {
		p.storeSize = 0
		for _, values := range p.store {
			values.values, values.isWhole = map[string]pastValue{}, false
		}
	}
}

// simulate does an effect on the values that the replay knows.
func (p *pastValues) simulate(
	e *pastEvent, values *pluginValues, v *valueEffect,
) (reply json.RawMessage, unknown string) {
	if v.verb == "keys" {
		return values.keys(e, v)
	}
	if v.verb == "set" {
		p.set(e, values, v, pastValue{json: v.request.Value, writer: e.session.key})
		return null, ""
	}
	was, ok := values.values[v.request.Key]
	switch {
	case was.isUnknown || !ok && !values.isWhole:
		return nil, fmt.Sprintf("%s.%s: the record does not show the value that %s reads", v.where, v.verb, v.plugin)
	case v.where == "store" && was.isForeign(e.session):
		return nil, fmt.Sprintf("store.%s: the value that %s reads depends on another session", v.verb, v.plugin)
	}
	reply, next, err := v.do(was.json)
	if err != nil {
		return nil, fmt.Sprintf("%s.%s: %s of %s", v.where, v.verb, err, v.plugin)
	}
	if string(next) != string(was.json) || v.verb == "add" {
		p.set(e, values, v, pastValue{json: next, writer: e.session.key})
	}
	return reply, ""
}

// isForeign reports whether another session wrote the value.
func (v *pastValue) isForeign(s *pastSession) bool { return v.writer != "" && v.writer != s.key }

// do returns the reply to the effect on a value, and the value after it. was and next are nil if there is no
// value.
func (v *valueEffect) do(was json.RawMessage) (reply, next json.RawMessage, err error) {
	switch v.verb {
	case "get":
		if was == nil {
			return json.RawMessage(`{"found":false}`), was, nil
		}
		return json.RawMessage(`{"value":` + string(was) + `,"found":true}`), was, nil
	case "delete":
		return strconv.AppendBool(nil, was != nil), nil, nil
	case "add":
		n, err := strconv.ParseInt(string(orZero(was)), 10, 64)
		if err != nil {
			return nil, nil, errors.New("the value is no number")
		}
		sum := strconv.AppendInt(nil, n+v.request.N, 10)
		return sum, sum, nil
	case "swap":
		if !sameJSON(orNull(was), orNull(v.request.Old)) {
			return json.RawMessage("false"), was, nil
		}
		if string(orNull(v.request.New)) != "null" {
			next = v.request.New
		}
		return json.RawMessage("true"), next, nil
	}
	return nil, nil, errors.New("a replay cannot simulate this effect")
}

// orNull returns a value, or null if the value is absent.
func orNull(value json.RawMessage) json.RawMessage {
	if value == nil {
		return null
	}
	return value
}

// orZero returns a value, or 0 if the value is absent.
func orZero(value json.RawMessage) json.RawMessage {
	if value == nil {
		return json.RawMessage("0")
	}
	return value
}

// keys returns the sorted keys. If the replay does not know all of them, unknown says so.
func (p *pluginValues) keys(e *pastEvent, v *valueEffect) (reply json.RawMessage, unknown string) {
	isUnknown := !p.isWhole
	keys := []string{}
	for _, key := range slices.Sorted(maps.Keys(p.values)) {
		value := p.values[key]
		isUnknown = isUnknown || value.isUnknown || v.where == "store" && value.isForeign(e.session)
		if value.json != nil {
			keys = append(keys, key)
		}
	}
	if isUnknown {
		return nil, fmt.Sprintf("%s.keys: the record does not show the keys that %s reads", v.where, v.plugin)
	}
	reply, err := json.Marshal(keys)
	if err != nil {
		return nil, err.Error()
	}
	return reply, ""
}

// A bloom is a set of texts in 4 MiB. It finds all texts that were added. Of a million other texts, it also
// finds one in ten thousand by mistake.
type bloom struct {
	seed maphash.Seed
	bits []uint64 // nil while the set is empty
}

const (
	bloomBits   = 1 << 25
	bloomHashes = 4
)

// places returns the bits that stand for a text.
func (b *bloom) places(text string) (list [bloomHashes]uint64) {
	h := maphash.String(b.seed, text)
	for i := range list {
		list[i] = (h + uint64(i)*(h>>32|1)) % bloomBits
	}
	return list
}

func (b *bloom) add(text string) {
	if b.bits == nil {
		b.bits = make([]uint64, bloomBits/64)
	}
	for _, i := range b.places(text) {
		b.bits[i/64] |= 1 << (i % 64)
	}
}

func (b *bloom) has(text string) bool {
	if b.bits == nil {
		return false
	}
	for _, i := range b.places(text) {
		if b.bits[i/64]&(1<<(i%64)) == 0 {
			return false
		}
	}
	return true
}
