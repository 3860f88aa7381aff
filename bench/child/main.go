// Command child is the other end of measurements: with "hook" a plugin in a process
// of its own, with "peak" a small parent of a process whose memory is of interest.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

func main() {
	if len(os.Args) > 2 && os.Args[1] == "peak" {
		peak(os.Args[2:])
		return
	}
	hook()
}

// peak runs a process and prints its greatest resident size in KiB. A process that
// is started counts its parent's size as its own at first: so the parent is small.
func peak(args []string) {
	cmd := exec.Command(args[0], args[1:]...)
	if out, err := cmd.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v: %.400s\n", err, out)
		os.Exit(1)
	}
	fmt.Println(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
}

// A message is what the hook reads of PicoClaw's JSON-RPC.
type message struct {
	ID     int `json:"id"`
	Params struct {
		Model    string            `json:"model"`
		Messages []json.RawMessage `json:"messages"`
		Tools    []json.RawMessage `json:"tools"`
		Options  json.RawMessage   `json:"options"`
	} `json:"params"`
}

// hook answers hook.before_llm, a line each: it adds a message that says the roles
// of all messages and the names of all tools.
func hook() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var m message
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		text := "roles " + joined(m.Params.Messages) + "; tools " + joined(m.Params.Tools)
		added, _ := json.Marshal(map[string]string{"role": "user", "content": text}) // strings always can
		request := m.Params
		request.Messages = append(request.Messages, added)
		out.Encode(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": map[string]any{"action": "modify", "request": request}})
	}
}

// joined returns the roles, or names, of objects.
func joined(objects []json.RawMessage) string {
	var words []string
	for _, raw := range objects {
		var o struct{ Role, Name string }
		if err := json.Unmarshal(raw, &o); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		words = append(words, o.Role+o.Name)
	}
	return strings.Join(words, ",")
}
