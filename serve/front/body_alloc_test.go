package front_test

import (
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/starhost/starhost/serve/front"
)

// TestBodyMemory checks that a body of a declared length takes about its own length, and that one
// of an unknown length arrives whole, too.
func TestBodyMemory(t *testing.T) {
	got := make(chan int, 1)
	s := serve(t, "127.0.0.1:0", front.Options{Token: token, MaxBody: 64 << 20}, func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(io.LimitReader(r.Body, 10))
		n, _ := io.Copy(io.Discard, r.Body)
		got <- len(text) + int(n)
	})
	for _, size := range []int{0, 1, 64 << 10, 64<<10 + 1, 2 << 20, 2<<20 + 1, 16 << 20} {
		for _, isDeclared := range []bool{true, false} {
			var body io.Reader = strings.NewReader(strings.Repeat("x", size))
			if !isDeclared {
				body = io.MultiReader(body)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			r, _ := http.NewRequestWithContext(t.Context(), "POST", "http://"+s.address+"/", body)
			r.Header.Set("Authorization", "Bearer "+token)
			a, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			a.Body.Close()
			runtime.ReadMemStats(&after)
			if n := <-got; n != size {
				t.Errorf("got %d bytes, want %d", n, size)
			}
			const around = 4 << 20
			if used := int(after.TotalAlloc - before.TotalAlloc); isDeclared && used > size*3/2+around {
				t.Errorf("a body of %d bytes took %d", size, used)
			}
		}
	}
	http.DefaultClient.CloseIdleConnections()
}
