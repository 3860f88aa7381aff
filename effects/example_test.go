package effects_test

import (
	"fmt"

	"github.com/starhost/starhost/effects"
)

// A permission names a kind of effect, and a pattern of the things that the effect may touch. The error of a
// wrong permission says what is wrong.
func ExampleParsePermission() {
	for _, text := range []string{"fs.read:notes/**", "exec:kubectl get **", "fs.reed:notes"} {
		p, err := effects.ParsePermission(text)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(p.Kind, p.Pattern)
	}
	// Output:
	// fs.read notes/**
	// exec kubectl get **
	// permission "fs.reed:notes": unknown kind "fs.reed" (did you mean fs.read?)
}
