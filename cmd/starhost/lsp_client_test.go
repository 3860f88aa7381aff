package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// An lspClient is an editor that talks to starhost lsp in this process.
type lspClient struct {
	t       *testing.T
	dir     string
	in      io.WriteCloser
	id      int
	version map[string]int  // the versions of documents
	answers chan lspMessage // answers to requests
	notes   chan lspMessage // notifications of the server
	code    chan int
	stderr  *bytes.Buffer
	ended   bool
}

type lspMessage struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
}

// startLSP starts a session in a folder with files.
func startLSP(t *testing.T, files map[string]string, encodings ...string) *lspClient {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	writeFiles(t, dir, files)
	stdin, in := io.Pipe()
	out, stdout := io.Pipe()
	c := &lspClient{t: t, dir: dir, in: in, version: map[string]int{}, answers: make(chan lspMessage, 10), notes: make(chan lspMessage, 10_000), code: make(chan int, 1), stderr: new(bytes.Buffer)}
	go func() {
		code := run(t.Context(), []string{"lsp", "--no-config"}, stdin, stdout, c.stderr)
		stdout.Close()
		stdin.Close()
		c.code <- code
	}()
	go c.read(bufio.NewReader(out))
	t.Cleanup(func() {
		if !c.ended {
			c.end()
		}
	})
	c.request("initialize", map[string]any{
		"rootUri": "file://" + dir, "capabilities": map[string]any{"general": map[string]any{"positionEncodings": encodings}},
	})
	c.notify("initialized", map[string]any{})
	return c
}

func (c *lspClient) read(r *bufio.Reader) {
	defer close(c.answers)
	for {
		size := 0
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			if line == "\r\n" {
				break
			}
			fmt.Sscanf(line, "Content-Length: %d", &size)
		}
		body := make([]byte, size)
		if _, err := io.ReadFull(r, body); err != nil {
			return
		}
		var m lspMessage
		if err := json.Unmarshal(body, &m); err != nil {
			panic(err)
		}
		if m.Method == "" {
			c.answers <- m
		} else {
			c.notes <- m
		}
	}
}

func (c *lspClient) write(body string) {
	fmt.Fprintf(c.in, "Content-Length: %d\r\n\r\n%s", len(body), body)
}

func (c *lspClient) notify(method string, params any) {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
	if err != nil {
		c.t.Fatal(err)
	}
	c.write(string(body))
}

// patience is the longest time that a test waits for a message.
const patience = time.Minute

// answer returns the next answer.
func (c *lspClient) answer() lspMessage {
	c.t.Helper()
	select {
	case m, ok := <-c.answers:
		if !ok {
			c.t.Fatalf("the server ended: %s", c.stderr)
		}
		return m
	case <-time.After(patience):
		c.t.Fatal("no answer")
	}
	return lspMessage{}
}

// try sends a request and returns its result, or the text of its error.
func (c *lspClient) try(method string, params any) (json.RawMessage, string) {
	c.t.Helper()
	c.id++
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": c.id, "method": method, "params": params})
	if err != nil {
		c.t.Fatal(err)
	}
	c.write(string(body))
	m := c.answer()
	if m.Error != nil {
		return nil, m.Error.Message
	}
	if string(m.ID) != fmt.Sprint(c.id) {
		c.t.Fatalf("%s: got the answer of %s, want of %d", method, m.ID, c.id)
	}
	return m.Result, ""
}

func (c *lspClient) request(method string, params any) json.RawMessage {
	c.t.Helper()
	result, failure := c.try(method, params)
	if failure != "" {
		c.t.Fatalf("%s: %s", method, failure)
	}
	return result
}

func (c *lspClient) uri(name string) string {
	return "file://" + filepath.ToSlash(filepath.Join(c.dir, name))
}

func (c *lspClient) open(name, text string) {
	c.version[name]++
	c.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": c.uri(name), "languageId": "starlark", "version": c.version[name], "text": text}})
}

func (c *lspClient) change(name, text string) {
	c.version[name]++
	c.notify("textDocument/didChange", map[string]any{
		"textDocument":   map[string]any{"uri": c.uri(name), "version": c.version[name]},
		"contentChanges": []any{map[string]any{"text": text}},
	})
}

// at opens or changes a file. The text has | at the cursor. at returns the parameters of a request about the
// place of the cursor.
func (c *lspClient) at(name, text string) map[string]any {
	before, after, ok := strings.Cut(text, "|")
	if !ok {
		c.t.Fatalf("no cursor in %q", text)
	}
	c.change(name, before+after)
	line := before[strings.LastIndexByte(before, '\n')+1:]
	units := 0
	for _, r := range line {
		if units++; r >= 0x10000 {
			units++
		}
	}
	return map[string]any{
		"textDocument": map[string]any{"uri": c.uri(name)},
		"position":     map[string]any{"line": strings.Count(before, "\n"), "character": units},
	}
}

type lspDiagnostic struct {
	Range struct {
		Start, End struct{ Line, Character int }
	}
	Severity      int
	Code, Message string
}

func (d lspDiagnostic) String() string {
	return fmt.Sprintf("%d:%d-%d %s %s", d.Range.Start.Line, d.Range.Start.Character, d.Range.End.Character, d.Code, d.Message)
}

// diagnostics returns the diagnostics of the newest version of a file.
func (c *lspClient) diagnostics(name string) []string {
	c.t.Helper()
	for {
		m := c.note("textDocument/publishDiagnostics")
		var p struct {
			URI         string
			Version     int
			Diagnostics []lspDiagnostic
		}
		if err := json.Unmarshal(m.Params, &p); err != nil {
			c.t.Fatal(err)
		}
		if p.URI != c.uri(name) || p.Version != c.version[name] {
			continue
		}
		texts := []string{}
		for _, d := range p.Diagnostics {
			texts = append(texts, d.String())
		}
		return texts
	}
}

// note returns the next notification of a method.
func (c *lspClient) note(method string) lspMessage {
	c.t.Helper()
	for {
		select {
		case m := <-c.notes:
			if m.Method == method {
				return m
			}
		case <-time.After(patience):
			c.t.Fatalf("no %s; %s", method, c.stderr)
		}
	}
}

// labels returns the labels of the completions at a place, sorted.
func (c *lspClient) labels(at map[string]any) []string {
	c.t.Helper()
	var list struct{ Items []struct{ Label string } }
	if err := json.Unmarshal(c.request("textDocument/completion", at), &list); err != nil {
		c.t.Fatal(err)
	}
	labels := []string{}
	for _, item := range list.Items {
		labels = append(labels, item.Label)
	}
	slices.Sort(labels)
	return labels
}

// end closes the server's input, and returns its exit code.
func (c *lspClient) end() int {
	c.ended = true
	c.in.Close()
	select {
	case code := <-c.code:
		for range c.answers { // wait until the reader has seen the end of the output
		}
		return code
	case <-time.After(patience):
		c.t.Error("the server did not end")
		return -1
	}
}

func readTestFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
