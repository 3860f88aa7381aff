package modules

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.starlark.net/starlark"
	"pgregory.net/rapid"
)

func TestTime(t *testing.T) {
	modAsserts(t, []struct{ name, source string }{
		{"fields", `
t = time.time(2026, 3, 29, 1, 2, 3, 4)
assert_eq((t.year, t.month, t.day, t.hour, t.minute, t.second, t.nanosecond), (2026, 3, 29, 1, 2, 3, 4))
assert_eq(t.unix_nano, t.unix * 1000000000 + 4)
assert_eq(time.time(1).unix_nano, -62135596800 * 1000000000)
assert_eq(dir(t), ["date", "day", "format", "hour", "in_location", "isoweek", "isoweekday", "isoyear", "minute", "month", "nanosecond", "second", "unix", "unix_nano", "weekday", "year", "yearday"])
assert_eq(type(t), "time.time")
assert_eq((bool(t), bool(time.time(1))), (True, False))
`},
		{"parts carry over", `
assert_eq(str(time.time(2026, month = 13)), "2027-01-01T00:00:00Z")
assert_eq(str(time.time(2026, 3, 0)), "2026-02-28T00:00:00Z")
assert_eq(str(time.time(2026, second = -1)), "2025-12-31T23:59:59Z")
`},
		{"the hour that summer time skips", `
before = time.time(2026, 3, 29, 1, 59, location = "Europe/Berlin")
assert_eq(str(before + time.minute), "2026-03-29T03:00:00+02:00")
assert_eq(str(before), "2026-03-29T01:59:00+01:00")
`},
		{"an instant is one key in all zones", `
t = time.time(2026)
u = t.in_location("Asia/Tokyo")
assert_eq(u.hour, 9)
assert_eq({t: 1}[u], 1)
assert_eq(sorted([t + time.hour, u])[0], t)
assert_eq(t < u + time.nanosecond, True)
`},
		{"layouts", `
assert_eq(str(time.parse_time("3/4/26 5PM", "1/2/06 3PM")), "2026-03-04T17:00:00Z")
assert_eq(time.parse_time("2026-07-01 CEST", "2006-01-02 MST", location = "Europe/Berlin").unix, time.time(2026, 6, 30, 22).unix)
assert_eq(str(time.parse_time("2026-01-01 00:00 +0530", "2006-01-02 15:04 -0700")), "2026-01-01T00:00:00+05:30")
assert_eq(str(time.parse_time("2026-01-01 UTC", "2006-01-02 MST")), "2026-01-01T00:00:00Z")
assert_eq(str(time.parse_time("2026-01-01 GMT", "2006-01-02 MST")), "2026-01-01T00:00:00Z")
assert_eq(time.time(2026).format("100% of 2006"), "100% of 2026")
assert_eq(time.time(2026).format("%"), "%")
`},
		{"sums and differences", `
t = time.time(2026)
assert_eq(t + time.hour, time.hour + t)
assert_eq(t - time.hour + time.hour, t)
assert_eq(str(time.time(2027) - t), "8760h0m0s")
d = time.parse_duration("-9223372036854775808ns")
assert_eq(str(t - d), "2318-04-12T23:47:16.854775808Z")
`},
		{"durations", `
d = time.parse_duration("1.5s")
assert_eq((d.hours, d.minutes, d.seconds), (1.5 / 3600, 0.025, 1.5))
assert_eq((d.milliseconds, d.microseconds, d.nanoseconds), (1500, 1500000, 1500000000))
assert_eq((str(d + d), str(d - d), str(d * 2), str(2 * d)), ("3s", "0s", "3s", "3s"))
assert_eq((d / time.second, d // time.second, time.second // d), (1.5, 1, 0))
assert_eq((-1 * d) // time.second, -2)
assert_eq((str(d / 2), str(d / 0.5), str(time.nanosecond / 2), str(-1 * time.nanosecond / 2)), ("750ms", "3s", "0s", "-1ns"))
assert_eq((d == time.parse_duration("1500ms"), d < time.second, bool(d), bool(d - d)), (True, False, True, False))
assert_eq({d: 1}[time.parse_duration("1500ms")], 1)
assert_eq(type(d), "time.duration")
assert_eq(dir(d), ["hours", "microseconds", "milliseconds", "minutes", "nanoseconds", "seconds"])
`},
		{"zones", `
assert_eq([time.is_valid_timezone(z) for z in ["UTC", "America/New_York", "Etc/GMT+3"]], [True, True, True])
assert_eq([time.is_valid_timezone(z) for z in ["", "Local", "local", "utc", "../UTC", "Europe/", "Europe"]], [False] * 7)
`},
	})
}

func TestTimeErrors(t *testing.T) {
	modErrors(t, []struct{ expr, want string }{
		{`time.parse_time("2026-02-30", "2006-01-02")`, `time.parse_time: x: got "2026-02-30", want a time like "2006-01-02": day out of range`},
		{`time.parse_time("soon")`, `time.parse_time: x: got "soon", want a time like "2006-01-02T15:04:05Z07:00": "soon" does not begin with what "2006" stands for`},
		{`time.parse_time("2026x", "2006")`, `time.parse_time: x: got "2026x", want a time like "2006": extra text: "x"`},
		{`time.parse_time("2026", "%Y")`, `time.parse_time: for parameter format: got "%Y", want an example such as "2006" (%Y of other languages is not supported here)`},
		{`time.parse_time("2026", 1)`, `time.parse_time: for parameter format: got int, want string`},
		{`time.parse_time("2026-01-01 CET", "2006-01-02 MST")`, `time.parse_time: x: got "2026-01-01 CET", but CET does not say which offset it means: leave it out, and name the zone by location`},
		{`time.parse_time("2026", "2006", location = "Europe/Berln")`, `time.parse_time: for parameter "location": got "Europe/Berln", want UTC or a name of the IANA database, such as Europe/Berlin (did you mean Europe/Berlin?)`},
		{`time.parse_time("2026", "2006", location = "Local")`, `time.parse_time: for parameter "location": got "Local", want UTC or a name of the IANA database, such as Europe/Berlin`},
		{`time.time(2026, location = 1)`, `time.time: for parameter "location": got int, want string`},
		{`time.time(10000)`, `time.time: year: got 10000, want 0 to 9999`},
		{`time.time(9999, month = 13)`, `time.time: got a time in the year 10000, want one in 0 to 9999`},
		{`time.time(0, day = 0)`, `time.time: got a time in the year -1, want one in 0 to 9999`},
		{`time.time(2026, day = 1 << 70)`, `time.time: for parameter "day": got 1180591620717411303424, want -1000000000000 to 1000000000000`},
		{`time.time(2026, day = 1.5)`, `time.time: for parameter "day": got float, want int`},
		{`time.from_timestamp(1 << 39)`, `time.from_timestamp: got a time in the year 19391, want one in 0 to 9999`},
		{`time.from_timestamp(1, 1 << 60)`, `time.from_timestamp: for parameter nsec: got 1152921504606846976, want -1000000000000 to 1000000000000`},
		{`time.time(9999) + 10000 * time.hour`, `got a time in the year 10000, want one in 0 to 9999`},
		{`time.time(0) - 10000 * time.hour`, `got a time in the year -2, want one in 0 to 9999`},
		{`time.time(9999) - time.time(0)`, `got a duration of more than 292 years`},
		{`time.time(2026).in_location("Mars")`, `time.in_location: for parameter location: got "Mars", want UTC or a name of the IANA database, such as Europe/Berlin`},
		{`time.time(2026).format("%H:%M")`, `time.format: for parameter x: got "%H:%M", want an example such as "15:04" (%H of other languages is not supported here)`},
		{`time.time(9999, 12, 31, 23).in_location("Asia/Tokyo")`, `time.in_location: got a time in the year 10000, want one in 0 to 9999`},
		{`time.time(2026).weekdays`, `time.time has no .weekdays field or method (did you mean .weekday?)`},
		{`time.hour - time.time(2026)`, `unknown binary op: time.duration - time.time`},
		{`time.time(2026) + time.time(2026)`, `unknown binary op: time.time + time.time`},
		{`time.time(2026) + 1`, `unknown binary op: time.time + int`},
		{`time.parse_duration("1 day")`, `time.parse_duration: d: got "1 day", want a duration such as 1h30m, in h, m, s, ms, us or ns, of at most 292 years`},
		{`time.parse_duration("3000000h")`, `time.parse_duration: d: got "3000000h", want a duration such as 1h30m, in h, m, s, ms, us or ns, of at most 292 years`},
		{`time.hour * (1 << 60)`, `got a duration of more than 292 years`},
		{`2000000 * time.hour + 2000000 * time.hour`, `got a duration of more than 292 years`},
		{`time.hour / 1e-20`, `got a duration of more than 292 years`},
		{`time.hour / float("nan")`, `got a duration of more than 292 years`},
		{`time.hour / 0`, `time.duration division by zero`},
		{`time.hour / 0.0`, `time.duration division by zero`},
		{`time.hour // (time.hour - time.hour)`, `time.duration division by zero`},
		{`2 / time.hour`, `unknown binary op: int / time.duration`},
		{`2.0 / time.hour`, `unknown binary op: float / time.duration`},
		{`time.hour % time.minute`, `unknown binary op: time.duration % time.duration`},
		{`time.hour + 1`, `unknown binary op: time.duration + int`},
		{`time.hour * 1.5`, `unknown binary op: time.duration * float`},
		{`yaml.encode({"t": time.time(2026)})`, `yaml.encode: x: at .t: got time.time, want a value that YAML has (str(x) for text)`},
		{`time.hour.days`, `time.duration has no .days field or method`},
	})
}

func TestZonesCanBeRead(t *testing.T) {
	names := zoneNames()
	if len(names) < 500 {
		t.Errorf("got %d zones", len(names))
	}
	for _, name := range names {
		if loc, err := LoadZone(name); err != nil || loc.String() != name {
			t.Errorf("%s: got %v, %v", name, loc, err)
		}
	}
}

// The module does not read the machine's zone database, even if it differs.
func TestZonesAreEmbedded(t *testing.T) {
	r, err := zoneFiles()["Asia/Tokyo"].Open()
	if err != nil {
		t.Fatal(err)
	}
	tokyo, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "EST5EDT"), tokyo, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("ZONEINFO", dir)
	v, err := modEval(&modRuntime{}, `str(time.time(2026, location = "EST5EDT"))`)
	if want := starlark.String("2026-01-01T00:00:00-05:00"); err != nil || v != want {
		t.Errorf("got %v, %v, want %v", v, err, want)
	}
}

// The results do not depend on the machine's zone.
func TestTimeIgnoresTheLocalZone(t *testing.T) {
	const expr = `[str(t) for t in [time.parse_time("2026-07-01T00:00:00+09:00"), time.from_timestamp(0), time.time(2026), ` +
		`time.parse_time("2026 +0900 JST", "2006 -0700 MST")]] + [time.parse_time("2026-07-01T00:00:00+09:00").format("MST")]`
	local := time.Local
	defer func() { time.Local = local }()
	var texts []string
	for _, name := range []string{"UTC", "Asia/Tokyo"} {
		loc, err := LoadZone(name)
		if err != nil {
			t.Fatal(err)
		}
		time.Local = loc
		v, err := modEval(&modRuntime{}, expr)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, v.String())
	}
	if texts[0] != texts[1] {
		t.Errorf("got %s in UTC, %s in Tokyo", texts[0], texts[1])
	}
}

// Law: parsing the text of a time returns the same time, in all zones with whole minutes.
func TestTimeRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sec := rapid.Int64Range(0, 250_000_000_000).Draw(t, "sec")
		ns := rapid.IntRange(0, 999_999_999).Draw(t, "ns")
		zone := rapid.SampledFrom([]string{"UTC", "Europe/Berlin", "Asia/Kathmandu", "America/St_Johns"}).Draw(t, "zone")
		expr := fmt.Sprintf(`(lambda t: [t, t.in_location("%s"), time.parse_time(str(t)), time.parse_time(str(t.in_location("%s"))), time.from_timestamp(t.unix, t.nanosecond)])(time.from_timestamp(%d, %d))`, zone, zone, sec, ns)
		v, err := modEval(&modRuntime{}, expr)
		if err != nil {
			t.Fatal(err)
		}
		list := v.(*starlark.List)
		for u := range list.Elements() {
			if equal, err := starlark.Equal(list.Index(0), u); err != nil || !equal {
				t.Fatalf("got %v, %v, want %v", u, err, list.Index(0))
			}
		}
	})
}

// Law: parsing the text of a duration returns the same duration, and adding reverses
// subtracting.
func TestDurationRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := Duration(rapid.Int64().Draw(t, "x"))
		y := Duration(rapid.Int64Range(-1<<40, 1<<40).Draw(t, "y"))
		v, err := modEval(&modRuntime{}, `time.parse_duration(str(x))`, x)
		if err != nil || v != x {
			t.Fatalf("got %v, %v, want %v", v, err, x)
		}
		v, err = modEval(&modRuntime{}, `(x / 2 + y) - y`, x, y)
		if half, _ := modEval(&modRuntime{}, `x / 2`, x); err != nil || v != half {
			t.Fatalf("got %v, %v, want %v", v, err, half)
		}
	})
}

// Law: parse_time reads the text that str writes, whatever text and layout made the time.
func FuzzParseTime(f *testing.F) {
	f.Add("2026-03-04T05:06:07.000000001-08:00", time.RFC3339)
	f.Add("Mon Jan _2 2026 CET", "Mon Jan _2 2006 MST")
	f.Add("9999-366 23:59:60 GMT+23", "2006-002 15:04:05 MST")
	f.Fuzz(func(t *testing.T, text, layout string) {
		v, err := modEval(&modRuntime{}, `time.parse_time(x, y)`, starlark.String(text), starlark.String(layout))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "time.parse_time: ") {
				t.Errorf("error %q", err)
			}
			return
		}
		if _, offset := v.(timeValue).t.Zone(); offset%60 != 0 || offset >= 24*3600 || offset <= -24*3600 {
			return // RFC 3339 only has whole minutes
		}
		again, err := modEval(&modRuntime{}, `time.parse_time(str(x))`, v)
		if equal, cmpErr := starlark.Equal(v, again); err != nil || cmpErr != nil || !equal {
			t.Errorf("got %v, %v, want %v", again, err, v)
		}
	})
}
