package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/starlark"
)

// A problem is an error as the report shows it.
type problem struct {
	exit    int
	code    string // that `starhost docs` explains
	message string // without the place
	plugin  string // "" if it is no plugin's
	pos     starhost.Pos
	limit   *limitJSON
	trace   []starlark.Frame
	help    string // one line that says what to do, "" for none
	detail  string // all of it as a terminal shows it; "" if text makes it up

	logged string // what the log says of it: the plugin and the text
	stack  []byte // of a panic
}

// where returns the problem in one line, with its place.
func (p *problem) where() string {
	if p.pos == (starhost.Pos{}) {
		return p.message
	}
	return p.pos.String() + ": " + p.message
}

// text returns the problem as a terminal shows it, with a line break at its end.
func (p *problem) text() string {
	if p.detail != "" {
		return p.detail
	}
	var b strings.Builder
	if p.pos != (starhost.Pos{}) {
		b.WriteString(p.pos.String() + ": ")
	}
	fmt.Fprintf(&b, "%s [%s]\n", p.message, p.code)
	if p.help != "" {
		fmt.Fprintf(&b, "  help: %s\n", p.help)
	}
	fmt.Fprintf(&b, "  help: starhost docs %s\n", p.code)
	return b.String()
}

// A usageError is a mistake on the command line.
type usageError struct {
	msg  string
	help string // what to do, "" for none

	where *starlark.Error // of a text that the command line names, instead of msg; or nil
}

func (e *usageError) Error() string {
	if e.where != nil {
		return e.where.Error()
	}
	return e.msg
}

func usagef(format string, args ...any) error { return &usageError{msg: fmt.Sprintf(format, args...)} }

// An outsideError is a failure of a file or stream that the command line names.
type outsideError struct {
	name string
	err  error
}

func (e *outsideError) Error() string { return e.name + ": " + e.err.Error() }
func (e *outsideError) Unwrap() error { return e.err }

// outside returns err as that of a file, without the path that the system puts
// into it; nil if err is nil.
func outside(name string, err error) error {
	var path *fs.PathError
	var link *os.LinkError // of a rename
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		err = errors.New("no such file or folder")
	case errors.As(err, &path):
		err = path.Err
	case errors.As(err, &link):
		err = link.Err
	}
	return &outsideError{name, err}
}

// A panicError is a bug of this program.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string {
	return fmt.Sprintf("internal error: %v; this is a bug of starhost (-v shows where)", e.value)
}

// describe tells what an error means: the one place that knows all kinds.
func describe(err error) problem {
	p := problem{message: err.Error()}
	var handler *starhost.HandlerError
	if errors.As(err, &handler) {
		p.plugin, p.pos = handler.Plugin, handler.Pos
		p.message = handler.What + ": " + handler.Error()
		p.logged = handler.Plugin + " " + p.message
		p.code = "E0706"
	}
	// Each function fills in what is special about one kind of error, and reports
	// whether err is of that kind.
	for _, describeKind := range []func(error, *problem) bool{
		asPanic, asInterrupt, asUsage, asOutside, asStarlark, asLoader, asAbort, asReference, asOverflow, asTooLarge, asCoded,
	} {
		if describeKind(err, &p) {
			break
		}
	}
	if p.code == "" {
		p.code = "E0701" // what the flag parser says of arguments
	}
	if p.exit == 0 {
		p.exit = exitOf(p.code)
	}
	return p
}

func asPanic(err error, p *problem) bool {
	var own *panicError
	var handler *starhost.PanicError
	if errors.As(err, &own) {
		p.stack = own.stack
	} else if !errors.As(err, &handler) {
		return false
	}
	p.code = "E0111"
	return true
}

func asInterrupt(err error, p *problem) bool {
	if !errors.Is(err, context.Canceled) {
		return false
	}
	p.code, p.message = "E0709", "interrupted"
	return true
}

func asUsage(err error, p *problem) bool {
	var e *usageError
	if !errors.As(err, &e) {
		return false
	}
	p.code, p.help = "E0701", e.help
	if e.where != nil {
		p.pos, p.message, p.detail = starhost.Pos(e.where.Pos), e.where.Msg, e.where.Detail()
	}
	return true
}

func asOutside(err error, p *problem) bool {
	var e *outsideError
	var path *fs.PathError
	if !errors.As(err, &e) && !errors.As(err, &path) {
		return false
	}
	p.code = "E0708"
	return true
}

func asStarlark(err error, p *problem) bool {
	var e *starlark.Error
	if !errors.As(err, &e) {
		return false
	}
	p.code, p.message, p.help, p.trace, p.detail = e.Code, e.Msg, e.Help, e.Trace, e.Detail()
	p.pos = starhost.Pos(e.Pos)
	if p.exit = exitOf(e.Code); p.exit == exitUsage || e.Code == "E0607" {
		p.exit = exitPlugin // what a plugin loads is not what the command line names
	}
	var limit *starlark.LimitError
	if errors.As(err, &limit) {
		p.limit = &limitJSON{limit.Limit, limit.Op, limit.Need, limit.Max, limit.Used}
	}
	return true
}

func asLoader(err error, p *problem) bool {
	var e *loader.Error
	if !errors.As(err, &e) {
		return false
	}
	p.code, p.message, p.pos = e.Code(), e.Msg, starhost.Pos(e.Place)
	return true
}

func asAbort(err error, p *problem) bool {
	var e *starhost.AbortError
	if !errors.As(err, &e) {
		return false
	}
	p.code, p.plugin, p.pos = "E0707", e.Plugin, e.Pos
	p.message = fmt.Sprintf("turn aborted by %s: %s", e.Plugin, e.Reason)
	return true
}

func asReference(err error, p *problem) bool {
	var e *starhost.UnknownRefError
	if !errors.As(err, &e) {
		return false
	}
	p.code, p.plugin, p.pos = "E0702", "", starhost.Pos{}
	p.message = e.Error()
	if e.Near == "" && slices.Contains(formatNames("eval"), e.Ref) {
		p.help = "did you mean -F " + e.Ref + "? -f is --fragment"
	}
	return true
}

func asOverflow(err error, p *problem) bool {
	var e *fragments.OverflowError
	if !errors.As(err, &e) {
		return false
	}
	p.code = "E0703"
	p.limit = &limitJSON{Name: e.Limit, Op: "merge", Need: uint64(e.Need), Max: uint64(e.Max)}
	p.help = "[prompt] " + e.Limit + " raises it"
	return true
}

func asTooLarge(err error, p *problem) bool {
	var e *fragments.SizeError
	if !errors.As(err, &e) {
		return false
	}
	p.code = "E0712"
	p.limit = &limitJSON{Name: "max_fragment", Op: "fragment", Need: uint64(e.Need), Max: uint64(e.Max)}
	p.help = "[prompt] max_fragment raises it"
	return true
}

// asCoded knows errors of the lower floors, which say their code themselves.
func asCoded(err error, p *problem) bool {
	var e interface{ Code() string }
	if !errors.As(err, &e) {
		return false
	}
	p.code = e.Code()
	return true
}

// exits maps codes to exit codes: the longest prefix that fits counts.
var exits = map[string]int{
	"E01": exitPlugin, "E02": exitPlugin, "E03": exitPlugin, // evaluation and the contract
	"E0111": exitBug,
	"E0303": exitUsage, // a setting of the config
	"E04":   exitLimit,
	"E05":   exitPlugin, // effects
	"E0501": exitLimit,
	"E0502": exitUsage, // of a flag or the config
	"E0504": exitOutside, "E0505": exitOutside,
	"E0506": exitLimit,
	"E0507": exitUsage,
	"E0511": exitOutside, "E0512": exitOutside, "E0513": exitOutside, "E0514": exitOutside,
	"E0515": exitUsage,    // a file that the command line names
	"E0516": exitNegative, // a comparison
	"E0518": exitOutside, "E0519": exitOutside,
	"E0520": exitLimit,
	"E06":   exitUsage, // config and paths
	"E0605": exitPlugin, "E0606": exitPlugin,
	"E0607": exitOutside,
	"E0608": exitLimit,
	"E07":   exitUsage, // codes of this package
	"E0703": exitLimit,
	"E0704": exitPlugin, "E0705": exitPlugin, "E0706": exitPlugin,
	"E0707": exitNegative, "E0712": exitLimit,
	"E0708": exitOutside,
	"E0709": exitInterrupted,
	"E0711": exitPlugin,
	"E08":   exitNegative, // what check warns of
	"E09":   exitNegative,
}

func exitOf(code string) int {
	for n := len(code); n > 0; n-- {
		if exit, ok := exits[code[:n]]; ok {
			return exit
		}
	}
	return exitBug
}

// codes explain what this package, and the package starhost below it, report.
var codes = slices.Concat(commonCodes, formatCodes, checkCodes, lintCodes)

// commonCodes explain what more than one command reports.
var commonCodes = []starlark.Code{
	{Code: "E0701", Title: "a mistake on the command line",
		Text: "A command, flag, argument or value that does not exist, or that does not go with the others. starhost COMMAND --help lists what there is.",
		Bad:  "starhost eval \"Why is p99 up?\"", Good: "starhost eval -p \"Why is p99 up?\""},
	{Code: "E0702", Title: "an unknown reference",
		Text: "No loader is registered for the reference's prefix, and there is no file of that name. starhost list loaders shows the prefixes.",
		Bad:  "starhost eval -f runbok:checkout", Good: "starhost eval -f runbook:checkout"},
	{Code: "E0703", Title: "too many fragments were asked for",
		Text: "What -f and --sf ask for is never dropped, and is over a limit of [prompt] by itself. Ask for less, or raise the limit in the config.",
		Bad:  "starhost eval -f logs/", Good: "starhost eval -f logs/today.log"},
	{Code: "E0704", Title: "two plugins register one name",
		Text: "A tool or a loader's prefix is there once in a host. Both places are shown; the plugin that came first stays. Rename one, or disable one of the plugins.",
		Bad:  "-- a.star --\nregister_fragment_loader(\"note\", lambda arg: arg)\n-- b.star --\nregister_fragment_loader(\"note\", lambda arg: \"note \" + arg)\n",
		Good: "-- a.star --\nregister_fragment_loader(\"note\", lambda arg: arg)\n-- b.star --\nregister_fragment_loader(\"b-note\", lambda arg: \"note \" + arg)\n"},
	{Code: "E0705", Title: "a registration is not valid",
		Text: "A name, schema, match or on_error that a registration cannot have. The message says what it can be.",
		Bad:  "def page():\n    \"\"\"Page somebody.\"\"\"\n\nregister_tool(page, name = \"page somebody\")\n",
		Good: "def page():\n    \"\"\"Page somebody.\"\"\"\n\nregister_tool(page, name = \"page_somebody\")\n"},
	{Code: "E0706", Title: "a handler broke its contract",
		Text: "A handler returned what its event, or its loader, cannot use: a decision that the event does not accept, a fragment that is not UTF-8. The message says what it can be.",
		Bad:  "register_hook(\"turn_start\", lambda: deny(\"no\"))\n",
		Good: "register_hook(\"turn_start\", lambda: abort(\"no\"))\n"},
	{Code: "E0707", Title: "the turn was aborted",
		Text: "A handler ended the turn before the prompt was complete, for the reason shown. That is a result, not a failure.",
		Bad:  "register_hook(\"turn_start\", lambda: abort(\"closed for today\"))\n",
		Good: "register_hook(\"turn_start\", lambda: \"Closed for today: say so.\")\n"},
	{Code: "E0708", Title: "a file or stream failed",
		Text: "A file that was named cannot be read or written, or standard output was closed.",
		Bad:  "starhost eval -p hi -o /no/such/folder/out", Good: "starhost eval -p hi -o out"},
	{Code: "E0709", Title: "interrupted",
		Text: "The user or the system stopped the program."},
	{Code: "E0710", Title: "a warning, and --strict",
		Text: "With --strict a warning is an error. The warning says what is ignored or has no effect.",
		Bad:  "[plugins]\ndisabled = [\"no-such-plugin\"]\n", Good: "[plugins]\ndisabled = []\n"},
	{Code: "E0712", Title: "a fragment is too large",
		Text: "One fragment that a handler gave is over [prompt] max_fragment, which is 256 KiB unless the config says otherwise. It is an error of the handler, so that nothing is cut without a word: give a part, or several fragments.",
		Bad:  "register_hook(\"pre_llm_call\", lambda: \"x\" * 300000)\n",
		Good: "register_hook(\"pre_llm_call\", lambda: text.truncate(\"x\" * 300000, 1000))\n"},
}
