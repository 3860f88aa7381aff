package effects

import (
	"errors"
	"io/fs"
	"syscall"

	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/near"
)

// An Error says in one line why an effect did not happen. Its cause is fs.ErrNotExist if a file is missing,
// host.ErrNoReference if a path is no reference, and nil otherwise.
type Error struct {
	Msg string

	code  string
	cause error
}

func (e *Error) Error() string { return e.Msg }

// Code returns a code that [Codes] explains, such as "E0504".
func (e *Error) Code() string { return e.code }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

func errorf(code, format string, args ...any) *Error {
	return &Error{Msg: errtext.Format(format, args...), code: code}
}

// Bounds of the names that plugins pass to effects. An effect checks a name before any other work, because
// permissions, journals and messages repeat the name several times.
const (
	maxName      = 256     // bytes of the name of a variable, a secret or a tool
	maxPath      = 4 << 10 // bytes of a path, the limit of Linux
	maxPathDepth = 256     // names of a path, because following links takes a call of the system for each
	maxReference = 8 << 10 // bytes of a reference, which can be a URL
	maxStateKey  = 4 << 10 // bytes of a key of ctx.state
)

// checkLength refuses a name of more than most bytes. what says which effect got the name, and what kind of
// name it is.
func checkLength(what, name string, most int) error {
	if len(name) > most {
		return errorf("E0506", "%s: got %d bytes, want at most %d", what, len(name), most)
	}
	return nil
}

// fileError returns an error about a file. label is the file's name in the message.
func fileError(code, label, format string, args ...any) *Error {
	return errorf(code, "file %q: %s", label, errtext.Format(format, args...))
}

// readError writes an error of a file system anew, without the path that the system opened, because the
// caller passed another path. sibling is the name that the caller may have meant, or "".
func readError(label string, err error, sibling string) *Error {
	var located *Error
	var inPath *fs.PathError
	switch {
	case isMissing(err):
		e := fileError("E0504", label, "no such file or folder%s", near.Hint(sibling))
		e.cause = fs.ErrNotExist
		return e
	case errors.As(err, &located):
		return located
	case errors.As(err, &inPath):
		return fileError("E0504", label, "%v", inPath.Err)
	}
	return fileError("E0504", label, "%v", err)
}

// isMissing reports whether err means that no file has the path. A system says so in other words if a part of
// the path is no folder, or if a name is too long.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ENAMETOOLONG)
}

// A Code explains an error code: its meaning, an example that fails with it, and one that works. It is an
// alias of an unnamed type, so that packages that do not import each other share the type.
type Code = struct{ Code, Title, Text, Bad, Good string }

// Codes returns the error codes of this package, in order.
func Codes() []Code { return codes }

var codes = []Code{
	{
		Code: "E0501", Title: "no permission",
		Text: "A plugin may do what its plugin(permissions = [...]) declares and the operator grants, in [grants] of the user's config or with --grant. " +
			"The message has the line to add to each. For a link, the file that it leads to needs a permission too.",
		Bad:  `plugin(permissions = ["fs.read:docs/*.md"])` + "\n" + `register_fragment_loader("doc", lambda ctx, arg: ctx.fs.read("notes/" + arg))`,
		Good: `plugin(permissions = ["fs.read:notes/*.md"])` + "\n" + `register_fragment_loader("doc", lambda ctx, arg: ctx.fs.read("notes/" + arg))`,
	},
	{
		Code: "E0502", Title: "not a permission",
		Text: "A permission is KIND:WHAT. fs.read:GLOB and fs.write:GLOB are about files of the workspace; " +
			"http:[METHODS ]HOST[:PORT][/PATH*], exec:ARGV, env:NAME and secret:NAME[@HOST] about the machine and the network; " +
			"store, tool:NAME, event:NAME, fragment:PREFIX, override:NAME and respond:TOOL about the host.",
		Bad:  `plugin(permissions = ["fs.raed:notes/*.md"])`,
		Good: `plugin(permissions = ["fs.read:notes/*.md"])`,
	},
	{
		Code: "E0503", Title: "not a path",
		Text: "Paths and patterns are relative to the workspace, with / between names on every system. A path without .., NUL or backslash can mean one file only, so that a permission is worth what it says. " +
			"In patterns * stays within a folder and ** does not; names that begin with a dot are matched only where the pattern spells the dot.",
		Bad:  `ctx.fs.read("../notes/a.md")`,
		Good: `ctx.fs.read("notes/a.md")`,
	},
	{
		Code: "E0504", Title: "file not readable",
		Text: "There is no such file, it is no regular file, a link leads out of the folder, or the system refuses to read it.",
		Bad:  `ctx.fs.read("notes")`,
		Good: `[ctx.fs.read(p) for p in ctx.fs.glob("notes/*.md")]`,
	},
	{
		Code: "E0505", Title: "file not text",
		Text: "read gives text, which is UTF-8, and read_bytes gives any file's bytes. To leave out the files of a folder that are not text, give read a default: it is the result for such a file, and for one that is missing.",
		Bad:  `ctx.fs.read("dash.png")`,
		Good: `[text for text in [ctx.fs.read(p, default = None) for p in ctx.fs.glob("notes/**")] if text != None]`,
	},
	{
		Code: "E0506", Title: "too much data",
		Text: "A name, a path, a file, a folder, the result of a pattern or a plugin's state is over the limit that the message names.",
		Bad:  `ctx.state.set("log", ctx.fs.read("huge.log"))`,
		Good: `ctx.state.set("lines", 12)`,
	},
	{
		Code: "E0507", Title: "not an attachment",
		Text: "An attachment is a path or an http or https URL, and its type a MIME type.",
		Bad:  `starhost eval -a "dash.png;type=png" -p "What is this?"`,
		Good: `starhost eval -a "dash.png;type=image/png" -p "What is this?"`,
	},
	{
		Code: "E0508", Title: "random range",
		Text: "ctx.random(n) draws from 0 up to n - 1, so n is 1 or more.",
		Bad:  `ctx.random(0)`,
		Good: `ctx.random(6) + 1`,
	},
	{
		Code: "E0509", Title: "not in a loader",
		Text: "Loaders of one prompt run beside each other, so they may do nothing that another could see: no fs.write, exec, tools.call, requests other than GET and HEAD, and nothing that sets or deletes. " +
			"The host's own references, as files and URLs, are for what the user typed; a plugin that loads one needs its own permission.",
		Bad:  `register_fragment_loader("doc", lambda ctx, arg: ctx.state.set("seen", arg))`,
		Good: `register_fragment_loader("doc", lambda ctx, arg: ctx.state.get("seen", ""))`,
	},
	{
		Code: "E0510", Title: "not a request",
		Text: "A URL has https or http, a host, and a path without . and .. in it; user and password go into auth. An address is written as 10.0.0.1 or [::1] and in no other form, so that it can be compared with permissions. " +
			"Headers that say how a request is sent are set by the host.",
		Bad:  `ctx.http.get("http://2130706433/status")`,
		Good: `ctx.http.get("http://127.0.0.1/status")`,
	},
	{
		Code: "E0511", Title: "no answer",
		Text: "The host has no address, refused the connection, did not answer in time, was not who its certificate says, redirected more than 5 times, or there is no network here.",
		Bad:  `ctx.http.get("https://pager.invalid/oncall")`,
		Good: `ctx.http.get("https://pager.internal/oncall", timeout = 5)`,
	},
	{
		Code: "E0512", Title: "program not run",
		Text: "A program is found by its name in a fixed list of folders, never in a relative path, and runs without a shell, with its own environment. When its time is over, it is killed with all that it started; on Linux also with programs that left its process group, unless they removed the variable STARHOST_EXEC. " +
			"Only the operator sets variables that change what a program runs.",
		Bad:  `ctx.exec(["./deploy.sh"])`,
		Good: `ctx.exec(["kubectl", "get", "pods"])`,
	},
	{
		Code: "E0513", Title: "no such secret",
		Text: "A secret is the environment variable of its name, in the file that NAME_FILE names, or where [secrets] of the config says. It has 1 byte to 64 KiB.",
		Bad:  `ctx.secret("PAGER_TOKN")`,
		Good: `ctx.secret("PAGER_TOKEN")`,
	},
	{
		Code: "E0514", Title: "file not written",
		Text: "A plugin writes regular files, whole or not at all, through no link at the end of the path; and the disk may be full, or the system refuse it.",
		Bad:  `ctx.fs.write("notes", "")`,
		Good: `ctx.fs.write("out/report.md", "")`,
	},
	{
		Code: "E0515", Title: "not a line of effects",
		Text: "The effects.jsonl of a golden case has one effect a line, with its reply or error, and lines that eval --record wrote also have lane and plugin. A line with an error has \"error\":{\"message\":\"connection refused\"} in place of the reply.",
		Bad:  `{"http.gte":{"url":"https://pager.internal/oncall"},"reply":{"status":200,"body":"Ada"}}`,
		Good: `{"http.get":{"url":"https://pager.internal/oncall"},"reply":{"status":200,"body":"Ada"}}`,
	},
	{
		Code: "E0516", Title: "replay diverged",
		Text: "The turn asked for another effect than eval --record wrote for that place: the plugins or the config are not those that were recorded. Nothing after that place can be compared.",
		Bad:  `starhost eval changed/oncall.star --replay why.txtar`,
		Good: `starhost eval oncall.star --replay why.txtar`,
	},
	{
		Code: "E0517", Title: "effect not answered",
		Text: "A golden case reaches no network and runs no program: its effects.jsonl says what these give. The message has the line to add, and says how the nearest line differs. Members of the request that a line leaves out may have any value.",
		Bad:  `{"http.get":{"url":"https://pager.internal/"},"reply":{"status":200,"body":"Ada"}}`,
		Good: `{"http.get":{"url":"https://pager.internal/oncall"},"reply":{"status":200,"body":"Ada"}}`,
	},
	{
		Code: "E0518", Title: "store not reachable",
		Text: "There is no store here, because [store] url is none or a program has none, or the store failed. A value that ends with the session belongs in ctx.state, which is always there.",
		Bad:  `ctx.store.set("last", ctx.now)`,
		Good: `ctx.state.set("last", ctx.now)`,
	}, {
		Code: "E0519", Title: "no such content",
		Text: "sha256:ID is a fragment in the store: one of an earlier prompt, or one that the program put there. Eight digits of its id are enough if no other begins with them. A text that was in no prompt yet needs its path or reference.",
		Bad:  `starhost eval oncall.star -f sha256:9f2c41d0 -p "Why?"`,
		Good: `starhost eval oncall.star -f notes/a.md -p "Why?"`,
	},
	{
		Code: "E0520", Title: "never written",
		Text: "A plugin never writes plugins, their libraries or the config, whatever its permissions: it could grant itself more.",
		Bad:  `ctx.fs.write("starhost.toml", "")`,
		Good: `ctx.fs.write("out/report.md", "")`,
	},
	{
		Code: "E0521", Title: "no counter",
		Text: "ctx.store.add adds to an integer of 64 bits. The key has another value, or the sum is too large.",
		Bad:  `ctx.store.add("seen", 1) if ctx.store.get("seen") == [] else None`,
		Good: `ctx.store.add("calls", 1)`,
	},
}
