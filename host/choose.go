// What a handler of pre_llm_call may do with the tools on offer.

package host

import (
	"maps"
	"slices"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/internal/codes"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/near"
)

// maxDescription is the most bytes of a description that a handler gives a tool.
const maxDescription = 64 << 10

// chooseTools returns the tools that a handler of pre_llm_call wants on offer. value has their names as
// []string, or tools with new descriptions as []Tool.
func (t *Turn) chooseTools(plugin string, offered *starhost.Tools, value any) (*starhost.Tools, error) {
	wanted, ok := value.([]starhost.Tool)
	if names, isNames := value.([]string); isNames {
		for _, name := range names {
			wanted = append(wanted, starhost.Tool{Name: name})
		}
		ok = true
	}
	if !ok {
		return nil, errtext.Errorf("modify: tools: got %T, want a list", value)
	}
	chosen := map[string]starhost.Tool{}
	for i := range wanted {
		if _, isChosen := chosen[wanted[i].Name]; isChosen && wanted[i].Description == "" {
			continue // if a tool occurs twice, the entry with a description counts
		}
		tool, err := chooseTool(t, plugin, offered, &wanted[i])
		if err != nil {
			return nil, err
		}
		chosen[tool.Name] = tool
	}
	list := make([]starhost.Tool, 0, len(chosen))
	for _, name := range slices.Sorted(maps.Keys(chosen)) {
		list = append(list, chosen[name])
	}
	return starhost.NewList(list), nil
}

// chooseTool returns a tool that is on offer, or one that the plugin may add: a tool of its own even if that
// is unavailable, and tools that the grant override:NAME allows. Filters and roles limit these tools, too,
// and a tool that an earlier handler took away stays away. The plugin may give only the same tools another
// description.
func chooseTool(t *Turn, plugin string, offered *starhost.Tools, wanted *starhost.Tool) (starhost.Tool, error) {
	var tool starhost.Tool
	registered := t.registry.tools[wanted.Name]
	i := slices.IndexFunc(offered.Items(), func(o starhost.Tool) bool { return o.Name == wanted.Name })
	isAddition := i < 0
	switch {
	case !isAddition:
		tool = *offered.At(i)
	case registered == nil, t.withoutTools, !admits(t, registered), slices.Contains(t.withdrawn, wanted.Name):
		return tool, errtext.Errorf("modify: tools: %q is not on offer%s", wanted.Name, near.DidYouMean(wanted.Name, toolNames(offered)))
	default:
		tool = *registered
	}
	isDescription := wanted.Description != "" && wanted.Description != tool.Description
	if (isAddition || isDescription) && tool.PluginName() != plugin && !mayOverride(t, plugin, tool.Name) {
		return tool, codes.Errorf(codes.Permission, "modify: tools: %q is not %s's own: the operator must grant %q",
			tool.Name, plugin, "override:"+tool.Name)
	}
	if isDescription {
		if len(wanted.Description) > maxDescription {
			return tool, errtext.Errorf("modify: tools: %q: got a description of %d bytes, want at most %d",
				tool.Name, len(wanted.Description), maxDescription)
		}
		tool.Description = wanted.Description
	}
	return tool, nil
}

// mayOverride reports whether the operator lets a plugin replace other plugins' tools of that name.
func mayOverride(t *Turn, plugin, tool string) bool {
	p := pluginOf(t, plugin)
	return p != nil && matchAny(p.Overrides, tool)
}

// missingTools returns the names of the tools that before has and after does not have.
func missingTools(before, after *starhost.Tools) []string {
	left := toolNames(after)
	return slices.DeleteFunc(toolNames(before), func(name string) bool { return slices.Contains(left, name) })
}

// admits reports whether the filters and the roles let this request offer a tool.
func admits(t *Turn, tool *starhost.Tool) bool {
	refuses := func(f ToolFilter) bool { return !f.admits(tool.Name) }
	has := func(role string) bool { return slices.Contains(t.session.config.Roles, role) }
	return !slices.ContainsFunc(t.filters, refuses) &&
		(len(tool.Roles) == 0 || slices.ContainsFunc(tool.Roles, has))
}

// pluginOf returns the plugin of a name, or nil.
func pluginOf(t *Turn, name string) *starhost.Plugin {
	for _, p := range t.registry.plugins {
		if p.Name == name {
			return p
		}
	}
	return nil
}

func toolNames(tools *starhost.Tools) []string {
	names := make([]string, tools.Len())
	for i := range names {
		names[i] = tools.At(i).Name
	}
	return names
}
