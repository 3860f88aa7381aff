package starlark

import (
	"context"
	"testing"

	"go.starlark.net/starlark"
)

// TestWorkerOf checks that workerOf recognises the thread of a worker, and no other thread of the
// same name.
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
