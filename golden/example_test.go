package golden_test

import (
	"context"
	"fmt"

	"github.com/starhost/starhost/golden"
)

func ExampleTest() {
	summary, err := golden.Test(context.Background(), golden.Options{Paths: []string{"testdata/upper.star"}})
	if err != nil {
		panic(err)
	}
	fmt.Print(summary.Text())
	// Output: 1 case: 1 passed
}
