package builtins

import (
	"context"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/near"
)

var logLevels = []string{"debug", "info", "warn", "error"}

// ctxLog implements ctx.log.
func ctxLog(c call.Call, h *handlerCall) (starlark.Value, error) {
	var level, msg string
	own, fields := splitNamedArgs(c.Kwargs, "level", "msg")
	if err := c.BindArgs(c.Args, own, "level", &level, "msg", &msg); err != nil {
		return nil, err
	}
	if !slices.Contains(logLevels, level) {
		return nil, c.Fail("E0202", "level: got %s, want %s%s", errtext.Quote(level), strings.Join(logLevels, ", "), near.DidYouMean(level, logLevels))
	}
	line := host.LogLine{Plugin: h.rec.plugin.Name, Level: level, Text: msg, Pos: callerOf(c.Thread)}
	if fields.Len() > 0 {
		raw, err := encodeJSON(c, "", fields)
		if err != nil {
			return nil, err
		}
		line.Fields = raw
	}
	if err := c.Pay(2+(len(msg)+len(line.Fields))/16, 2*(len(msg)+len(line.Fields))); err != nil {
		return nil, err
	}
	if limit := h.write(line); limit != "" {
		return nil, c.Fail("E0317", "over the limit of %s a call", limit)
	}
	return starlark.None, nil
}

// splitNamedArgs returns the keyword arguments whose names are in names, and a dict with all others.
func splitNamedArgs(kwargs []starlark.Tuple, names ...string) (own []starlark.Tuple, rest *starlark.Dict) {
	rest = starlark.NewDict(len(kwargs))
	for _, kv := range kwargs {
		if slices.Contains(names, string(kv[0].(starlark.String))) {
			own = append(own, kv)
			continue
		}
		rest.SetKey(kv[0], kv[1]) // no error, because the key is a string
	}
	return own, rest
}

// Limits of the lines that one call of a handler logs.
const (
	maxLogLines = 1000
	maxLogBytes = 256 << 10
)

// A logBook counts the lines that a call logs, and enforces the limits.
type logBook struct {
	lines []host.LogLine // the lines that the evaluation of files logs, because it has no lane
	count int
	bytes int
	full  bool
}

// write logs a line. If the line exceeds a limit, write drops the line, and returns which limit it is.
func (h *handlerCall) write(line host.LogLine) (limit string) {
	if h.logs == nil {
		h.logs = new(logBook)
	}
	b := h.logs
	switch { // check before removing secrets, which takes time
	case b.count == maxLogLines:
		return "1,000 lines"
	case b.bytes+len(line.Text)+len(line.Fields) > maxLogBytes:
		return "256 KiB"
	}
	line = h.rec.redactLine(line)
	b.count++
	b.bytes += len(line.Text) + len(line.Fields)
	h.appendLog(line)
	return ""
}

// redactLine returns a copy of the line without secrets, in valid UTF-8.
func (r *Recorder) redactLine(line host.LogLine) host.LogLine {
	line.Text, line.Fields = asText(r.world.RedactLog(line.Text)), r.world.RedactJSON(line.Fields)
	return line
}

func (h *handlerCall) appendLog(line host.LogLine) {
	if h.lane == nil {
		h.logs.lines = append(h.logs.lines, line)
		return
	}
	h.lane.Logs = append(h.lane.Logs, line)
}

// PrintTo logs a line that a plugin printed, with the place of the print. The line goes to the log of the
// call or evaluation that ctx belongs to. PrintTo drops lines over the limits of a call, and logs once that
// it did.
func PrintTo(ctx context.Context, file string, line, col int, text string) {
	h, _ := ctx.Value(handlerKey{}).(*handlerCall)
	if h == nil {
		return
	}
	l := host.LogLine{Plugin: h.rec.plugin.Name, Level: "info", Text: text, Pos: starhost.Pos{File: file, Line: line, Col: col}}
	if limit := h.write(l); limit != "" && !h.logs.full {
		h.logs.full = true
		l.Level, l.Text = "warn", "more output is dropped: over the limit of "+limit+" a call"
		h.appendLog(l)
	}
}
