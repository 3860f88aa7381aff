package builtins

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.starlark.net/starlark"

	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/internal/errtext"
)

// filesMembers are the members of the module files, which reads the plugin's folder.
var filesMembers = []call.Member{
	{
		Name: "read", Params: "path", Type: "str -> str",
		Doc: `Returns the text of a file in the plugin's own folder.
path is relative to the folder, with "/". Reading later returns the content from the time when
the plugin was loaded. A plugin that is a single file has no folder.`,
		Example: `assert_eq(files.read("data/teams.txt"), "checkout\n")`,
		Func:    filesRead,
	},
	{
		Name: "read_bytes", Params: "path", Type: "str -> Bytes",
		Doc:     "Returns the bytes of a file in the plugin's own folder.",
		Example: `assert_eq(files.read_bytes("data/teams.txt")[:5], b"check")`,
		Func:    filesReadBytes,
	},
	{
		Name: "glob", Params: "pattern", Type: "str -> list[str]",
		Doc: `Returns the files of the plugin's own folder that match, sorted by the bytes of the path.
"*" matches within a name, "**" any folders. Names that begin with a dot match only if the
pattern contains the dot.`,
		Example: `assert_eq(files.glob("data/*.txt"), ["data/teams.txt"])`,
		Func:    filesGlob,
	},
	{
		Name: "exists", Params: "path", Type: "str -> bool",
		Doc: "Reports whether the plugin's own folder has a file.",
		Example: `assert_eq(files.exists("data/teams.txt"), True)
assert_eq(files.exists("data/none.txt"), False)`,
		Func: filesExists,
	},
}

// ownFilesOf returns the files of the plugin's folder.
func ownFilesOf(c call.Call) (effects.OwnFiles, error) {
	h := handlerOf(c)
	if h == nil {
		return nil, c.Fail("E0316", "this file is no plugin: only a plugin has files")
	}
	if h.rec.world.Own == nil {
		name := h.rec.plugin.Name
		return nil, c.Fail("E0316", "%s.star is a single file and has no folder: make it %s/plugin.star", name, name)
	}
	return h.rec.world.Own, nil
}

// maxOwnPath is the most bytes of a path or pattern of files in the plugin's folder.
const maxOwnPath = 4 << 10

// payForOwn charges for finding a file, because the system walks through each folder on its path. A path that
// is too long for any system is an error. arg is the name of the argument, for errors.
func payForOwn(c call.Call, arg, name string) error {
	if len(name) > maxOwnPath {
		return c.Fail("E0316", "%s: got %d bytes, want at most %d", arg, len(name), maxOwnPath)
	}
	return c.Pay(100+len(name)/4+8*strings.Count(name, "/"), 4*len(name))
}

// payStepsOf returns a function that charges the call for steps.
func payStepsOf(c call.Call) func(steps int) error {
	return func(steps int) error { return c.Pay(steps, 0) }
}

// readOwn returns the bytes of a file in the plugin's folder.
func readOwn(c call.Call, name string) ([]byte, error) {
	own, err := ownFilesOf(c)
	if err != nil {
		return nil, err
	}
	if err := payForOwn(c, "path", name); err != nil {
		return nil, err
	}
	data, err := own.Read(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Name, err)
	}
	return data, c.Pay(1+len(data)/64, len(data))
}

// filesRead implements files.read.
func filesRead(c call.Call) (starlark.Value, error) {
	var name string
	if err := c.Bind("path", &name); err != nil {
		return nil, err
	}
	data, err := readOwn(c, name)
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(data) {
		return nil, c.Fail("E0316", "%s: got bytes that are not UTF-8, want text: files.read_bytes reads any", name)
	}
	return starlark.String(data), nil
}

// filesReadBytes implements files.read_bytes.
func filesReadBytes(c call.Call) (starlark.Value, error) {
	var name string
	if err := c.Bind("path", &name); err != nil {
		return nil, err
	}
	data, err := readOwn(c, name)
	return starlark.Bytes(data), err
}

// filesGlob implements files.glob.
func filesGlob(c call.Call) (starlark.Value, error) {
	var pattern string
	if err := c.Bind("pattern", &pattern); err != nil {
		return nil, err
	}
	own, err := ownFilesOf(c)
	if err != nil {
		return nil, err
	}
	if err := payForOwn(c, "pattern", pattern); err != nil {
		return nil, err
	}
	names, err := own.Glob(pattern, payStepsOf(c))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Name, err)
	}
	return stringList(names), c.Pay(1+len(names), textsSize(names))
}

// filesExists implements files.exists.
func filesExists(c call.Call) (starlark.Value, error) {
	var name string
	if err := c.Bind("path", &name); err != nil {
		return nil, err
	}
	own, err := ownFilesOf(c)
	if err != nil {
		return nil, err
	}
	if err := payForOwn(c, "path", name); err != nil {
		return nil, err
	}
	ok, err := own.Exists(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Name, err)
	}
	return starlark.Bool(ok), nil
}

// attachmentFile returns the bytes for attachment(path = name). The file is in the plugin's folder or else,
// if the plugin may read it, in the workspace.
func attachmentFile(c call.Call, name string) ([]byte, error) {
	h := handlerOf(c)
	own, noFolder := ownFilesOf(c)
	if noFolder == nil {
		if ok, err := own.Exists(name); ok && err == nil {
			return readOwn(c, name)
		}
	}
	switch {
	case h != nil && h.turn != nil:
	case noFolder != nil:
		return nil, noFolder
	default:
		return nil, c.Fail("E0316", "path: %s is not in the plugin's folder; files of the workspace are read in handlers", errtext.Quote(name))
	}
	data, err := runEffect(c, func(ctx context.Context) ([]byte, error) {
		return h.rec.world.ReadFileBytes(ctx, name)
	})
	var refused *effects.PermissionError
	switch {
	case errors.As(err, &refused) && !refused.Declared && noFolder != nil:
		return nil, noFolder
	case errors.As(err, &refused) && !refused.Declared:
		return nil, c.Fail("E0316", "path: %s is not in the plugin's folder; if it is the workspace's: %v", errtext.Quote(name), err)
	case err != nil:
		return nil, fmt.Errorf("%s: path: %w", c.Name, err)
	}
	return data, nil
}
