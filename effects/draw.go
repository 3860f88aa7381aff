package effects

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"github.com/starhost/starhost/host"
)

// Draw returns 32 bytes that look random, and are the same whenever the same turn runs again. Draw hashes the
// session's seed and id, the turn's number, the plugin, the lane, the name of the draw, and how many draws of
// that name the lane has made before. Do not use the bytes as keys, because whoever knows these values can
// predict them.
func Draw(t *host.Turn, l *host.Lane, name string) [32]byte {
	s := t.Session()
	var b []byte
	number := func(n uint64) { b = binary.BigEndian.AppendUint64(b, n) }
	word := func(v string) { // the length makes "a", "bc" differ from "ab", "c"
		number(uint64(len(v)))
		b = append(b, v...)
	}
	number(s.Seed())
	word(s.ID())
	number(uint64(t.Number()))
	word(l.Plugin)
	word(l.Path())
	word(name)
	number(l.Next(name))
	return sha256.Sum256(b)
}

// RandomInt draws a number from 0 up to n-1, each with the same probability. An n below 1 is an
// error.
func RandomInt(t *host.Turn, l *host.Lane, n int64) (int64, error) {
	if n < 1 {
		return 0, errorf("E0508", "random: got n = %d, want 1 or more", n)
	}
	for {
		d := Draw(t, l, "random")
		if x, ok := below(binary.BigEndian.Uint64(d[:]), uint64(n)); ok {
			return int64(x), nil
		}
	}
}

// below maps a random x to a number from 0 up to n-1. It returns false for the lowest few values of x,
// because each number is equally likely only among a multiple of n values.
func below(x, n uint64) (uint64, bool) {
	return x % n, x >= -n%n
}

// UUID draws a text in the form of a version 4 UUID.
func UUID(t *host.Turn, l *host.Lane) string {
	d := Draw(t, l, "uuid")
	d[6] = d[6]&0x0f | 0x40 // the version
	d[8] = d[8]&0x3f | 0x80 // the variant
	h := hex.EncodeToString(d[:16])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// Random draws a number from 0 up to n-1, as [RandomInt] does.
func (w *World) Random(ctx context.Context, t *host.Turn, n int64) (int64, error) {
	type request struct {
		N int64 `json:"n"`
	}
	return do(ctx, w, effectCall{kind: "random", request: request{n}}, func(ctx context.Context) (int64, error) {
		return RandomInt(t, w.laneOf(ctx), n)
	})
}

// UUID draws a text in the form of a version 4 UUID, as [UUID] does.
func (w *World) UUID(ctx context.Context, t *host.Turn) (string, error) {
	return do(ctx, w, effectCall{kind: "uuid", request: struct{}{}}, func(ctx context.Context) (string, error) {
		return UUID(t, w.laneOf(ctx)), nil
	})
}
