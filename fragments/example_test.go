package fragments_test

import (
	"fmt"

	"github.com/starhost/starhost/fragments"
)

// Two plugins offer the same text, and the prompt has it once, with both origins.
func ExampleMerge() {
	rule := "Never restart at peak."
	set := fragments.Merge(
		[]fragments.Fragment{{Content: rule, Plugin: "policy", Source: "policy:restart"}},
		[]fragments.Fragment{{Content: rule, Plugin: "runbooks"}, {Content: "Checkout is slow.", Plugin: "runbooks"}},
	)
	_, prompt := set.Render(fragments.Plain, 1, "May I restart?")
	fmt.Println(prompt)
	fmt.Println(set.Offers(), "offers,", len(set.Rows()), "fragments")
	// Output:
	// Never restart at peak.
	// Checkout is slow.
	// May I restart?
	// 3 offers, 2 fragments
}
