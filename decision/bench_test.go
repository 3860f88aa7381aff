package decision_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/starhost/starhost/decision"
)

// BenchmarkAppend measures a record of 2 KB, once without a value to mask and once with one.
func BenchmarkAppend(b *testing.B) {
	for name, command := range map[string]string{"plain": "make test", "masked": "TOKEN=abcdef123 make test"} {
		b.Run(name, func(b *testing.B) {
			l := decision.New(decision.Options{Dir: b.TempDir(), Max: 1 << 40})
			for b.Loop() {
				err := l.Append(&decision.Record{Event: "e", Input: map[string]json.RawMessage{
					"arguments": raw(map[string]string{"command": command, "note": strings.Repeat("some words ", 150)}),
				}})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
