package builtins

import (
	"context"
	"errors"
	"strings"
	"time"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/guard"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/shell"
)

// guardPriority puts a guard of rules in front of most other hooks.
const guardPriority = -100

// registerGuard implements
//
//	register_guard(rules="rules.toml")
func registerGuard(c call.Call) (starlark.Value, error) {
	name := "rules.toml"
	if err := c.Bind("rules?", &name); err != nil {
		return nil, err
	}
	r, err := startRegistration(c)
	if err != nil {
		return nil, err
	}
	text, err := readOwn(c, name)
	if err != nil {
		return nil, err
	}
	if err := c.Pay(10+len(text)/64, 1024+2*len(text)); err != nil {
		return nil, err
	}
	rules, err := guard.Load(r.plugin.Name+"/"+name, string(text))
	if err != nil {
		return nil, ruleError(err)
	}
	if r.Prove {
		if errs := rules.Prove(); len(errs) > 0 {
			return nil, ruleError(errs[0])
		}
	}
	r.plugin.Hooks = append(r.plugin.Hooks, starhost.Hook{
		Event: "pre_tool_call", Priority: guardPriority, Pos: registrationPlace(c.Thread),
		Call: func(ctx context.Context, e *starhost.Event) (starhost.Decision, error) {
			return r.guardCall(ctx, e, rules)
		},
	})
	return starlark.None, nil
}

// ruleError gives a mistake in a file of rules its place.
func ruleError(err error) error {
	var e *guard.Error
	if !errors.As(err, &e) {
		return call.Errorf("E0321", "%v", err)
	}
	return call.Errorf("E0321", "%s", e.Msg).At(syntax.MakePosition(&e.File, int32(e.Line), 1))
}

// guardCall decides about one call by rules.
func (r *Recorder) guardCall(ctx context.Context, e *starhost.Event, rules *guard.Set) (d starhost.Decision, err error) {
	info := e.CallInfo()
	if info == nil {
		return d, nil
	}
	if lacksTexts(e) {
		for _, o := range omissionsOf(e) {
			if o.text != "" && strings.Contains(info.Command+"\x00"+info.URL+"\x00"+strings.Join(info.Paths, "\x00"), o.text) {
				o.read()
			}
		}
	}
	h := r.beginCall(ctx, host.TurnOf(ctx))
	c := &guard.Call{
		Agent: info.Agent, Command: info.Command, CWD: info.CWD, URL: info.URL, Kinds: info.Kinds, Paths: info.Paths,
		Now: func() time.Time {
			now, failed := r.world.Now(h, h.turn)
			if err == nil {
				err = failed
			}
			return now
		},
	}
	if info.Command != "" {
		tool, dialect := strings.ToLower(e.Tool), "any"
		if strings.Contains(tool, "powershell") || strings.Contains(tool, "pwsh") {
			dialect = "powershell"
		}
		o := shell.Options{Dialect: dialect, Folder: info.CWD, Trusted: r.Trusted}
		if rules.Trusted != nil {
			o.Trusted = rules.Trusted
		}
		if len(r.world.Granted) > 0 {
			o.Read = func(name string) (string, bool) {
				text, err := r.world.ReadFileBytes(h, name)
				return string(text), err == nil
			}
		}
		c.Script = shell.ParseWith(info.Command, o)
		h.lane.AddUsage(uint64(shellSteps(c.Script)), uint64(len(info.Command)))
	}
	d, failed := rules.Decide(c)
	if failed != nil {
		return starhost.Decision{}, ruleError(failed)
	}
	r.cleanDecision(&d)
	return d, err
}

// shellSteps is what the parse of a line costs in steps.
func shellSteps(s *shell.Script) int { return 1 + s.Weight + 20*s.Nodes }
