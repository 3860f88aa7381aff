package effects_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/effects"
)

func TestStore(t *testing.T) {
	kv := &effects.MemoryKV{}
	p, q := plugin(t, "store"), plugin(t, "store")
	p.Store, q.Store, q.Plugin = kv, kv, "q"
	ctx := t.Context()
	value := json.RawMessage(`{"n":1}`)
	for _, key := range []string{"b", "a", "\xff"} {
		if err := p.StoreSet(ctx, key, value); err != nil {
			t.Fatal(err)
		}
	}
	value[2] = 'x' // the store has a copy
	if got, ok, err := p.StoreGet(ctx, "a"); string(got) != `{"n":1}` || !ok || err != nil {
		t.Errorf("StoreGet: got %s, %v, %v", got, ok, err)
	}
	for _, want := range []bool{true, false} {
		if ok, err := p.StoreDelete(ctx, "b"); ok != want || err != nil {
			t.Errorf("StoreDelete: got %v, %v, want %v", ok, err, want)
		}
	}
	got, err := p.StoreKeys(ctx)
	if diff := cmp.Diff([]string{"a", "\xff"}, got); diff != "" || err != nil {
		t.Errorf("StoreKeys (-want +got), %v:\n%s", err, diff)
	}
	if got, ok, err := q.StoreGet(ctx, "a"); got != nil || ok || err != nil {
		t.Errorf("StoreGet: got another plugin's value %s, %v, %v", got, ok, err)
	}
	if got, err := q.StoreKeys(ctx); got != nil || err != nil {
		t.Errorf("StoreKeys: got %q, %v", got, err)
	}
}

func TestStoreBounds(t *testing.T) {
	w := plugin(t, "store")
	w.Store = &effects.MemoryKV{}
	ctx := t.Context()
	large := json.RawMessage(`"` + strings.Repeat("x", effects.MaxValue-2) + `"`)
	tests := []struct {
		key   string
		value json.RawMessage
		want  string
	}{
		{strings.Repeat("k", effects.MaxKey), large, ""},
		{strings.Repeat("k", effects.MaxKey+1), nil, "store: got a key of 513 bytes, want at most 512"},
		{"k", append(large, ' '), `store: key "k": got a value of 1048577 bytes, want at most 1048576`},
	}
	for _, tt := range tests {
		if err := w.StoreSet(ctx, tt.key, tt.value); message(err) != tt.want {
			t.Errorf("StoreSet: got %v, want %q", err, tt.want)
		}
	}
	for i := range 14 {
		if err := w.StoreSet(ctx, fmt.Sprint(i), large); err != nil {
			t.Fatal(err)
		}
	}
	err := w.StoreSet(ctx, "last", large)
	if want := `store: got 16777750 bytes of keys and values with key "last", want at most 16777216`; message(err) != want || code(err) != "E0506" {
		t.Errorf("StoreSet: got %v, want %s", err, want)
	}
	if _, err := w.StoreDelete(ctx, "0"); err != nil {
		t.Error(err)
	}
	if err := w.StoreSet(ctx, "last", large[:1<<10]); err != nil {
		t.Errorf("StoreSet after StoreDelete: %v", err)
	}
}

func TestMemoryKVConcurrent(t *testing.T) {
	kv := &effects.MemoryKV{}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			key, ctx := fmt.Sprint(i), context.Background()
			if err := kv.Set(ctx, "p", key, nil); err != nil {
				t.Error(err)
			}
			if _, ok, err := kv.Get(ctx, "p", key); !ok || err != nil {
				t.Errorf("Get: %v, %v", ok, err)
			}
			if _, err := kv.Keys(ctx, "p"); err != nil {
				t.Error(err)
			}
			if ok, err := kv.Delete(ctx, "p", key); !ok || err != nil {
				t.Errorf("Delete: %v, %v", ok, err)
			}
		})
	}
	wg.Wait()
}

// A brokenKV fails in every method.
type brokenKV struct{}

var errBroken = errors.New("connection lost")

func (brokenKV) Get(context.Context, string, string) (json.RawMessage, bool, error) {
	return nil, false, errBroken
}
func (brokenKV) Set(context.Context, string, string, json.RawMessage) error { return errBroken }
func (brokenKV) Update(context.Context, string, string, func(json.RawMessage) (json.RawMessage, error)) error {
	return errBroken
}
func (brokenKV) Delete(context.Context, string, string) (bool, error) { return false, errBroken }
func (brokenKV) Keys(context.Context, string) ([]string, error)       { return nil, errBroken }

func TestStoreFails(t *testing.T) {
	w := plugin(t, "store")
	w.Store = brokenKV{}
	for _, a := range readers {
		if strings.HasPrefix(a.name, "store.") {
			if _, err := a.do(t.Context(), w, nil); message(err) != a.name+": connection lost" || code(err) != "E0518" {
				t.Errorf("%s: got %v", a.name, err)
			}
		}
	}
	if err := w.StoreSet(t.Context(), "k", nil); message(err) != "store.set: connection lost" {
		t.Errorf("StoreSet: got %v", err)
	}
	if _, err := w.StoreAdd(t.Context(), "k", 1); message(err) != "store.add: connection lost" || code(err) != "E0518" {
		t.Errorf("StoreAdd: got %v", err)
	}
	if ok, err := w.StoreSwap(t.Context(), "k", nil, nil); ok || message(err) != "store.swap: connection lost" {
		t.Errorf("StoreSwap: got %v, %v", ok, err)
	}
}

// TestStoreAddConcurrent checks that concurrent changes of one value lose no update.
func TestStoreAddConcurrent(t *testing.T) {
	w := plugin(t, "store")
	w.Store = &effects.MemoryKV{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				if _, err := w.StoreAdd(context.Background(), "n", 1); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got, _, err := w.StoreGet(t.Context(), "n"); string(got) != "800" || err != nil {
		t.Errorf("got %s, %v, want 800", got, err)
	}
}

func TestStoreAddBounds(t *testing.T) {
	tests := []struct {
		old  string
		n    int64
		want string
	}{
		{"9223372036854775806", 1, "9223372036854775807"},
		{"9223372036854775807", 0, "9223372036854775807"},
		{"9223372036854775807", 1, "store.add: key \"k\": got the sum of 9223372036854775807 and 1, want an int of 64 bits"},
		{"-9223372036854775808", -1, "store.add: key \"k\": got the sum of -9223372036854775808 and -1, want an int of 64 bits"},
		{"1.0", 1, "store.add: key \"k\": got the value 1.0, want an int of 64 bits"},
		{"9223372036854775808", 1, "store.add: key \"k\": got the value 9223372036854775808, want an int of 64 bits"},
	}
	for _, tt := range tests {
		w := plugin(t, "store")
		w.Store = &effects.MemoryKV{}
		if err := w.StoreSet(t.Context(), "k", json.RawMessage(tt.old)); err != nil {
			t.Fatal(err)
		}
		sum, err := w.StoreAdd(t.Context(), "k", tt.n)
		got := fmt.Sprint(sum)
		if err != nil {
			got = message(err)
		}
		if got != tt.want {
			t.Errorf("%s + %d: got %s, want %s", tt.old, tt.n, got, tt.want)
		}
		if value, _, _ := w.StoreGet(t.Context(), "k"); err != nil && string(value) != tt.old {
			t.Errorf("%s + %d: the value became %s", tt.old, tt.n, value)
		}
	}
}
