package guard

import (
	"embed"
	"strings"

	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/near"
)

// packFiles has the packs: one file each, whose first line says what it is about.
//
//go:embed packs
var packFiles embed.FS

// PackNames are the packs, in the order in which the docs have them.
var PackNames = []string{"files", "git", "kubernetes", "terraform", "cloud", "databases", "containers", "secrets", "publish", "network", "system", "production"}

// A Pack is a pack of rules.
type Pack struct {
	Name, About string
	Rules       []*Rule
}

// Packs returns all packs with their rules and examples.
func Packs() ([]Pack, error) {
	packs := make([]Pack, len(PackNames))
	for i, name := range PackNames {
		about, blocks := readPack(name)
		packs[i] = Pack{Name: name, About: about}
		for _, b := range blocks {
			r, err := b.decodeText(b.text)
			if err != nil {
				return nil, err
			}
			packs[i].Rules = append(packs[i].Rules, r)
		}
	}
	return packs, nil
}

// readPack cuts the text of a pack.
func readPack(name string) (about string, blocks []*block) {
	text, err := packFiles.ReadFile("packs/" + name + ".toml")
	if err != nil {
		panic(err) // TestPacks reads all of them
	}
	head, blocks := cut("packs/"+name+".toml", name, string(text))
	about, _, _ = strings.Cut(strings.TrimPrefix(head, "# "), "\n")
	return about, blocks
}

// addPacks adds packs by name.
func (s *Set) addPacks(names []string) error {
	for i, name := range names {
		if !isOneOf(name, PackNames) {
			return errtext.Errorf("got %s, want %s%s", errtext.Quote(name), strings.Join(PackNames, ", "), near.DidYouMean(name, PackNames))
		}
		if isOneOf(name, names[:i]) {
			return errtext.Errorf("%s is given twice", name)
		}
		_, blocks := readPack(name)
		s.packs = append(s.packs, blocks...)
	}
	return nil
}
