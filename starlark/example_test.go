package starlark_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/starhost/starhost/starlark"
)

// A file that never ends does so at the same step on every machine, with its place.
func ExampleSandbox_Run() {
	sandbox := starlark.New(starlark.Options{Limits: starlark.Limits{Steps: 10_000}})
	file, err := sandbox.Parse("loop.star", []byte("def handle():\n    for i in range(1000000000):\n        pass\n\nhandle()\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	_, _, err = sandbox.Run(context.Background(), file, starlark.Exec{})
	var limit *starlark.LimitError
	fmt.Println(errors.As(err, &limit), limit.Limit)
	// Output: true steps
}
