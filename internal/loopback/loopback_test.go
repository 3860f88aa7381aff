package loopback

import "testing"

func TestIs(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST": true, "127.0.0.1": true, "127.9.9.9": true, "::1": true, "[::1]": true,
		"": false, "localhost.example": false, "128.0.0.1": false, "0.0.0.0": false, "::": false, "127.0.0.1.example": false,
	} {
		if got := Is(host); got != want {
			t.Errorf("%q: got %v, want %v", host, got, want)
		}
	}
}
