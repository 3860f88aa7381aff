package modules

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"go.starlark.net/starlark"

	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/near"
)

// timeModule returns the members of the module time. They do what upstream's do, but do not depend on the
// machine: there is no clock and no local zone, and zones come from the embedded database.
func timeModule(rt call.Runtime) []call.Entry {
	members := []call.Member{
		{
			Name: "parse_time", Params: `x, format="2006-01-02T15:04:05Z07:00", location="UTC"`, Type: "str, str, str -> Time",
			Doc: `Reads a time from text and returns it.
There is no now: ctx.now is the time of the event, for time.parse_time(ctx.now).
format is the text of Monday, January 2, 15:04:05 of the year 2006 in the zone -0700 (MST), or
a name: "date" (2006-01-02), "clock" (15:04), "datetime" (2006-01-02 15:04:05), "rfc3339", "http"
(Mon, 02 Jan 2006 15:04:05 GMT) or "email" (Mon, 02 Jan 2006 15:04:05 -0700). The default is RFC
3339. location is the zone of a text that names
no offset: "UTC" or a name such as "Europe/Berlin" of the IANA database, which is part of
the program and the same on every machine.

A time t has t.year, t.month, t.day, t.hour, t.minute, t.second, t.nanosecond, t.unix
(seconds since 1970) and t.unix_nano, t.format(x) and t.in_location("Asia/Tokyo"). t.date is
"2026-03-29", t.weekday "Sunday", t.isoweekday 1 for Monday to 7 for Sunday, t.yearday 1 to 366, and
t.isoweek with t.isoyear the week of ISO 8601, 1 to 53, for rotations.
str(t) is RFC 3339. Times compare by the instant; t + d and t - d shift by a duration, and t - t
is a duration. The years are 0 to 9999. A format has at most 1024 bytes.`,
			Example: `t = time.parse_time("2026-03-29T00:30:00Z")
berlin = t.in_location("Europe/Berlin")
assert_eq(str(berlin), "2026-03-29T01:30:00+01:00")
assert_eq((berlin + time.hour).format("Mon 15:04 MST"), "Sun 03:30 CEST")
assert_eq((berlin.weekday, berlin.isoweekday, berlin.isoweek, berlin.date), ("Sunday", 7, 13, "2026-03-29"))
assert_eq((t.format("datetime"), t.format("http")), ("2026-03-29 00:30:00", "Sun, 29 Mar 2026 00:30:00 GMT"))
assert_eq(time.parse_time("2026-03-29 10:15", "2006-01-02 15:04", "Asia/Tokyo") - t, time.parse_duration("45m"))
assert_eq(berlin == t, True)`,
			Func: parseTime,
		},
		{
			Name: "time", Params: `year, month=1, day=1, hour=0, minute=0, second=0, nanosecond=0, location="UTC"`, Type: "int, int, int, int, int, int, int, str -> Time",
			Doc: `Returns the time of a date and a clock in a zone.
Values that are too large or too small carry over, so day=0 is the last day of the month
before. time.parse_time describes times.`,
			Example: `assert_eq(str(time.time(2026, 2, 29, hour = 12)), "2026-03-01T12:00:00Z")
assert_eq(time.time(2026, 7, 1, location = "America/New_York").hour, 0)
assert_eq(str(time.time(2026, 7, 1, location = "America/New_York")), "2026-07-01T00:00:00-04:00")`,
			Func: newTime,
		},
		{
			Name: "from_timestamp", Params: "sec, nsec=0", Type: "int, int -> Time",
			Doc:     "Returns the time, in UTC, so many seconds and nanoseconds after the start of 1970.\ntime.parse_time describes times.",
			Example: `assert_eq(str(time.from_timestamp(1700000000)), "2023-11-14T22:13:20Z")`,
			Func:    fromTimestamp,
		},
		{
			Name: "is_valid_timezone", Params: "loc", Type: "str -> bool",
			Doc: "Reports whether loc is \"UTC\" or the name of a zone in the embedded IANA database.",
			Example: `assert_eq(time.is_valid_timezone("Europe/Berlin"), True)
assert_eq(time.is_valid_timezone("Europe/Berln"), False)`,
			Func: isValidTimezone,
		},
		{
			Name: "parse_duration", Params: "d", Type: "str -> Duration",
			Doc: `Reads a duration such as "1h30m", "-1.5s" or "300ms"; units are h, m, s, ms, us and ns.
A duration d has d.hours, d.minutes and d.seconds, which are floats, and the ints
d.milliseconds, d.microseconds and d.nanoseconds. d + d, d - d, d * 2, d / 2 (rounded down
to nanoseconds), d / d (a float) and d // d (an int, rounded down) work, and so does adding a
duration to a time. parse_duration can read str(d). A duration has at most 292 years.`,
			Example: `d = time.parse_duration("1h30m")
assert_eq(d.minutes, 90.0)
assert_eq(str(d / 4), "22m30s")
assert_eq(d // time.hour, 1)
assert_eq(d > 80 * time.minute, True)`,
			Func: parseDuration,
		},
	}
	for _, unit := range durationUnits {
		members = append(members, call.Member{
			Name: unit.name, Value: Duration(unit.d), Type: "Duration",
			Doc:     "The duration of one " + unit.name + ".\ntime.parse_duration describes durations.",
			Example: fmt.Sprintf(`assert_eq(str(2 * time.%s), "%s")`, unit.name, 2*unit.d),
		})
	}
	return call.Entries(rt, "time", members)
}

// durationUnits are the durations that have names.
var durationUnits = []struct {
	name string
	d    time.Duration
}{
	{"nanosecond", time.Nanosecond},
	{"microsecond", time.Microsecond},
	{"millisecond", time.Millisecond},
	{"second", time.Second},
	{"minute", time.Minute},
	{"hour", time.Hour},
}

// A zoneArg is an argument that names a time zone.
type zoneArg struct{ *time.Location }

// Unpack implements starlark.Unpacker.
func (z *zoneArg) Unpack(v starlark.Value) error {
	name, ok := starlark.AsString(v)
	if !ok {
		return fmt.Errorf("got %s, want string", v.Type())
	}
	loc, err := LoadZone(name)
	if err != nil {
		return fmt.Errorf("got %s, want UTC or a name of the IANA database, such as Europe/Berlin%s", errtext.Quote(name), near.DidYouMean(name, zoneNames()))
	}
	z.Location = loc
	return nil
}

// maxLayout bounds the bytes of a layout.
const maxLayout = 1 << 10

// layoutNames are the layouts that have names.
var layoutNames = map[string]string{
	"date": time.DateOnly, "clock": "15:04", "datetime": time.DateTime, "rfc3339": time.RFC3339,
	"http": "Mon, 02 Jan 2006 15:04:05 GMT", "email": time.RFC1123Z,
}

// strftime maps directives of other languages, such as %Y, to the texts that layouts have for them.
var strftime = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer(
		"%Y", "2006", "%m", "01", "%d", "02", "%H", "15", "%M", "04", "%S", "05", "%y", "06", "%b", "Jan", "%B", "January",
		"%a", "Mon", "%A", "Monday", "%I", "03", "%p", "PM", "%Z", "MST", "%z", "-0700", "%j", "002", "%e", "_2",
		"%F", time.DateOnly, "%T", time.TimeOnly, "%R", "15:04", "%f", "000000", "%D", "01/02/06", "%n", "\n", "%t", "\t",
	)
})

// A layoutArg is an argument that describes the format of a time.
type layoutArg string

// Unpack implements starlark.Unpacker.
func (l *layoutArg) Unpack(v starlark.Value) error {
	layout, ok := starlark.AsString(v)
	if !ok {
		return fmt.Errorf("got %s, want string", v.Type())
	}
	if len(layout) > maxLayout {
		return fmt.Errorf("got %d bytes, want at most %d", len(layout), maxLayout)
	}
	for i := range len(layout) - 1 {
		if b := layout[i+1] | 0x20; layout[i] == '%' && 'a' <= b && b <= 'z' {
			return fmt.Errorf("got %s, want an example such as %s (%s of other languages is not supported here)", errtext.Quote(layout), errtext.Quote(exampleOf(layout)), layout[i:i+2])
		}
	}
	if named, ok := layoutNames[layout]; ok {
		layout = named
	}
	*l = layoutArg(layout)
	return nil
}

// exampleOf returns the layout that means the same as directives of other languages. It returns "" if a
// directive has no counterpart.
func exampleOf(directives string) string {
	if layout := strftime().Replace(directives); !strings.Contains(layout, "%") {
		return layout
	}
	return time.DateTime
}

// payTime pays for making one time, and for reading or writing a text of n bytes.
func payTime(c call.Call, n int) error { return c.Pay(64+n/4, 256+8*n) }

// parseTime implements time.parse_time.
func parseTime(c call.Call) (starlark.Value, error) {
	var (
		x      string
		layout = layoutArg(time.RFC3339)
		zone   = zoneArg{time.UTC}
	)
	if err := c.Bind("x", &x, "format?", &layout, "location?", &zone); err != nil {
		return nil, err
	}
	if err := payTime(c, len(x)+len(layout)); err != nil {
		return nil, err
	}
	// Parse would use the machine's zone for offsets.
	t, err := time.ParseInLocation(string(layout), x, zone.Location)
	if err != nil {
		return nil, c.Fail("E0202", "x: %s", timeErrorText(err, x, string(layout)))
	}
	if name, guessed := unresolvedZone(t, zone.Location, string(layout)); guessed {
		return nil, c.Fail("E0202", "x: got %s, but %s does not say which offset it means: leave it out, and name the zone by location", errtext.Quote(x), name)
	}
	return timeOf(c, t)
}

// timeErrorText returns the message for a text that is not a time in the layout.
func timeErrorText(err error, x, layout string) string {
	var e *time.ParseError
	errors.As(err, &e)
	why := errtext.Cut(strings.TrimPrefix(e.Message, ": "))
	if why == "" {
		why = fmt.Sprintf("%s does not begin with what %s stands for", errtext.Quote(e.ValueElem), errtext.Quote(e.LayoutElem))
	}
	return fmt.Sprintf("got %s, want a time like %s: %s", errtext.Quote(x), errtext.Quote(layout), why)
}

// unresolvedZone reports whether package time did not know the zone that the text names, and guessed the
// offset 0. It also returns the name of the zone.
func unresolvedZone(t time.Time, loc *time.Location, layout string) (name string, guessed bool) {
	name, offset := t.Zone()
	if offset != 0 || t.Location() == loc || t.Location() == time.UTC {
		return name, false
	}
	return name, name != "" && name != "GMT" && !strings.Contains(layout, "07")
}

// newTime implements time.time.
func newTime(c call.Call) (starlark.Value, error) {
	var (
		year, month, day   = timePart(0), timePart(1), timePart(1)
		hour, min, sec, ns timePart
		zone               = zoneArg{time.UTC}
	)
	if err := c.Bind("year", &year, "month?", &month, "day?", &day, "hour?", &hour, "minute?", &min, "second?", &sec, "nanosecond?", &ns, "location?", &zone); err != nil {
		return nil, err
	}
	if err := payTime(c, 0); err != nil {
		return nil, err
	}
	if year < 0 || year > 9999 {
		return nil, c.Fail("E0202", "year: got %d, want 0 to 9999", year)
	}
	t := time.Date(int(year), time.Month(month), int(day), int(hour), int(min), int(sec), int(ns), zone.Location)
	return timeOf(c, t)
}

// A timePart is an argument such as a number of hours. It is so small that no sum of parts overflows.
type timePart int

// Unpack implements starlark.Unpacker.
func (p *timePart) Unpack(v starlark.Value) error {
	const most = 1_000_000_000_000
	i, ok := v.(starlark.Int)
	if !ok {
		return fmt.Errorf("got %s, want int", v.Type())
	}
	n, ok := i.Int64()
	if !ok || n < -most || n > most {
		return fmt.Errorf("got %s, want %d to %d", call.Show(v), -most, most)
	}
	*p = timePart(n)
	return nil
}

// fromTimestamp implements time.from_timestamp.
func fromTimestamp(c call.Call) (starlark.Value, error) {
	var sec, nsec timePart
	if err := c.Bind("sec", &sec, "nsec?", &nsec); err != nil {
		return nil, err
	}
	if err := payTime(c, 0); err != nil {
		return nil, err
	}
	return timeOf(c, time.Unix(int64(sec), int64(nsec)).UTC())
}

// timeOf converts t to a value, or returns an error if t is out of range.
func timeOf(c call.Call, t time.Time) (starlark.Value, error) {
	v, err := makeTime(c.Runtime, t)
	if err != nil {
		return nil, c.Fail("E0202", "%v", err)
	}
	return v, nil
}

// isValidTimezone implements time.is_valid_timezone.
func isValidTimezone(c call.Call) (starlark.Value, error) {
	var name string
	if err := c.Bind("loc", &name); err != nil {
		return nil, err
	}
	if err := payTime(c, 0); err != nil {
		return nil, err
	}
	_, err := LoadZone(name)
	return starlark.Bool(err == nil), nil
}

// parseDuration implements time.parse_duration.
func parseDuration(c call.Call) (starlark.Value, error) {
	var text string
	if err := c.Bind("d", &text); err != nil {
		return nil, err
	}
	if err := payTime(c, len(text)); err != nil {
		return nil, err
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return nil, c.Fail("E0202", "d: got %s, want a duration such as 1h30m, in h, m, s, ms, us or ns, of at most 292 years", errtext.Quote(text))
	}
	return Duration(d), nil
}
