package proxy_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/serve/proxy"
)

// TestFlow checks that text goes to the client at once, that a call waits while the client gets signs of
// life, and that the call passes when plugins allow it.
func TestFlow(t *testing.T) {
	pings := map[string]string{messagesPath: `{"type": "ping"}`, chatPath: ": ping", responsesPath: ": ping"}
	for path := range decoders {
		t.Run(path, func(t *testing.T) {
			text, call, _ := strings.Cut(strings.ReplaceAll(reply(t, path, "stream"), "\x00", ""), callStart(path))
			next := make(chan bool)
			u := newUpstream(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", streamType)
				_, _ = io.WriteString(w, text)
				_ = http.NewResponseController(w).Flush()
				<-next // the client has the text
				start, rest, _ := strings.Cut(callStart(path)+call, "\n\n")
				_, _ = io.WriteString(w, start+"\n\n")
				_ = http.NewResponseController(w).Flush()
				<-next // the client has a sign of life
				_, _ = io.WriteString(w, rest)
			})
			s := serve(t, newHost(t, guard("Read", starhost.Decision{})), proxy.Options{Upstream: u.URL}, "")
			s.SetPing(time.Millisecond)
			r, _ := http.NewRequestWithContext(t.Context(), "POST", s.url+path, strings.NewReader(request(path, true)))
			a, err := testClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer a.Body.Close()
			got := make([]byte, len(text))
			if _, err := io.ReadFull(a.Body, got); err != nil || string(got) != text {
				t.Fatalf("got %q, %v, want %q", got, err, text)
			}
			next <- true
			lines := bufio.NewReader(a.Body)
			for {
				line, err := lines.ReadString('\n')
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(line, "Bash") {
					t.Fatalf("got a part of the call: %s", line)
				}
				if strings.Contains(line, pings[path]) {
					break
				}
			}
			next <- true
			rest, err := io.ReadAll(lines)
			if err != nil || !strings.HasSuffix(string(rest), call) {
				t.Errorf("got %q, %v, want the call at the end", rest, err)
			}
		})
	}
}

// callStart returns how the first event of a call begins in the recorded stream.
func callStart(path string) string {
	return map[string]string{
		messagesPath:  "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":2,",
		chatPath:      `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id"`,
		responsesPath: "event: response.output_item.added\ndata: {\"type\":\"response.output_item.added\",\"sequence_number\":9,",
	}[path]
}

// TestCut cuts each recorded stream at many bytes, and with STARHOST_LONG at every byte. A denied call must
// never reach the client, and the rest of the stream must not change.
func TestCut(t *testing.T) {
	step := 97
	if os.Getenv("STARHOST_LONG") != "" {
		step = 1
	}
	for path := range decoders {
		full := strings.ReplaceAll(reply(t, path, "stream"), "\x00", "")
		at, breaks := 0, false
		u := newUpstream(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", streamType)
			_, _ = io.WriteString(w, full[:at])
			if breaks {
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}
		})
		s := serve(t, newHost(t, guard("*", starhost.Deny("no"))), proxy.Options{Upstream: u.URL}, "")
		for at = 0; at < len(full); at += step {
			for _, breaks = range []bool{false, true} {
				r, _ := http.NewRequestWithContext(t.Context(), "POST", s.url+path, strings.NewReader(request(path, true)))
				a, err := testClient.Do(r)
				if err != nil {
					continue // the connection broke before the first byte
				}
				text, _ := io.ReadAll(a.Body)
				a.Body.Close()
				if strings.Contains(string(text), "Bash") || strings.Contains(string(text), `"command`) {
					t.Fatalf("%s, cut at %d: the client got the call: %s", path, at, text)
				}
				before := full[:min(at, strings.Index(full, callStart(path)))]
				i := max(0, strings.LastIndex(before, "\n\n"))
				if a.StatusCode == 200 && !breaks && !strings.HasPrefix(string(text), before[:i]) {
					t.Fatalf("%s, cut at %d: got %q", path, at, text)
				}
			}
		}
	}
}

// TestUnreadableStream checks that a stream that guards cannot read does not pass.
func TestUnreadableStream(t *testing.T) {
	const start = "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"1\",\"name\":\"Bash\",\"input\":{}}}\n\n"
	const stop = "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	delta := func(text string) string {
		return fmt.Sprintf("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":%q}}\n\n", text)
	}
	tests := []struct{ name, path, stream, want string }{
		{"no JSON", messagesPath, "data: {\n\n", "502"},
		{"two members", messagesPath, "data: {\"type\":\"ping\",\"type\":\"message_start\"}\n\n", "502"},
		{"carriage returns", messagesPath, strings.ReplaceAll(start+stop, "\n", "\r"), "502"},
		{"the wrong order", messagesPath, strings.Replace(start, `"index":0`, `"index":1`, 1), "502"},
		{"an item that is not the next", responsesPath, itemAt(1), "502"},
		{"calls with and without numbers", chatPath, chunks(toolCall("0", `"name":"Read","arguments":"{}"`), strings.Replace(toolCall("0", `"name":"Bash","arguments":"{}"`), `[{"index":0,`, "[{", 1)), "502"},
		{"more choices than any reply has", chatPath, chunks(`"index":128,"delta":{"content":"a"}`), "502"},
		{"more items than any reply has", responsesPath, itemsTo(4097) + "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"output\":[]}}\n\n", "out of order"},
		{"a chat's arguments of two readings", chatPath, chunks(toolCall("0", `"name":"Bash","arguments":"{\"a\":1,\"a\":2}"`)), "stands twice in one object"},
		{"no end", messagesPath, start + delta("{}"), "502"},
		{"a delta behind the end", messagesPath, start + stop[:strings.Index(stop, "event: message_stop")] + delta("{}"), "502"},
		{"arguments that are cut", messagesPath, start + delta(`{"a":`) + stop, "are no JSON object"},
		{"arguments of two readings", messagesPath, start + delta(`{"a":1,"a":2}`) + stop, "stands twice in one object"},
		{"a call with two names", chatPath, "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"1\",\"function\":{\"name\":\"Read\"}}]}}]}\n\n" +
			"data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"Bash\"}}]}}]}\n\n", "502"},
		{"an error", messagesPath, start + "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n", "overloaded_error"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			u := newUpstream(t, replies(streamType, tt.stream))
			s := serve(t, newHost(t, guard("other", starhost.Deny("no"))), proxy.Options{Upstream: u.URL}, "")
			status, _, got := s.ask(t, "POST", tt.path, request(tt.path, true))
			if got = fmt.Sprint(status, " ", got); strings.Contains(got, "tool_use") || !strings.Contains(got, tt.want) {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
	waits := newHost(t, handlers{"post_llm_call": func(*starhost.Event) starhost.Decision { return starhost.Decision{} }})
	for path := range decoders { // events whose data is no object, in a stream that waits for plugins
		const stream = ": keep-alive\n\nx\n\ndata: \n\n"
		u := newUpstream(t, replies(streamType, stream))
		s := serve(t, waits, proxy.Options{Upstream: u.URL}, "")
		if status, _, got := s.ask(t, "POST", path, request(path, true)); status != 200 || got != stream {
			t.Errorf("%s: got %d %q, want %q", path, status, got, stream)
		}
	}
	packed := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "br")
		replies(streamType, "x\n\n")(w, r)
	})
	s := serve(t, newHost(t, guard("other", starhost.Deny("no"))), proxy.Options{Upstream: packed.URL}, "")
	if status, _, got := s.ask(t, "POST", chatPath, request(chatPath, true)); status != 502 || !strings.Contains(got, `Content-Encoding: got \"br\"`) {
		t.Errorf("a packed stream: got %d %s", status, got)
	}
	u := newUpstream(t, replies(jsonType, "<html>"))
	s = serve(t, newHost(t, guard("other", starhost.Deny("no"))), proxy.Options{Upstream: u.URL}, "")
	if status, _, got := s.ask(t, "POST", chatPath, request(chatPath, false)); status != 502 {
		t.Errorf("got %d %s", status, got)
	}
}

// itemAt returns the event that an item begins. itemsTo returns these events for all items before a number.
func itemAt(index int) string {
	const item = `{"type":"response.output_item.added","output_index":%d,"item":{"type":"message","id":"m","content":[]}}`
	return "event: response.output_item.added\ndata: " + fmt.Sprintf(item, index) + "\n\n"
}

func itemsTo(end int) string {
	var b strings.Builder
	for i := range end {
		b.WriteString(itemAt(i))
	}
	return b.String()
}

// TestClients lets many clients ask at once: some read slowly, some hang up, and the upstream fails for some.
// All others must get their replies, no goroutine may remain, and memory must not grow. With STARHOST_LONG
// there are 200 clients for a minute.
func TestClients(t *testing.T) {
	clients, most := 20, 300*time.Millisecond
	if os.Getenv("STARHOST_LONG") != "" {
		clients, most = 200, time.Minute
	}
	var n atomic.Int64
	stream := reply(t, messagesPath, "stream")
	u := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		switch n.Add(1) % 10 {
		case 8:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 9:
			w.Header().Set("Content-Type", streamType)
			_, _ = io.WriteString(w, stream[:len(stream)/2])
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		default:
			replies(streamType, stream)(w, r)
		}
	})
	u.mu.Lock()
	u.forget = true
	u.mu.Unlock()
	s := serve(t, newHost(t, guard("Bash", starhost.Deny("no"))), proxy.Options{Upstream: u.URL}, "")
	ctx, cancel := context.WithTimeout(t.Context(), most)
	defer cancel()
	var wg sync.WaitGroup
	var whole, other atomic.Int64
	var early, late runtime.MemStats
	half := time.AfterFunc(most/2, func() { runtime.GC(); runtime.ReadMemStats(&early) })
	defer half.Stop()
	for i := range clients {
		wg.Go(func() {
			transport := &http.Transport{DisableCompression: true}
			defer transport.CloseIdleConnections()
			client := &http.Client{Transport: transport}
			for k := 0; k < 2 || ctx.Err() == nil; k++ {
				body := strings.NewReader(bodyOf(1000 * (i % 5)))
				r, _ := http.NewRequestWithContext(t.Context(), "POST", s.url+messagesPath, body)
				a, err := client.Do(r)
				if err != nil {
					other.Add(1) // the upstream failed before the first byte
					continue
				}
				switch {
				case i%5 == 3: // this client hangs up
					_, _ = io.ReadFull(a.Body, make([]byte, 10))
				case i%5 == 4: // this client reads slowly
					for range 5 {
						_, _ = io.ReadFull(a.Body, make([]byte, 100))
						time.Sleep(time.Millisecond)
					}
					fallthrough
				default:
					text, _ := io.ReadAll(a.Body)
					if strings.Contains(string(text), "message_stop") {
						whole.Add(1)
					} else {
						other.Add(1)
					}
					if strings.Contains(string(text), "Bash") {
						t.Errorf("a client got the call: %s", text)
					}
				}
				a.Body.Close()
			}
		})
	}
	wg.Wait()
	runtime.GC()
	runtime.ReadMemStats(&late)
	t.Logf("%d whole replies, %d others, heap %d KiB, then %d KiB",
		whole.Load(), other.Load(), early.HeapAlloc>>10, late.HeapAlloc>>10)
	if whole.Load() == 0 {
		t.Error("no client got a whole reply")
	}
	if late.HeapAlloc > early.HeapAlloc+16<<20 {
		t.Errorf("the heap grew from %d to %d bytes", early.HeapAlloc, late.HeapAlloc)
	}
}
