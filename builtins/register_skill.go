package builtins

import (
	"context"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"go.starlark.net/starlark"
	"go.yaml.in/yaml/v3"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/internal/errtext"
)

// maxFrontMatter is the most bytes of a skill's front matter.
const maxFrontMatter = 16 << 10

// registerSkill implements register_skill.
//
// It reads the file at once, because a loaded plugin must not change with its files.
func registerSkill(c call.Call) (starlark.Value, error) {
	var (
		file  string
		skill starhost.Skill
	)
	if err := c.Bind("path", &file, "name??", &skill.Name, "description??", &skill.Description); err != nil {
		return nil, err
	}
	r, err := startRegistration(c)
	if err != nil {
		return nil, err
	}
	text, err := readSkill(c, file, &skill)
	if err != nil {
		return nil, err
	}
	if skill.Files, err = filesBesideSkill(c, path.Clean(file)); err != nil {
		return nil, err
	}
	if skill.Pos, err = claimName(c, r, "skill", skill.Name); err != nil {
		return nil, err
	}
	skill.Load = func(context.Context) (string, error) { return text, nil }
	r.plugin.Skills = append(r.plugin.Skills, skill)
	return starlark.None, c.Pay(10, 1024)
}

// readSkill returns the text of a skill after its front matter. If skill has no name or description, it takes
// them from the front matter.
func readSkill(c call.Call, file string, skill *starhost.Skill) (string, error) {
	data, err := readOwn(c, file)
	if err != nil {
		return "", err
	}
	if !utf8.Valid(data) {
		return "", c.Fail("E0316", "path: %s: got bytes that are not UTF-8, want text", file)
	}
	head, text := frontMatter(string(data))
	if len(head) > maxFrontMatter {
		return "", c.Fail("E0316", "path: %s: the front matter has %d bytes, limit %d", file, len(head), maxFrontMatter)
	}
	if err := c.Pay(1+8*len(head), 64*len(head)); err != nil {
		return "", err
	}
	var says struct{ Name, Description string }
	if err := yaml.Unmarshal([]byte(head), &says); err != nil {
		return "", c.Fail("E0202", "path: %s: front matter: %s", file, errtext.Cut(strings.TrimPrefix(err.Error(), "yaml: ")))
	}
	for _, f := range []struct {
		name, says string
		given      *string
	}{
		{"name", says.Name, &skill.Name}, {"description", says.Description, &skill.Description},
	} {
		if *f.given == "" {
			*f.given = strings.TrimSpace(f.says)
		}
		if *f.given == "" {
			return "", c.Fail("E0202", "path: %s has no %s in its front matter, and no %s is given", file, f.name, f.name)
		}
	}
	return text, nil
}

// frontMatter splits a text that begins with a part between two lines "---" into that part and the rest. Any
// other text has no front matter.
func frontMatter(text string) (head, rest string) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	inner, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return "", text
	}
	head, rest, ok = strings.Cut("\n"+inner, "\n---\n")
	if !ok {
		head, ok = strings.CutSuffix("\n"+inner, "\n---")
		rest = ""
	}
	if !ok {
		return "", text
	}
	return head, strings.TrimLeft(rest, "\n")
}

// filesBesideSkill returns the other files in a skill's folder and the folders below, as paths relative to
// the folder.
func filesBesideSkill(c call.Call, file string) ([]string, error) {
	own, err := ownFilesOf(c)
	if err != nil {
		return nil, err
	}
	dir := path.Dir(file)
	names, err := own.Glob(path.Join(globQuoter.Replace(dir), "**"), payStepsOf(c))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Name, err)
	}
	var beside []string
	for _, name := range names {
		if name != file {
			beside = append(beside, strings.TrimPrefix(name, dir+"/"))
		}
	}
	return beside, c.Pay(1+len(names), textsSize(names))
}

// globQuoter converts a path to a pattern that matches only this path.
var globQuoter = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `{`, `\{`)
