package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// residentServer compares an event that a running server answers with the process that answers the
// same event with the same plugins.
func residentServer(r *rig) error {
	starhost, err := r.program(starhostProgram)
	if err != nil {
		return err
	}
	files := many(19, "%02d.star", starPlugin)
	files["guard.star"] = guard
	dir, err := r.folder("resident", files)
	if err != nil {
		return err
	}
	sockets, err := os.MkdirTemp("", "p2b") // the path of a socket is short
	if err != nil {
		return err
	}
	defer os.RemoveAll(sockets)
	socket := filepath.Join(sockets, "s")
	cmd := exec.Command(starhost, "serve", dir, "--hooks", "unix:"+socket, "-q")
	cmd.Env, cmd.Dir = r.environment(), r.dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() {
		_ = cmd.Process.Kill() // it serves until then
		_ = cmd.Wait()
	}()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	ask := func() error { return askServer(client) }
	for range 1000 {
		if err = ask(); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err != nil {
		return errors.Join(err, errors.New(stderr.String()))
	}
	process := r.dialogue(event, "sudo needs a person", starhost, "hook", "claude-code", dir)
	return r.compare(claim{"P2b", "the event of P2 through serve --hooks, by hook claude-code", atMost(1.0 / 20)}, loop(ask), process)
}

// askServer sends the event of P2 to a server.
func askServer(client *http.Client) error {
	a, err := client.Post("http://localhost/hooks/claude-code", "application/json", strings.NewReader(event))
	if err != nil {
		return err
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err == nil && !strings.Contains(string(text), "sudo needs a person") {
		err = fmt.Errorf("got %.400s, want the guard's question", text)
	}
	return err
}
