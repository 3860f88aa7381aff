package decision_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/starhost/starhost/internal/testbed"
)

func TestMain(m *testing.M) {
	if os.Getenv("STARHOST_APPEND") != "" {
		if err := runAppend(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(testbed.Alone(m).Run())
}
