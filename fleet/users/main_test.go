package users

import (
	"os"
	"testing"

	"github.com/starhost/starhost/internal/testbed"
)

func TestMain(m *testing.M) { os.Exit(testbed.Alone(m).Run()) }
