package measure

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/loader"
)

func TestThreeDigits(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 812: "812ns", 1000: "1µs", 1234: "1.23µs", 99_999: "100µs", 1_234_567: "1.23ms", 62_345_678_901: "1m2.3s",
	} {
		if got := roundTime(d); got != want {
			t.Errorf("threeDigits(%d): got %s, want %s", d, got, want)
		}
	}
}

func TestGoName(t *testing.T) {
	pos := starhost.Pos{File: "a.star", Line: 3, Col: 1}
	tests := []struct {
		m    benchmark
		want string
	}{
		{benchmark{kind: "load"}, "Load"},
		{benchmark{kind: "hook", plugin: "a", subject: "pre_send", pos: pos}, "Hook/a/pre_send/a.star:3:1"},
		{benchmark{kind: "loader", plugin: "a", subject: "x:two  words\n", pos: pos}, "Loader/a/x:two_words"},
	}
	for _, tt := range tests {
		if got := tt.m.goName(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

// TestMeasure checks that a sample has at least one operation and ordered numbers, and that a
// turn has a limited number of operations.
func TestMeasure(t *testing.T) {
	set := &loader.Set{Host: host.New(host.Options{}), Config: &loader.Config{}}
	b := &bencher{Options: Options{Time: 1, Set: set}}
	defer b.endTurn(t.Context())
	turns := map[*host.Turn]int{}
	count := func(context.Context) error { turns[b.turn]++; return nil }
	s, err := b.measure(t.Context(), &benchmark{op: count, inTurn: true})
	if err != nil || s.n < 1 || s.p50 > s.p99 {
		t.Errorf("got %+v and %v, want one operation or more", s, err)
	}
	clear(turns)
	b.Time = 1 << 40
	enough := errors.New("enough")
	n := 0
	_, err = b.measure(t.Context(), &benchmark{inTurn: true, op: func(ctx context.Context) error {
		if n++; n > 2*opsInTurn {
			return enough
		}
		return count(ctx)
	}})
	if err != enough || len(turns) != 2 {
		t.Errorf("got %v after %d turns, want %v after 2 of %d operations each", err, len(turns), enough, opsInTurn)
	}
}
