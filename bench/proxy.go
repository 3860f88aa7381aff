package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// proxyPlugin adds context to each request, and guards each call.
const proxyPlugin = `register_hook("turn_start", lambda: "Answer in one line.")
register_hook("pre_tool_call", lambda call: deny("no rm -rf") if "rm -rf" in call.command else None, kind = "shell")
`

// proxyReply is a reply of Messages with a call, and proxyEvent the first event of a stream.
const (
	proxyReply = `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Let me look."},` +
		`{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"ls"}}],"stop_reason":"tool_use","usage":{"input_tokens":10,"output_tokens":5}}`
	proxyEvent = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"content\":[]}}\n\n"
)

// proxyBody returns a request of about 3 KB a round, as an agent sends it in the middle of its work.
func proxyBody(rounds int, stream bool) []byte {
	type dict = map[string]any
	messages := []any{}
	for i := range rounds {
		id := fmt.Sprint("toolu_", i)
		messages = append(messages,
			dict{"role": "user", "content": "Look at file " + fmt.Sprint(i) + "."},
			dict{"role": "assistant", "content": []any{dict{"type": "tool_use", "id": id, "name": "Read", "input": dict{"file_path": "/x"}}}},
			dict{"role": "user", "content": []any{dict{"type": "tool_result", "tool_use_id": id, "content": strings.Repeat("func main() {\n", 130)}}},
			dict{"role": "assistant", "content": "It is a file."})
	}
	tools := []any{}
	for i := range 12 {
		schema := dict{"type": "object", "properties": dict{"a": dict{"type": "string", "description": strings.Repeat("word ", 20)}}}
		tools = append(tools, dict{"name": fmt.Sprint("tool", i), "description": strings.Repeat("It does. ", 60), "input_schema": schema})
	}
	messages = append(messages, dict{"role": "user", "content": "Go on."})
	body, _ := json.Marshal(dict{
		"model": "m", "max_tokens": 100, "stream": stream, "messages": messages, "tools": tools,
		"system": strings.Repeat("You are an agent. ", 300),
	})
	return body
}

// startProxy starts the proxy of an upstream in a process, and returns its URL.
func startProxy(r *rig, upstream string) (address string, cmd *exec.Cmd) {
	dir := r.folder("proxy", map[string]string{"p.star": proxyPlugin})
	return startServer(r, exec.Command(r.starhost, "serve", dir, "--proxy", "127.0.0.1:0", "--upstream", upstream))
}

// startReverse starts the reverse proxy of Go's standard library in a process, and returns its URL.
func startReverse(r *rig, upstream string) string {
	address, _ := startServer(r, exec.Command(r.program(reverseProgram), upstream))
	return address
}

// startServer starts a program and returns the URL that it prints.
func startServer(r *rig, cmd *exec.Cmd) (address string, _ *exec.Cmd) {
	cmd.Env, cmd.Dir = r.environment(), r.dir
	stderr := must(cmd.StderrPipe())
	try(cmd.Start())
	r.ends = append(r.ends, func() {
		_ = cmd.Process.Kill() // it serves until then
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if _, address, ok := strings.Cut(lines.Text(), "standing in for endpoints at "); ok {
			go io.Copy(io.Discard, stderr)
			return address, cmd
		}
	}
	try(errors.New("the proxy did not say where it is"))
	return "", nil
}

// proxiedRequests compares a request through the proxy, with context and a guard, with one through
// the reverse proxy of Go's standard library.
func proxiedRequests(r *rig) {
	open := make(chan bool) // closed at the end of the streams
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body) // a client that hangs up ends the measurement
		if !bytes.Contains(body, []byte(`"stream":true`)) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, proxyReply)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, proxyEvent)
		_ = http.NewResponseController(w).Flush()
		if q.Header.Get("X-Open") != "" {
			select {
			case <-open:
			case <-q.Context().Done():
			}
		}
	}))
	defer upstream.Close()
	defer upstream.CloseClientConnections()
	defer close(open)
	address, cmd := startProxy(r, upstream.URL)
	plain := startReverse(r, upstream.URL)
	transport := &http.Transport{MaxIdleConnsPerHost: 10}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	for _, c := range []struct {
		rounds int
		most   float64
	}{{15, 2.5}, {190, 3}, {1990, 4}} {
		whole := proxyBody(c.rounds, false)
		ask := func(base string) side {
			return loop(func() {
				if text := askThrough(client, base, whole); text != proxyReply {
					try(fmt.Errorf("got %.400s, want the reply", text))
				}
			})
		}
		what := fmt.Sprintf("a request of %d KB through the proxy, by httputil.ReverseProxy", len(whole)/1000)
		r.compare(claim{"P10", what, atMost(c.most)}, ask(address), ask(plain))
	}
	stream := proxyBody(15, true)
	ours := firstByte(r, client, address, stream)
	base := firstByte(r, client, plain, stream)
	r.figure(claim{"P10", "first byte of a stream, later than through it", atMost(2).withUnit("ms")}, max(0, (ours-base).Seconds()*1000))
	small := []byte(`{"model":"m","max_tokens":100,"stream":true,"messages":[{"role":"user","content":"Go on."}]}`)
	openStreams(r, address, small, cmd.Process.Pid)
	openStreams(r, address, stream, cmd.Process.Pid)
}

func askThrough(client *http.Client, base string, body []byte) string {
	a := must(client.Post(base+"/v1/messages", "application/json", bytes.NewReader(body)))
	defer a.Body.Close()
	return string(must(io.ReadAll(a.Body)))
}

// firstByte returns the median of the time to the first byte of a stream.
func firstByte(r *rig, client *http.Client, base string, body []byte) time.Duration {
	var all []time.Duration
	for range 20 * r.pairs {
		start := time.Now()
		a := must(client.Post(base+"/v1/messages", "application/json", bytes.NewReader(body)))
		must(io.ReadFull(a.Body, make([]byte, 1)))
		all = append(all, time.Since(start))
		_, _ = io.Copy(io.Discard, a.Body) // so that the connection is used again
		a.Body.Close()
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// openStreams measures the memory of a process with many open streams, above that before them.
func openStreams(r *rig, base string, body []byte, pid int) {
	n := r.scale(1000)
	before, err := memoryKiB(pid, "VmRSS:")
	if err != nil {
		r.skip(claim{"P10", "memory of 1,000 open streams", atMost(64).withUnit("MiB")}, "needs /proc")
		return
	}
	transport := &http.Transport{MaxIdleConnsPerHost: n}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	for range n {
		q := must(http.NewRequest("POST", base+"/v1/messages", bytes.NewReader(body)))
		q.Header.Set("X-Open", "1")
		a := must(client.Do(q))
		defer a.Body.Close()
		must(io.ReadFull(a.Body, make([]byte, len(proxyEvent))))
	}
	after := must(memoryKiB(pid, "VmRSS:"))
	what := fmt.Sprintf("memory of %d open streams, requests of %d B", n, len(body))
	r.figure(claim{"P10", what, atMost(64).withUnit("MiB")}, float64(after-before)/1024)
}

// proxiedMemory measures how much a request of 1 MB makes the peak memory of the proxy grow.
func proxiedMemory(r *rig) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		_, _ = io.Copy(io.Discard, q.Body) // a client that hangs up ends the measurement
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, proxyReply)
	}))
	defer upstream.Close()
	address, cmd := startProxy(r, upstream.URL)
	c := claim{"P12", "peak memory for a request of 1 MB through the proxy, by its size", atMost(6).withUnit("bodies")}
	var peaks [2]int
	body := proxyBody(420, false)
	for i, body := range [2][]byte{proxyBody(1, false), body} {
		askThrough(http.DefaultClient, address, body)
		var err error
		if peaks[i], err = memoryKiB(cmd.Process.Pid, "VmHWM:"); err != nil {
			r.skip(c, "needs /proc")
			return
		}
	}
	r.add(row{claim: c, got: exactly(float64(peaks[1]-peaks[0]) * 1024 / float64(len(body))), sides: fmt.Sprintf("%d KiB : %d KB", peaks[1]-peaks[0], len(body)/1000)})
}

// memoryKiB returns the memory of a process that is in RAM, or was.
func memoryKiB(pid int, field string) (int, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		if rest, ok := strings.CutPrefix(line, field); ok {
			return strconv.Atoi(strings.Fields(rest)[0])
		}
	}
	return 0, errors.New("no " + field)
}
