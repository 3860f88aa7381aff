package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/starlark"
)

// A Problem is an error in the form of the report.
type Problem struct {
	Exit    int
	Code    string // `starhost docs` explains it
	Message string // without the place
	Plugin  string // "" if no plugin is to blame
	Pos     starhost.Pos
	limit   *limitJSON
	Trace   []starlark.Frame
	Help    string // lines of advice, "" for none
	Detail  string // the whole text for a terminal; "" if method text builds it

	Logged string // the same error in the log: the plugin and the text
	Stack  []byte // for a panic
	Bug    bool   // the caller found a bug of starhost
}

// Where returns the problem in one line, with its place.
func (p *Problem) Where() string {
	if p.Pos == (starhost.Pos{}) {
		return p.Message
	}
	return p.Pos.String() + ": " + p.Message
}

// IsSame reports whether two problems are one mistake at one place of a file, and not the failures
// of two handlers.
func (p *Problem) IsSame(q Problem) bool {
	return p.Pos.Line > 0 && p.Pos == q.Pos && p.Code == q.Code && p.Message == q.Message && p.Logged == q.Logged
}

// Text returns the problem as lines for a terminal.
func (p *Problem) Text() string {
	if p.Detail != "" {
		return p.Detail
	}
	var b strings.Builder
	if p.Pos != (starhost.Pos{}) {
		b.WriteString(texttable.Hang(p.Pos.String()) + ": ")
	}
	fmt.Fprintf(&b, "%s [%s]\n", texttable.Hang(p.Message), p.Code)
	for line := range strings.Lines(p.Help) {
		fmt.Fprintf(&b, "  help: %s\n", texttable.Hang(strings.TrimSuffix(line, "\n")))
	}
	fmt.Fprintf(&b, "  help: starhost docs %s\n", p.Code)
	return b.String()
}

// A Kind describes the errors of one kind: it fills in the fields of a problem and returns true, or returns
// false for any other error.
type Kind func(error, *Problem) bool

// KindOf returns the kind of the errors that have an E in their chain.
func KindOf[E error](describe func(E, *Problem)) Kind {
	return func(err error, p *Problem) bool {
		e, ok := errors.AsType[E](err)
		if ok {
			describe(e, p)
		}
		return ok
	}
}

// withCode returns the kind of the errors that have an E in their chain, of which only the code is special.
func withCode[E error](code string) Kind {
	return KindOf(func(_ E, p *Problem) { p.Code = code })
}

// Describe turns an error of any kind into a problem. own are kinds that only the caller knows.
func Describe(err error, own ...Kind) Problem {
	p := Problem{Message: err.Error()}
	if handler, ok := errors.AsType[*host.HandlerError](err); ok {
		p.Plugin, p.Pos = handler.Plugin, handler.Pos
		p.Message = handler.What + ": " + handler.Error()
		p.Logged = handler.Plugin + " " + p.Message
		p.Code = "E0706"
	}
	for _, describe := range slices.Concat([]Kind{withCode[*host.PanicError]("E0111"), asInterrupt}, own, kinds()) {
		if describe(err, &p) {
			break
		}
	}
	if p.Code == "" {
		p.Code = "E0701" // the flag parser's errors about arguments
	}
	if errors.Is(err, loader.ErrManaged) {
		p.Exit = ExitUsage // for all of its mistakes, so that a caller can rely on it
	}
	if p.Exit == 0 {
		p.Exit = ExitOf(p.Code)
	}
	if p.Exit == ExitBug && !p.Bug && !isBug(err) { // the code comes from a text, as that of a journal
		p.Exit = ExitPlugin
	}
	return p
}

// isBug reports whether an error is one of the types that stand for a bug of starhost.
func isBug(err error) bool {
	var handler *host.PanicError
	var script *starlark.InternalError
	return errors.As(err, &handler) || errors.As(err, &script)
}

func asInterrupt(err error, p *Problem) bool {
	if !errors.Is(err, context.Canceled) {
		return false
	}
	p.Code, p.Message = "E0709", "interrupted"
	return true
}

// nextWithoutPlugins says what to type in a folder without plugins.
const nextWithoutPlugins = `starhost new plugin NAME begins a plugin here; starhost new guard begins a guard without code
starhost demo shows sample plugins at work
starhost eval PATH loads plugins from another place`

// kinds returns the kinds of errors that have fields of their own. The first that fits counts.
func kinds() []Kind {
	return []Kind{
		KindOf(func(e *UsageError, p *Problem) {
			p.Code, p.Help = "E0701", e.Help
			if e.Where != nil {
				p.Pos, p.Message, p.Detail = starhost.Pos(e.Where.Pos), e.Where.Msg, e.Where.Detail()
			}
		}),
		withCode[*errtext.FileError]("E0708"), withCode[*fs.PathError]("E0708"),
		KindOf(func(e *starlark.Error, p *Problem) {
			p.Code, p.Message, p.Help, p.Trace, p.Detail = e.Code, e.Msg, e.Help, e.Trace, e.Detail()
			p.Pos = starhost.Pos(e.Pos)
			if p.Exit = ExitOf(e.Code); p.Exit == ExitUsage || e.Code == "E0607" {
				p.Exit = ExitPlugin // the command line did not name the file: a plugin loads it
			}
			if limit, ok := errors.AsType[*starlark.LimitError](e); ok {
				p.limit = &limitJSON{limit.Limit, limit.Op, limit.Need, limit.Max, limit.Used}
			}
		}),
		KindOf(func(e *loader.Error, p *Problem) {
			p.Code, p.Message, p.Pos = e.Code(), e.Msg, starhost.Pos(e.PlaceFromHere())
			if errors.Is(e, loader.ErrNoPlugins) {
				p.Help = nextWithoutPlugins
			}
		}),
		KindOf(func(e *host.AbortError, p *Problem) {
			p.Code, p.Plugin, p.Pos = "E0707", e.Plugin, e.Pos
			p.Message = fmt.Sprintf("turn aborted by %s: %s", e.Plugin, e.Reason)
		}),
		KindOf(func(e *host.UnknownRefError, p *Problem) {
			p.Code, p.Message, p.Plugin, p.Pos = "E0702", e.Error(), "", starhost.Pos{}
		}),
		KindOf(func(e *fragments.OverflowError, p *Problem) {
			p.Code, p.Help = "E0703", "[prompt] "+e.Limit+" raises it"
			p.limit = &limitJSON{Name: e.Limit, Op: "merge", Need: uint64(e.Need), Max: uint64(e.Max)}
		}),
		KindOf(func(e *fragments.SizeError, p *Problem) {
			p.Code, p.Help = "E0712", "[prompt] max_fragment raises it"
			p.limit = &limitJSON{Name: "max_fragment", Op: "fragment", Need: uint64(e.Need), Max: uint64(e.Max)}
		}),
		asCoded,
	}
}

// asCoded takes the code of errors that have a Code method.
func asCoded(err error, p *Problem) bool {
	var e interface{ Code() string }
	if !errors.As(err, &e) {
		return false
	}
	p.Code = cmp.Or(e.Code(), p.Code)
	var helper interface{ Help() string }
	if errors.As(err, &helper) {
		p.Help = helper.Help()
	}
	return true
}

// The exit codes of all commands except hook.
const (
	ExitOK          = 0
	ExitNegative    = 1   // the result is negative: denied, aborted, different
	ExitUsage       = 2   // the command line or the config
	ExitPlugin      = 3   // a plugin's mistake
	ExitLimit       = 4   // a limit or a permission
	ExitFile        = 5   // a file, a network, a database
	ExitBundle      = 6   // a bundle that is not whole, not signed, or not the wanted one
	ExitTrial       = 7   // a bundle that does not load, or that does not pass its cases
	ExitBug         = 70  // a bug of starhost
	ExitInterrupted = 130 // by the user
)

// exitCodes gives the exit codes of error codes. The longest prefix of a code that the table
// has decides.
var exitCodes = []struct {
	prefix string
	exit   int
}{
	{"E01", ExitPlugin}, {"E02", ExitPlugin}, {"E03", ExitPlugin}, // evaluation and the contract
	{"E0111", ExitBug},
	{"E0303", ExitUsage}, // a setting of the config
	{"E04", ExitLimit},
	{"E05", ExitPlugin}, // effects
	{"E0501", ExitLimit},
	{"E0502", ExitUsage}, // in a flag or the config
	{"E0504", ExitFile}, {"E0505", ExitFile},
	{"E0506", ExitLimit},
	{"E0507", ExitUsage},
	{"E0511", ExitFile}, {"E0512", ExitFile}, {"E0513", ExitFile}, {"E0514", ExitFile},
	{"E0515", ExitUsage},    // the command line names the journal
	{"E0516", ExitNegative}, // the replay differs
	{"E0518", ExitFile}, {"E0519", ExitFile},
	{"E0520", ExitLimit},
	{"E06", ExitUsage}, // config and paths
	{"E0605", ExitPlugin}, {"E0606", ExitPlugin},
	{"E0607", ExitFile},
	{"E0608", ExitLimit},
	{"E07", ExitUsage}, // the codes of this package
	{"E0703", ExitLimit},
	{"E0704", ExitPlugin}, {"E0705", ExitPlugin}, {"E0706", ExitPlugin},
	{"E0707", ExitNegative}, {"E0712", ExitLimit},
	{"E0708", ExitFile}, {"E0713", ExitFile}, {"E0714", ExitFile}, {"E0719", ExitNegative}, {"E0724", ExitNegative},
	{"E0723", ExitLimit},
	{"E0709", ExitInterrupted},
	{"E0711", ExitPlugin},
	{"E0715", ExitFile},
	{"E08", ExitNegative}, // warnings of check
	{"E0806", ExitPlugin}, {"E0807", ExitPlugin}, {"E0808", ExitPlugin}, {"E0810", ExitPlugin},
	{"E09", ExitNegative},
	{"E10", ExitBundle},
	{"E1004", ExitFile},
	{"E1005", ExitTrial},
}

// ExitOf returns the exit code for an error code.
func ExitOf(code string) int {
	exit, longest := ExitBug, 0
	for _, row := range exitCodes {
		if strings.HasPrefix(code, row.prefix) && len(row.prefix) > longest {
			exit, longest = row.exit, len(row.prefix)
		}
	}
	return exit
}

// JSON returns the JSON form of a problem, an item of errors[].
func (p *Problem) JSON() ErrorJSON {
	out := ErrorJSON{
		Code: p.Code, Message: p.Message, Plugin: p.Plugin, Pos: NewPosJSON(p.Pos), Limit: p.limit,
		Traceback: []frameJSON{}, Help: p.Help,
	}
	for _, f := range p.Trace {
		out.Traceback = append(out.Traceback, frameJSON{f.Fn, PosJSON(f.Pos)})
	}
	return out
}

// NewPosJSON returns a place as an object, nil for no place.
func NewPosJSON(p starhost.Pos) *PosJSON {
	if p == (starhost.Pos{}) {
		return nil
	}
	pos := PosJSON(p)
	return &pos
}
