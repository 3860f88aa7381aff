package otlp_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/starhost/starhost/decision"
	"github.com/starhost/starhost/serve/otlp"
)

// writeLog appends n records to a log, and returns their ids.
func writeLog(t *testing.T, dir string, n int, day time.Time) (ids []string) {
	t.Helper()
	l := decision.New(decision.Options{Dir: dir, Clock: func() time.Time { return day }})
	for i := range n {
		r := &decision.Record{Event: "turn_end", Session: fmt.Sprint("<s&", i)}
		if err := l.Append(r); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, r.ID)
	}
	return ids
}

var today = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// A logServer is a collector that notes the records of requests.
type logServer struct {
	mu     sync.Mutex
	got    map[string]int // how often a record came, by id
	bodies []string
	sizes  []int
	last   string // the text of the last request
}

func (c *logServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/v1/logs" || r.Header.Get("Content-Encoding") != "gzip" {
		http.Error(w, "no", http.StatusNotFound)
		return
	}
	z, err := gzip.NewReader(r.Body)
	if err != nil {
		return
	}
	text, err := io.ReadAll(z)
	if err != nil {
		return
	}
	ids := c.note(text)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range ids {
		c.got[id]++
	}
	c.sizes = append(c.sizes, len(ids))
	c.last = string(text)
}

// note returns the ids in a request, and notes the bodies.
func (c *logServer) note(text []byte) (ids []string) {
	var request struct {
		ResourceLogs []struct {
			ScopeLogs []struct {
				LogRecords []struct {
					Body       struct{ StringValue string }
					Attributes []struct {
						Key   string
						Value struct{ StringValue string }
					}
				}
			}
		}
	}
	if json.Unmarshal(text, &request) != nil {
		return nil
	}
	for _, r := range request.ResourceLogs {
		for _, l := range r.ScopeLogs[0].LogRecords {
			ids = append(ids, l.Attributes[0].Value.StringValue)
			c.mu.Lock()
			c.bodies = append(c.bodies, l.Body.StringValue)
			c.mu.Unlock()
		}
	}
	return ids
}

// sender returns a sender whose time is that of the test. waits receives each time that it waits.
func sender(url string, waits *[]time.Duration, headers map[string]string) *otlp.LogSender {
	return otlp.NewLogSender(otlp.LogOptions{
		Endpoint: url, Headers: headers, Jitter: func() float64 { return 1 }, Now: func() time.Time { return today },
		Sleep: func(_ context.Context, d time.Duration) {
			if waits != nil {
				*waits = append(*waits, d)
			}
		},
	})
}

func send(t *testing.T, s *otlp.LogSender, dir string) (int, error) {
	t.Helper()
	defer s.Close()
	u, err := decision.NewUnsent(dir, -1)
	if err != nil {
		t.Fatal(err)
	}
	return s.Send(t.Context(), u, "host.name", "h")
}

// TestLogSender checks the request, batches, that the body is the record's line, and that only new records are
// sent: of both days, because a record of a day can come after those of the next.
func TestLogSender(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	c := &logServer{got: map[string]int{}}
	server := httptest.NewServer(c)
	defer server.Close()
	ids := writeLog(t, dir, 1100, today)
	if n, err := send(t, sender(server.URL, nil, nil), dir); n != 1100 || err != nil {
		t.Fatalf("got %d, %v", n, err)
	}
	if !slices.Equal(c.sizes, []int{512, 512, 76}) {
		t.Errorf("got batches of %d", c.sizes)
	}
	ids = append(ids, writeLog(t, dir, 1, today.AddDate(0, 0, 1))...)
	ids = append(ids, writeLog(t, dir, 1, today)...)
	file := filepath.Join(dir, "decisions-2026-11-23.jsonl")
	appendText(t, file, "\n{\"torn\n\n") // and a record that another process is writing
	appendText(t, file, `{"schema":"starhost.decision/1","id":"half`)
	if n, err := send(t, sender(server.URL+"/v1/logs", nil, nil), dir); n != 2 || err != nil {
		t.Fatalf("got %d, %v", n, err)
	}
	for _, id := range ids {
		if c.got[id] != 1 {
			t.Fatalf("%s came %d times", id, c.got[id])
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "decisions-2026-11-24.jsonl"))
	if line := strings.TrimSpace(string(text)); err != nil || !slices.Contains(c.bodies, line) {
		t.Errorf("no body is the line %s", line)
	}
	want := `{"resourceLogs":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"starhost"}},{"key":"host.name","value":{"stringValue":"h"}}]},` +
		`"scopeLogs":[{"scope":{"name":"starhost"},"logRecords":[{"timeUnixNano":"1795435200000000000","body":{"stringValue":"{\"schema\":\"starhost.decision/1\",`
	if !strings.HasPrefix(c.last, want) || !strings.Contains(c.last, `"attributes":[{"key":"log.record.uid","value":{"stringValue":"`+ids[1101]) {
		t.Errorf("got the request %s", c.last)
	}

	// Another file of the same name is sent from its start, and a bookmark that nobody can read sends again.
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	writeLog(t, dir, 2000, today)
	if n, err := send(t, sender(server.URL, nil, nil), dir); n != 2000 || err != nil {
		t.Errorf("another file: got %d, %v", n, err)
	}
	if err := os.WriteFile(dir+".sent.json", []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if n, err := send(t, sender(server.URL, nil, nil), dir); n != 2001 || err != nil {
		t.Errorf("a broken bookmark: got %d, %v", n, err)
	}
}

func appendText(t *testing.T, name, text string) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		_, err = f.WriteString(text)
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestLogSenderAnswers checks what a sender does with each answer: which it repeats, how long it waits, which
// records it sets aside, and that the bookmark does not advance otherwise.
func TestLogSenderAnswers(t *testing.T) {
	for _, tt := range []struct {
		name    string
		answer  func(n int, ids []string, w http.ResponseWriter)
		err     string
		behind  int
		dropped int
		waits   string
	}{
		{"busy, then well", func(n int, _ []string, w http.ResponseWriter) {
			if n < 3 {
				w.Header().Set("Retry-After", []string{"7", "Mon, 23 Nov 2026 12:00:09 GMT", "x"}[n])
				w.WriteHeader([]int{429, 503, 502}[n])
			}
		}, "", 0, 0, "[7s 9s 4s]"},
		{"always down", func(_ int, _ []string, w http.ResponseWriter) { w.WriteHeader(500) },
			`the collector answered with HTTP 500: ""`, 3, 0, "[1s 2s 4s 8s 16s]"},
		{"asks for an hour", func(_ int, _ []string, w http.ResponseWriter) {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(429)
		}, `the collector answered with HTTP 429: ""`, 3, 0, "[]"},
		{"wrong key, which it repeats", func(_ int, _ []string, w http.ResponseWriter) {
			w.WriteHeader(401)
			fmt.Fprint(w, "no such key: hunter2 in Bearer hunter2", strings.Repeat("x", 500))
		}, `the collector answered with HTTP 401: "no such key: <masked> in <masked>xxx`, 3, 0, "[]"},
		{"another host", func(_ int, _ []string, w http.ResponseWriter) {
			w.Header().Set("Location", "https://login.example/?key=hunter2")
			w.WriteHeader(302)
		}, `got a redirect to "https://login.example/?key=<masked>", want the address of the collector in [log] send`, 3, 0, "[]"},
		{"rejects two, and does not say which", func(_ int, _ []string, w http.ResponseWriter) {
			fmt.Fprint(w, `{"partialSuccess":{"rejectedLogRecords":"2","errorMessage":"old"}}`)
		}, "", 0, 2, "[]"},
		{"rejects a number", func(_ int, _ []string, w http.ResponseWriter) {
			fmt.Fprint(w, `{"partialSuccess":{"rejectedLogRecords":9}}`)
		}, "", 0, 3, "[]"},
		{"success without JSON, forever", func(_ int, _ []string, w http.ResponseWriter) {
			_, _ = io.CopyN(w, endless{}, 1<<20)
		}, "", 0, 0, "[]"},
		{"one record is poison", func(_ int, ids []string, w http.ResponseWriter) {
			if slices.ContainsFunc(ids, func(id string) bool { return strings.HasSuffix(id, "1") }) {
				w.WriteHeader(400)
			}
		}, "", 0, 1, "[]"},
		{"too large together", func(_ int, ids []string, w http.ResponseWriter) {
			if len(ids) > 1 {
				w.WriteHeader(413)
			}
		}, "", 0, 0, "[]"},
		{"no collector at all", func(_ int, _ []string, w http.ResponseWriter) { w.WriteHeader(400) },
			`the collector answered with HTTP 400: ""`, 3, 0, "[]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "log")
			var text strings.Builder
			for i := range 3 {
				fmt.Fprintf(&text, `{"schema":"starhost.decision/1","id":"R%d","event":"turn_end","time":"2026-11-23T10:00:00Z"}`+"\n", i)
			}
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "decisions-2026-11-23.jsonl"), []byte(text.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			c, n := &logServer{got: map[string]int{}}, 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "Bearer hunter2" {
					t.Errorf("got the headers %v", r.Header)
				}
				z, err := gzip.NewReader(r.Body)
				if err != nil {
					t.Error(err)
					return
				}
				text, _ := io.ReadAll(z)
				tt.answer(n, c.note(text), w)
				n++
			}))
			defer server.Close()
			waits := []time.Duration{}
			_, err := send(t, sender(server.URL, &waits, map[string]string{"Authorization": "Bearer hunter2"}), dir)
			if got := fmt.Sprint(err); err == nil && tt.err != "" || err != nil && (tt.err == "" || !strings.HasPrefix(got, tt.err) || len(got) > 300) {
				t.Errorf("got the error %v, want %q", err, tt.err)
			}
			if fmt.Sprint(waits) != tt.waits {
				t.Errorf("got waits %v, want %s", waits, tt.waits)
			}
			behind, dropped, err := decision.State(dir, -1, true)
			if behind != tt.behind || dropped != tt.dropped || err != nil {
				t.Errorf("got %d behind and %d dropped, %v, want %d and %d", behind, dropped, err, tt.behind, tt.dropped)
			}
			aside, _ := os.ReadFile(dir + ".rejected.jsonl")
			if (tt.dropped > 0) != strings.Contains(string(aside), `"id":"R1"`) {
				t.Errorf("set aside: got %q", aside)
			}
		})
	}
}

// An endless reader has only spaces.
type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	return len(b), nil
}

// TestLogSenderKilled kills the collector 20 times at random moments, and stops the sender each time, too: every
// record arrives, and the duplicates are at most the batches in flight.
func TestLogSenderKilled(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	c := &logServer{got: map[string]int{}}
	ids := writeLog(t, dir, 6000, today)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	const kills = 20
	for i := range kills + 1 {
		if i > 0 {
			if listener, err = net.Listen("tcp", address); err != nil {
				t.Fatal(err)
			}
		}
		server := &http.Server{Handler: c}
		ended := make(chan error)
		go func() { ended <- server.Serve(listener) }()
		if i < kills {
			ids = append(ids, writeLog(t, dir, 200, today.AddDate(0, 0, i%3))...)
			go func() {
				time.Sleep(time.Duration(rand.IntN(8000)) * time.Microsecond)
				server.Close()
			}()
		}
		n, err := send(t, sender("http://"+address, nil, nil), dir)
		t.Logf("%d sent, %v", n, err)
		server.Close()
		<-ended
	}
	twice := 0
	for _, id := range ids {
		if c.got[id] == 0 {
			t.Fatalf("%s is lost", id)
		}
		twice += c.got[id] - 1
	}
	if twice > kills*512 || len(c.got) != len(ids) {
		t.Errorf("got %d duplicates and %d ids, want at most %d and %d", twice, len(c.got), kills*512, len(ids))
	}
	t.Logf("%d records, %d duplicates", len(ids), twice)
}

// TestSendRecord sends one record that is in no log: the body is its text, and the resource what the caller says.
func TestSendRecord(t *testing.T) {
	c := &logServer{got: map[string]int{}}
	server := httptest.NewServer(c)
	defer server.Close()
	s := sender(server.URL, nil, nil)
	defer s.Close()
	r := decision.UnsentRecord{ID: "1", Time: today, JSON: []byte(`{"a":"<"}`)}
	if err := s.SendRecord(t.Context(), r, "host.name", "h"); err != nil || c.got["1"] != 1 || !slices.Equal(c.bodies, []string{`{"a":"<"}`}) || !strings.Contains(c.last, `"host.name"`) {
		t.Errorf("got %v, %v, %s", err, c.got, c.last)
	}
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"partialSuccess":{"rejectedLogRecords":"1"}}`))
	}))
	defer refusing.Close()
	s = sender(refusing.URL, nil, nil)
	defer s.Close()
	if err := s.SendRecord(t.Context(), r); err == nil || !strings.Contains(err.Error(), "refused the record") {
		t.Errorf("got %v, want that the collector refused it", err)
	}
}
