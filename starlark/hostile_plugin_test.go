//go:build linux

package starlark_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/starlark"
)

func init() { starlark.HostilePlugin = hostilePlugin }

// hostilePlugin loads a plugin as a program does, with a very long timeout, the permissions that
// it declares and a workspace, and calls all its registrations in one turn.
func hostilePlugin(path string) (starlark.Usage, error) {
	ctx, dir := context.Background(), filepath.Dir(path)
	grants, err := declaredPermissions(path)
	if err != nil {
		return starlark.Usage{}, err
	}
	if filepath.Base(path) == "plugin.star" {
		path, dir = dir, filepath.Dir(dir)
	}
	workspace, err := effects.OpenFiles(os.Getenv("STARHOST_HOSTILE_WORKSPACE"), effects.FileOptions{})
	if err != nil {
		return starlark.Usage{}, err
	}
	defer workspace.Close()
	config, _, err := loader.ParseConfig("starhost.toml", dir, []byte("[limits]\ntimeout = \"15s\"\n"))
	if err != nil {
		return starlark.Usage{}, err
	}
	set, err := loader.Load(ctx, loader.Options{
		Config: config, Dir: dir, Args: []string{path}, Grants: grants,
		World:     effects.World{Workspace: workspace, Store: &effects.MemoryKV{}},
		LookupEnv: func(name string) (string, bool) { return strings.Repeat(name, 1000), true },
	})
	if err != nil {
		return starlark.Usage{}, err
	}
	defer set.Close()
	p := set.Plugins[0]
	usage := starlark.Usage{Steps: p.Steps, Bytes: p.Bytes}
	if p.Err != nil {
		return usage, p.Err
	}
	return usage, useAll(ctx, set.Host, p.Registered)
}

// declaredPermissions returns the permissions that a plugin's manifest declares, or none if the
// file has no valid manifest.
func declaredPermissions(path string) ([]string, error) {
	text, err := os.ReadFile(path)
	if err != nil || len(text) > loader.DefaultMaxSource {
		return nil, err
	}
	file, err := starlark.New(starlark.Options{}).Parse(filepath.Base(path), text)
	if err != nil {
		return nil, nil
	}
	m, err := builtins.ReadManifest(file)
	if err != nil {
		return nil, nil
	}
	return m.Permissions, nil
}

// useAll begins a turn, calls each tool, command and loader of p, and fires the event of each hook.
// It returns the first failure.
func useAll(ctx context.Context, h *host.Host, p *starhost.Plugin) error {
	turn, err := h.NewSession(host.SessionConfig{ID: "s1", Model: "m1"}).Begin(ctx, host.Request{Text: "hi"})
	if err != nil {
		return err
	}
	defer turn.End(ctx)
	for _, tool := range p.Tools {
		reply, err := turn.CallTool(ctx, starhost.ToolCall{ID: "1", Name: tool.Name})
		if err = firstOf(err, reply.Err); err != nil {
			return err
		}
	}
	for _, c := range p.Commands {
		reply, err := turn.Command(ctx, "/"+c.Name)
		if err = firstOf(err, reply.Err); err != nil {
			return err
		}
	}
	for _, l := range p.FragmentLoaders {
		if _, err := turn.Load(ctx, []string{l.Prefix + ":x"}); err != nil {
			return err
		}
	}
	for _, l := range p.TemplateLoaders {
		if _, err := turn.LoadTemplate(ctx, l.Prefix+":x"); err != nil {
			return err
		}
	}
	if _, err := turn.Prompt(ctx); err != nil {
		return err
	}
	for _, hook := range p.Hooks {
		e, err := starhost.NewEvent(hook.Event, map[string]json.RawMessage{})
		if err != nil {
			return err
		}
		if _, err := turn.Fire(ctx, e); err != nil {
			return err
		}
	}
	return firstOf(turn.Errors()...)
}

// firstOf returns the first error that is not nil.
func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
