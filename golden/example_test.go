package golden_test

import (
	"context"
	"fmt"
	"os"

	"github.com/starhost/starhost/golden"
)

func ExampleTest() {
	_, err := golden.Test(context.Background(), golden.Options{Paths: []string{"testdata/upper.star"}, Out: os.Stdout})
	fmt.Println(err)
	// Output:
	// 1 case: 1 passed
	// <nil>
}
