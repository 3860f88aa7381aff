package loader

import (
	"slices"
	"testing"
)

// TestKeysAreAll: the reference describes each setting once.
func TestKeysAreAll(t *testing.T) {
	described := map[*setting]bool{}
	for _, k := range keyDocs() {
		s := settingOf(k.Name)
		if s == nil || described[s] {
			t.Errorf("%s describes no setting, or one that has a description", k.Name)
		}
		described[s] = true
	}
	for _, s := range settings() {
		if !described[s] {
			t.Errorf("%v has no description in keyDocs", s.key)
		}
	}
	if i := slices.IndexFunc(keyDocs(), func(k Key) bool { return k.Wants != "" || k.Project != "" }); i >= 0 {
		t.Errorf("%s: what a value is, and who may set it, is the setting's to say", keyDocs()[i].Name)
	}
}
