package shell_test

import (
	"fmt"

	"github.com/starhost/starhost/shell"
)

// A guard asks whether a line would run a program, whatever stands around it.
func ExampleParse() {
	for _, line := range []string{`echo "rm -rf /"`, `sudo sh -c 'rm -rf /srv'`, `$cleanup /srv`} {
		fmt.Println(shell.Parse(line, "bash").Runs("rm"))
	}
	// Output:
	// no
	// yes
	// maybe
}
