package starhost_test

import (
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// TestHouseLists checks that something names each function that makes a command or a module, and the members of each module. A new one
// without its row in the list compiles, and nothing would reach it.
func TestHouseLists(t *testing.T) {
	lists := map[string]string{"cmd/starhost": "commandTable in root.go", "builtins/modules": "Topics in modules.go"}
	maker := regexp.MustCompile(`(?m)^(?:func (?:\(p \*program\) )?(\w+(?:Command|Module))\(.*\) (?:\*cobra\.Command|\[\]call\.Entry)|var (\w+Members) = \[\]call\.Member) ?\{`)
	makers, texts := map[string][]string{}, map[string]*strings.Builder{}
	for _, file := range goFiles(t) {
		folder := path.Dir(file.name)
		if file.test || lists[folder] == "" {
			continue
		}
		text, err := os.ReadFile(file.name)
		if err != nil {
			t.Fatal(err)
		}
		if texts[folder] == nil {
			texts[folder] = new(strings.Builder)
		}
		texts[folder].Write(text)
		for _, m := range maker.FindAllStringSubmatch(string(text), -1) {
			makers[folder] = append(makers[folder], m[1]+m[2])
		}
	}
	for folder, list := range lists {
		if len(makers[folder]) < 10 {
			t.Errorf("%s: got the makers %q, want at least 10", folder, makers[folder])
		}
		for _, name := range makers[folder] {
			uses := regexp.MustCompile(`(?m)^\t.*\b` + name + `\b`)
			if !uses.MatchString(texts[folder].String()) {
				t.Errorf("%s: nothing uses %s: does %s lack its row?", folder, name, list)
			}
		}
	}
}
