package starlark

import (
	"context"
	"testing"

	"go.starlark.net/starlark"
)

// TestWorkerOf: a thread is known by being a part of its worker, whatever others call theirs.
func TestWorkerOf(t *testing.T) {
	w, err := New(Options{}).startRun(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer w.endRun(nil)
	if got := workerOf(&w.thread); got != w {
		t.Errorf("got %p, want %p", got, w)
	}
	for _, name := range []string{"", "starhost", w.thread.Name} {
		if got := workerOf(&starlark.Thread{Name: name}); got != nil {
			t.Errorf("a thread of others, named %q: got a worker", name)
		}
	}
}
