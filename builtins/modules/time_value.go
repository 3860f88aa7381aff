package modules

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/starhost/starhost/builtins/call"
)

// A timeValue is the Starlark value of an instant in a zone. It does what upstream's does, but does not use
// the machine's zone, and returns an error where upstream overflows.
type timeValue struct {
	rt call.Runtime
	t  time.Time
}

var (
	_ starlark.HasAttrs       = timeValue{}
	_ starlark.HasBinary      = timeValue{}
	_ starlark.TotallyOrdered = timeValue{}
)

// makeTime converts t to a value. It refuses years that RFC 3339 cannot express.
func makeTime(rt call.Runtime, t time.Time) (starlark.Value, error) {
	if year := t.Year(); year < 0 || year > 9999 {
		return nil, fmt.Errorf("got a time in the year %d, want one in 0 to 9999", year)
	}
	return timeValue{rt, t}, nil
}

// timeFields are the fields of a time, by name.
var timeFields = map[string]func(time.Time) starlark.Value{
	"year":       func(t time.Time) starlark.Value { return starlark.MakeInt(t.Year()) },
	"month":      func(t time.Time) starlark.Value { return starlark.MakeInt(int(t.Month())) },
	"day":        func(t time.Time) starlark.Value { return starlark.MakeInt(t.Day()) },
	"weekday":    func(t time.Time) starlark.Value { return starlark.String(t.Weekday().String()) },
	"isoweekday": func(t time.Time) starlark.Value { return starlark.MakeInt((int(t.Weekday())+6)%7 + 1) },
	"isoweek":    func(t time.Time) starlark.Value { _, week := t.ISOWeek(); return starlark.MakeInt(week) },
	"isoyear":    func(t time.Time) starlark.Value { year, _ := t.ISOWeek(); return starlark.MakeInt(year) },
	"yearday":    func(t time.Time) starlark.Value { return starlark.MakeInt(t.YearDay()) },
	"date":       func(t time.Time) starlark.Value { return starlark.String(t.Format(time.DateOnly)) },
	"hour":       func(t time.Time) starlark.Value { return starlark.MakeInt(t.Hour()) },
	"minute":     func(t time.Time) starlark.Value { return starlark.MakeInt(t.Minute()) },
	"second":     func(t time.Time) starlark.Value { return starlark.MakeInt(t.Second()) },
	"nanosecond": func(t time.Time) starlark.Value { return starlark.MakeInt(t.Nanosecond()) },
	"unix":       func(t time.Time) starlark.Value { return starlark.MakeInt64(t.Unix()) },
	"unix_nano":  func(t time.Time) starlark.Value { return unixNano(t) },
}

// timeMethods are the methods of a time, by name.
var timeMethods = map[string]func(timeValue, call.Call) (starlark.Value, error){
	"format":      timeValue.format,
	"in_location": timeValue.inLocation,
}

func (t timeValue) String() string       { return t.t.Format(time.RFC3339Nano) }
func (t timeValue) Type() string         { return "time.time" }
func (t timeValue) Freeze()              {} // immutable
func (t timeValue) Truth() starlark.Bool { return starlark.Bool(!t.t.IsZero()) }

// Hash hashes the instant, because equal times may be in different zones.
func (t timeValue) Hash() (uint32, error) {
	sec := uint64(t.t.Unix())
	return uint32(sec) ^ uint32(sec>>32) ^ uint32(t.t.Nanosecond()), nil
}

// Cmp orders times by the instant.
func (t timeValue) Cmp(y starlark.Value, _ int) (int, error) {
	return t.t.Compare(y.(timeValue).t), nil
}

func (t timeValue) AttrNames() []string {
	return slices.Sorted(maps.Keys(withKeys(timeFields, timeMethods)))
}

// withKeys returns a set of the keys of both maps.
func withKeys[V, W any](a map[string]V, b map[string]W) map[string]bool {
	keys := map[string]bool{}
	for k := range a {
		keys[k] = true
	}
	for k := range b {
		keys[k] = true
	}
	return keys
}

// MarshalJSON returns an error, because JSON has no times. Without it, json.encode would encode
// the fields of the value as an object.
func (t timeValue) MarshalJSON() ([]byte, error) { return nil, errNoJSON(t) }

// errNoJSON returns the error of json.encode for a time or a duration.
func errNoJSON(v starlark.Value) error {
	return fmt.Errorf("cannot encode %s as JSON (str(x) for text)", v.Type())
}

// Attr returns a field, or a method bound to t.
func (t timeValue) Attr(name string) (starlark.Value, error) {
	if field := timeFields[name]; field != nil {
		return field(t.t), nil
	}
	method := timeMethods[name]
	if method == nil {
		return nil, nil
	}
	fn := call.NewBuiltin(t.rt, "time."+name, func(c call.Call) (starlark.Value, error) { return method(t, c) })
	return fn.BindReceiver(t), nil
}

// format implements t.format.
func (t timeValue) format(c call.Call) (starlark.Value, error) {
	var layout layoutArg
	if err := c.Bind("x", &layout); err != nil {
		return nil, err
	}
	if err := payTime(c, len(layout)); err != nil {
		return nil, err
	}
	return starlark.String(t.t.Format(string(layout))), nil
}

// inLocation implements t.in_location.
func (t timeValue) inLocation(c call.Call) (starlark.Value, error) {
	var zone zoneArg
	if err := c.Bind("location", &zone); err != nil {
		return nil, err
	}
	if err := payTime(c, 0); err != nil {
		return nil, err
	}
	return timeOf(c, t.t.In(zone.Location))
}

// Binary returns t + d, d + t, t - d or t - t.
func (t timeValue) Binary(op syntax.Token, y starlark.Value, side starlark.Side) (starlark.Value, error) {
	switch y := y.(type) {
	case Duration:
		if op == syntax.PLUS {
			return makeTime(t.rt, t.t.Add(time.Duration(y)))
		}
		if op == syntax.MINUS && side == starlark.Left {
			half := time.Duration(y / 2) // added in two steps, because the shortest duration has no opposite
			return makeTime(t.rt, t.t.Add(-half).Add(half-time.Duration(y)))
		}
	case timeValue:
		if op == syntax.MINUS {
			return makeDuration(unixNano(t.t).Sub(unixNano(y.t)))
		}
	}
	return nil, nil
}

// unixNano returns the nanoseconds since the start of 1970.
func unixNano(t time.Time) starlark.Int {
	return starlark.MakeInt64(t.Unix()).Mul(starlark.MakeInt64(1e9)).Add(starlark.MakeInt(t.Nanosecond()))
}

// A Duration is the Starlark value of a duration. It does what upstream's does, but returns an error where
// upstream overflows or takes one operation for another.
type Duration time.Duration

var (
	_ starlark.HasAttrs       = Duration(0)
	_ starlark.HasBinary      = Duration(0)
	_ starlark.TotallyOrdered = Duration(0)
)

// errDuration is the error of an operation whose result is too long.
var errDuration = call.Errorf("E0202", "got a duration of more than 292 years")

// makeDuration converts nanoseconds to a duration.
func makeDuration(ns starlark.Int) (starlark.Value, error) {
	n, ok := ns.Int64()
	if !ok {
		return nil, errDuration
	}
	return Duration(n), nil
}

// durationFields are the fields of a duration, by name.
var durationFields = map[string]func(time.Duration) starlark.Value{
	"hours":        func(d time.Duration) starlark.Value { return starlark.Float(d.Hours()) },
	"minutes":      func(d time.Duration) starlark.Value { return starlark.Float(d.Minutes()) },
	"seconds":      func(d time.Duration) starlark.Value { return starlark.Float(d.Seconds()) },
	"milliseconds": func(d time.Duration) starlark.Value { return starlark.MakeInt64(d.Milliseconds()) },
	"microseconds": func(d time.Duration) starlark.Value { return starlark.MakeInt64(d.Microseconds()) },
	"nanoseconds":  func(d time.Duration) starlark.Value { return starlark.MakeInt64(d.Nanoseconds()) },
}

func (d Duration) String() string       { return time.Duration(d).String() }
func (d Duration) Type() string         { return "time.duration" }
func (d Duration) Freeze()              {} // immutable
func (d Duration) Truth() starlark.Bool { return d != 0 }
func (d Duration) AttrNames() []string  { return slices.Sorted(maps.Keys(durationFields)) }

func (d Duration) Hash() (uint32, error) {
	return uint32(d) ^ uint32(uint64(d)>>32), nil
}

// Cmp orders durations by their length.
func (d Duration) Cmp(y starlark.Value, _ int) (int, error) {
	return d.ns().Cmp(y.(Duration).ns(), 1)
}

// MarshalJSON returns an error, because JSON has no durations.
func (d Duration) MarshalJSON() ([]byte, error) { return nil, errNoJSON(d) }

// Attr returns a field.
func (d Duration) Attr(name string) (starlark.Value, error) {
	if field := durationFields[name]; field != nil {
		return field(time.Duration(d)), nil
	}
	return nil, nil
}

// ns returns the nanoseconds as an Int, so that arithmetic does not overflow.
func (d Duration) ns() starlark.Int { return starlark.MakeInt64(int64(d)) }

// Binary returns d + d, d - d, d / d, d // d, d * int, int * d, d / int or d / float.
func (d Duration) Binary(op syntax.Token, y starlark.Value, side starlark.Side) (starlark.Value, error) {
	switch y := y.(type) {
	case Duration: // y is the right operand, because two durations call the method of the left one
		return d.combine(op, y)
	case starlark.Int:
		switch {
		case op == syntax.STAR:
			return makeDuration(d.ns().Mul(y))
		case op == syntax.SLASH && side == starlark.Left:
			if y.Sign() == 0 {
				return nil, errZeroDuration
			}
			return makeDuration(d.ns().Div(y))
		}
	case starlark.Float:
		if op == syntax.SLASH && side == starlark.Left {
			return d.divideByFloat(float64(y))
		}
	}
	return nil, nil
}

// errZeroDuration is the error of a division by zero.
var errZeroDuration = errors.New("time.duration division by zero")

// combine returns the sum, difference or quotient of two durations.
func (d Duration) combine(op syntax.Token, y Duration) (starlark.Value, error) {
	switch op {
	case syntax.PLUS:
		return makeDuration(d.ns().Add(y.ns()))
	case syntax.MINUS:
		return makeDuration(d.ns().Sub(y.ns()))
	case syntax.SLASH, syntax.SLASHSLASH:
		if y == 0 {
			return nil, errZeroDuration
		}
		if op == syntax.SLASH {
			return starlark.Float(float64(d) / float64(y)), nil
		}
		return d.ns().Div(y.ns()), nil
	}
	return nil, nil
}

// divideByFloat returns d / f, rounded down.
func (d Duration) divideByFloat(f float64) (starlark.Value, error) {
	if f == 0 {
		return nil, errZeroDuration
	}
	q := math.Floor(float64(d) / f)
	if !(math.Abs(q) < 1<<63) { // NaN or too large
		return nil, errDuration
	}
	return Duration(q), nil
}
