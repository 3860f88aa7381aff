package builtins

import (
	"context"
	"errors"
	"io/fs"

	"go.starlark.net/starlark"

	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/effects"
)

// onPath calls work with the call's only argument, which is a path or pattern. want is the argument's name.
func onPath[T any](c call.Call, want string, work func(ctx context.Context, arg string) (T, error)) (T, error) {
	var arg string
	if err := c.Bind(want, &arg); err != nil {
		var none T
		return none, err
	}
	return runEffect(c, func(ctx context.Context) (T, error) { return work(ctx, arg) })
}

// fsRead implements ctx.fs.read.
func fsRead(c call.Call, h *handlerCall) (starlark.Value, error) {
	var (
		name      string
		otherwise starlark.Value
	)
	if err := c.Bind("path", &name, "default?", &otherwise); err != nil {
		return nil, err
	}
	text, err := runEffect(c, func(ctx context.Context) (string, error) {
		if otherwise != nil {
			ctx = effects.WithoutHints(ctx)
		}
		return h.rec.world.ReadFile(ctx, name)
	})
	if otherwise != nil && isNoText(err) {
		return otherwise, nil
	}
	if err != nil {
		return nil, err
	}
	return starlark.String(text), c.Pay(1+len(text)/64, len(text))
}

// isNoText reports whether an error says that a file is missing or is no text.
func isNoText(err error) bool {
	var e *effects.Error
	return errors.Is(err, fs.ErrNotExist) || errors.As(err, &e) && e.Code() == "E0505"
}

// fsReadBytes implements ctx.fs.read_bytes.
func fsReadBytes(c call.Call, h *handlerCall) (starlark.Value, error) {
	data, err := onPath(c, "path", h.rec.world.ReadFileBytes)
	if err != nil {
		return nil, err
	}
	return starlark.Bytes(data), c.Pay(1+len(data)/64, len(data))
}

// fsGlob implements ctx.fs.glob.
func fsGlob(c call.Call, h *handlerCall) (starlark.Value, error) {
	names, err := onPath(c, "pattern", h.rec.world.GlobFiles)
	if err != nil {
		return nil, err
	}
	return stringList(names), c.Pay(1+len(names), textsSize(names))
}

// fsExists implements ctx.fs.exists.
func fsExists(c call.Call, h *handlerCall) (starlark.Value, error) {
	ok, err := onPath(c, "path", h.rec.world.FileExists)
	return starlark.Bool(ok), err
}

// fsStat implements ctx.fs.stat.
func fsStat(c call.Call, h *handlerCall) (starlark.Value, error) {
	info, err := onPath(c, "path", h.rec.world.StatFile)
	if err != nil {
		return nil, err
	}
	return structOf("stat", starlark.StringDict{
		"name": starlark.String(info.Name), "size": starlark.MakeInt64(info.Size), "is_dir": starlark.Bool(info.IsDir),
	}), nil
}

// fsWrite implements ctx.fs.write.
func fsWrite(c call.Call, h *handlerCall) (starlark.Value, error) {
	var (
		name    string
		content call.TextOrBytes
	)
	if err := c.Bind("path", &name, "content", &content); err != nil {
		return nil, err
	}
	if err := c.Pay(1+len(content)/64, len(content)); err != nil {
		return nil, err
	}
	_, err := runEffect(c, func(ctx context.Context) (none struct{}, err error) {
		return none, h.rec.world.WriteFile(ctx, name, string(content))
	})
	return starlark.None, err
}
