package loader

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/starhost/starhost"
)

// code writes or reads a snapshot: with [registration.code], all there is to say of its
// form.
func (s *snapshot) code(c *coder) {
	m := &s.manifest
	for _, t := range []*string{&m.Name, &m.Version, &m.Owner, &m.Description} {
		codeText(c, t)
	}
	for _, list := range []*[]string{&m.Permissions, &m.RequiresEnv, &m.Requires} {
		codeTexts(c, list)
	}
	codeInteger(c, &m.Place.Line)
	codeInteger(c, &m.Place.Col)
	codeItems(c, &s.looks, codeLook)
	codeItems(c, &s.logs, codeLog)
	s.encoded = c.in
	s.registered.code(c)
}

func codeLook(c *coder, l *look) {
	c.number(&l.kind)
	codeText(c, &l.from)
	codeText(c, &l.name)
	codeHash(c, &l.found)
	c.broken = c.broken || l.kind >= uint64(len(lookKinds))
}

func codeLog(c *coder, l *starhost.LogLine) {
	codeText(c, &l.Level)
	codeText(c, &l.Text)
	codePos(c, &l.Pos)
}

func codePos(c *coder, p *starhost.Pos) {
	codeText(c, &p.File)
	codeInteger(c, &p.Line)
	codeInteger(c, &p.Col)
}

func (r *registration) code(c *coder) {
	p := &r.plugin
	codeItems(c, &p.Tools, codeTool)
	codeItems(c, &p.Hooks, codeHook)
	codeItems(c, &p.FragmentLoaders, codeFragmentLoader)
	codeItems(c, &p.TemplateLoaders, codeTemplateLoader)
	codeItems(c, &p.Commands, codeCommand)
	codeItems(c, &p.Skills, codeSkill)
	codeItems(c, &p.Endpoints, codeEndpoint)
	c.number(&r.usage.Steps)
	c.number(&r.usage.Bytes)
}

func codeTool(c *coder, t *starhost.Tool) {
	codeText(c, &t.Name)
	codeText(c, &t.Description)
	codeBytes(c, &t.Parameters)
	codeText(c, &t.Toolset)
	codeText(c, &t.Approval)
	codeInteger(c, &t.Timeout)
	codeTexts(c, &t.Roles)
	asked := t.Available != nil
	c.flag(&asked)
	c.flag(&t.Override)
	codePos(c, &t.Pos)
	if c.reading && asked {
		t.Available = func(context.Context, *starhost.Turn) (bool, error) { return false, errUnbound }
	}
}

func codeHook(c *coder, h *starhost.Hook) {
	codeText(c, &h.Event)
	codeInteger(c, &h.Priority)
	codeTexts(c, &h.Match)
	codeText(c, &h.OnError)
	c.flag(&h.Pure)
	codePos(c, &h.Pos)
}

func codeFragmentLoader(c *coder, l *starhost.FragmentLoader) {
	codeText(c, &l.Prefix)
	codeText(c, &l.Description)
	codePos(c, &l.Pos)
}

func codeTemplateLoader(c *coder, l *starhost.TemplateLoader) {
	codeText(c, &l.Prefix)
	codeText(c, &l.Description)
	codePos(c, &l.Pos)
}

func codeCommand(c *coder, cmd *starhost.Command) {
	codeText(c, &cmd.Name)
	codeTexts(c, &cmd.Aliases)
	codeText(c, &cmd.Description)
	completes := cmd.Complete != nil
	c.flag(&completes)
	codePos(c, &cmd.Pos)
	if c.reading && completes {
		cmd.Complete = func(context.Context, *starhost.Turn, string) ([]string, error) { return nil, errUnbound }
	}
}

func codeSkill(c *coder, s *starhost.Skill) {
	codeText(c, &s.Name)
	codeText(c, &s.Description)
	codeTexts(c, &s.Files)
	codePos(c, &s.Pos)
}

func codeEndpoint(c *coder, e *starhost.Endpoint) {
	for _, t := range []*string{&e.Name, &e.BaseURL, &e.API, &e.DefaultModel, &e.APIKey, &e.Unavailable} {
		codeText(c, t)
	}
	codeTexts(c, &e.Aliases)
	codeTexts(c, &e.Models)
	c.headers(&e.Headers)
	codePos(c, &e.Pos)
}

// errUnbound is what a handler of a snapshot says that [evaluation.bind] did not replace.
var errUnbound = errors.New("the plugin's files were not evaluated")

// limits codes what a load may spend.
func (c *coder) limits(l LimitsConfig) {
	for _, n := range []uint64{l.Steps, l.Memory, uint64(l.Timeout), uint64(l.Source), uint64(l.Output)} {
		c.number(&n)
	}
}

// headers codes texts by name.
func (c *coder) headers(h *map[string]string) {
	var list [][2]string
	if *h != nil {
		list = [][2]string{}
	}
	for _, name := range sortedKeys(*h) {
		list = append(list, [2]string{name, (*h)[name]})
	}
	codeItems(c, &list, func(c *coder, pair *[2]string) {
		codeText(c, &pair[0])
		codeText(c, &pair[1])
	})
	if !c.reading || list == nil {
		return
	}
	*h = make(map[string]string, len(list))
	for _, pair := range list {
		(*h)[pair[0]] = pair[1]
	}
}

// value writes a setting, another one in other bytes.
func (c *coder) value(v any) {
	kind := fmt.Sprintf("%T", v)
	codeText(c, &kind)
	switch v := v.(type) {
	case []any:
		codeItems(c, &v, func(c *coder, v *any) { c.value(*v) })
	case map[string]any:
		keys := sortedKeys(v)
		codeItems(c, &keys, func(c *coder, key *string) {
			codeText(c, key)
			c.value(v[*key])
		})
	case float64:
		bits := math.Float64bits(v)
		c.number(&bits)
	default:
		plain := fmt.Sprint(v)
		codeText(c, &plain)
	}
}
