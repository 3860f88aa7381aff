package model_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/model"
)

// TestFallback checks which models a Caller asks: the next one after all tries of one failed, and
// none after the first piece of an answer.
func TestFallback(t *testing.T) {
	whole := stream(t, dialects[0])
	tests := []struct {
		name, first, second string // 503, cut or whole
		want                string
		asked               []string
		warnings            int // 4 for the further tries of a model, one for a fallback
	}{
		{"first", "whole", "whole", "", []string{"a"}, 0},
		{"second", "503", "whole", "", []string{"a", "a", "a", "a", "a", "b"}, 5},
		{"none", "503", "503", "two/b: 503 Service Unavailable", strings.Split("aaaaabbbbb", ""), 9},
		{"after the first piece", "cut", "whole", "one/a: the stream broke off", []string{"a"}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			asked := make(chan string, 100)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
				name := strings.Trim(strings.TrimSuffix(q.URL.Path, "/chat/completions"), "/")
				asked <- name
				switch how := map[string]string{"a": tt.first, "b": tt.second}[name]; how {
				case "whole":
					sendStream(whole)(w, q)
				case "cut":
					sendStream(whole[:strings.Index(whole, "schäuen")])(w, q)
				default:
					w.WriteHeader(503)
				}
			}))
			defer server.Close()
			h := model.NewHTTP()
			defer h.CloseIdleConnections()
			var warnings []string
			c := &model.Caller{
				Endpoint: func(choice string) (starhost.Endpoint, string, error) {
					name, m, _ := strings.Cut(choice, "/")
					e := starhost.Endpoint{Name: name, API: "openai", BaseURL: server.URL + "/" + m, Models: []string{m}}
					if m == "a" {
						e.Fallback = []string{"two/b"}
					}
					if m == "missing" {
						return e, "", fmt.Errorf("unknown model")
					}
					return e, m, nil
				},
				Dialects: dialects, Warn: func(text string) { warnings = append(warnings, text) },
				Options: model.Options{HTTP: h, Stream: func(model.Piece) {}, Sleep: noSleep},
			}
			p := prompt()
			p.Model = "one/a"
			_, err := c.Complete(t.Context(), p)
			if fmt.Sprint(err) != tt.want && (err != nil || tt.want != "") {
				t.Errorf("got %v, want %s", err, tt.want)
			}
			close(asked)
			var got []string
			for name := range asked {
				got = append(got, name)
			}
			if !slices.Equal(got, tt.asked) || len(warnings) != tt.warnings {
				t.Errorf("asked %v with warnings %q, want %v", got, warnings, tt.asked)
			}
		})
	}
}
