package builtins

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/builtins/modules"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/guard"
	"github.com/starhost/starhost/shell"
)

// guardPriority puts a guard of rules in front of most other hooks.
const guardPriority = -100

// registerGuard implements register_guard.
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
	if err := c.Pay(10+len(text)/4, 1024+2*len(text)); err != nil {
		return nil, err
	}
	rules, err := guard.Load(r.plugin.Name+"/"+name, string(text))
	if err != nil {
		return nil, ruleError(err)
	}
	if r.Prove {
		if errs := rules.Prove(func(steps int) error { return c.Pay(steps, 0) }); len(errs) > 0 {
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

// ruleError gives a mistake in a file of rules its place. Other errors, as that of a limit, stay.
func ruleError(err error) error {
	e, ok := errors.AsType[*guard.Error](err)
	if !ok {
		return err
	}
	return call.Errorf("E0321", "%s", e.Msg).At(syntax.MakePosition(&e.File, int32(e.Line), int32(max(e.Col, 1)))).In(e.Source)
}

// guardCall decides about one call by rules, within the limits of a handler.
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
	h := r.beginCall(ctx)
	decide := func(c call.Call) (starlark.Value, error) {
		d, err = r.decideByRules(h, c, e, info, rules)
		return starlark.None, err
	}
	if _, err := h.call(call.NewBuiltin(r.rt, "register_guard", decide), nil, nil); err != nil {
		return starhost.Decision{}, err
	}
	r.cleanDecision(&d)
	return d, nil
}

// decideByRules pays for the parse of a command and for each rule.
func (r *Recorder) decideByRules(
	h *handlerCall, c call.Call, e *starhost.Event, info *starhost.CallInfo, rules *guard.Set,
) (d starhost.Decision, err error) {
	var failed error // of an effect
	line := c        // which an error about too many steps names
	line.Name = fmt.Sprintf("a command line of %d bytes", len(info.Command))
	question := &guard.Call{
		Agent: info.Agent, Command: info.Command, CWD: info.CWD, URL: info.URL, Kinds: info.Kinds, Paths: info.Paths,
		Pay: func(steps int) error { return line.Pay(steps, 0) },
		Now: func() time.Time {
			now, err := r.world.Now(h, h.turn)
			failed = cmp.Or(failed, err)
			return now
		},
	}
	if info.Command != "" {
		tool := strings.ToLower(e.Tool)
		o := shell.Options{Dialect: "any", Folder: info.CWD, Trusted: r.Trusted}
		if strings.Contains(tool, "powershell") || strings.Contains(tool, "pwsh") {
			o.Dialect = "powershell"
		}
		if rules.Trusted != nil {
			o.Trusted = rules.Trusted
		}
		if len(r.world.Granted) > 0 {
			o.Read = func(name string) (string, bool) {
				text, err := runEffect(c, func(ctx context.Context) ([]byte, error) {
					return r.world.ReadFileBytes(effects.WithoutHints(ctx), r.world.Below(name))
				})
				if err == nil {
					failed = cmp.Or(failed, c.Pay(1+len(text), len(text)))
				}
				return string(text), err == nil && failed == nil
			}
		}
		if question.Script, err = modules.ParseShell(line, info.Command, o); err != nil {
			return d, err
		}
	}
	d, err = rules.Decide(question)
	return d, ruleError(cmp.Or(failed, err))
}
