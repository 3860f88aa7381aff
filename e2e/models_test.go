package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// endpoint starts the mock of model endpoints until the test ends, and returns its URL.
func endpoint(t *testing.T, node string) string {
	t.Helper()
	return launch(t, func(ctx context.Context) *exec.Cmd { return exec.CommandContext(ctx, node, "endpoint.mjs") }, "")
}

// A modelRun is a program with a config of three endpoints.
type modelRun struct {
	program, dir string
}

// newModelRun writes the config.
func newModelRun(t *testing.T, program, url string) *modelRun {
	t.Helper()
	r := &modelRun{program, t.TempDir()}
	config := `
[model.chat]
base_url = "` + url + `/v1"
api_key = "MOCK_KEY"
[model.responses]
base_url = "` + url + `/v1"
api = "responses"
api_key = "MOCK_KEY"
[model.messages]
base_url = "` + url + `"
api = "anthropic"
api_key = "MOCK_KEY"
`
	var picture bytes.Buffer
	err := errors.Join(png.Encode(&picture, image.NewGray(image.Rect(0, 0, 4, 4))),
		os.WriteFile(filepath.Join(r.dir, "config.toml"), []byte(config), 0o600))
	if err = errors.Join(err, os.WriteFile(filepath.Join(r.dir, "square.png"), picture.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	return r
}

const mockKey = "sk-mock-0123456789abcdef"

// run runs a command, and returns its output and exit code. No output may contain the key.
func (r *modelRun) run(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	plugin, err := filepath.Abs("endpoint.star")
	if err != nil {
		t.Fatal(err)
	}
	args = append([]string{args[0], "-C", r.dir, "-c", "config.toml", plugin}, args[1:]...)
	cmd := exec.CommandContext(t.Context(), r.program, args...)
	cmd.Env = append(os.Environ(), "HOME="+r.dir, "XDG_DATA_HOME=", "MOCK_KEY="+mockKey, "NO_COLOR=1")
	var out, diagnostics bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &diagnostics
	var exit *exec.ExitError
	if err := cmd.Run(); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String()+diagnostics.String(), mockKey) {
		t.Errorf("%v printed the key:\n%s%s", args, out.String(), diagnostics.String())
	}
	return out.String(), diagnostics.String(), code
}

// TestModels runs turns against a mock of all three protocols, streaming or not.
func TestModels(t *testing.T) {
	node := clients(t)
	url, program := endpoint(t, node), build(t)
	for _, api := range []string{"chat", "responses", "messages"} {
		for _, stream := range [][]string{nil, {"--no-stream"}} {
			t.Run(strings.Join(append([]string{api}, stream...), " "), func(t *testing.T) {
				testModel(t, newModelRun(t, program, url), api, stream)
			})
		}
	}
}

func testModel(t *testing.T, r *modelRun, api string, stream []string) {
	ask := func(args ...string) (string, string, int) {
		t.Helper()
		return r.run(t, append(append([]string{"run"}, stream...), args...)...)
	}
	out, stderr, code := ask("-m", api+"/m", "-p", "Restart checkout", "-f", "runbook:checkout", "--approve", "auto", "-F", "json")
	var got struct {
		Text      string `json:"text"`
		Rounds    int    `json:"rounds"`
		ToolCalls []struct {
			Tool, Decision, Output string
		} `json:"tool_calls"`
		Usage map[string]int `json:"usage"`
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 {
		t.Fatalf("exit code %d, %v\n%s%s", code, err, out, stderr)
	}
	var calls []string
	for _, c := range got.ToolCalls {
		calls = append(calls, c.Tool+" "+c.Decision+" "+c.Output)
	}
	want := "status allow checkout is down, restart allow db restarted, wipe deny denied by endpoint: nothing is wiped on Fridays"
	if got.Text != "The database is back." || got.Rounds != 2 || strings.Join(calls, ", ") != want || api == "chat" && got.Usage["output_tokens"] == 0 {
		t.Errorf("got %+v", got)
	}

	out, stderr, _ = ask("-m", api+"/m", "-p", "Restart checkout")
	if !strings.HasSuffix(out, "The database is back.\n") || stream == nil && !strings.HasPrefix(out, "Let me do it.\n") {
		t.Errorf("text: got %q", out)
	}
	for _, line := range []string{
		`tool: status {"service":"checkout"}`, "denied: restart", "approval is needed and nobody can give it", "nothing is wiped on Fridays",
	} {
		if !strings.Contains(stderr, line) {
			t.Errorf("standard error has no %q:\n%s", line, stderr)
		}
	}

	if out, stderr, _ := ask("-m", api+"/m", "-p", "What is in this picture?", "-a", "square.png"); out != "I see a grey square.\n" {
		t.Errorf("attachment: got %q, %s", out, stderr)
	}
	if out, stderr, _ := ask("-m", api+"/m", "-p", "What was earlier?", "--continue"); out != "You asked me to restart it.\n" {
		t.Errorf("continued session: got %q, %s", out, stderr)
	}
	if out, stderr, code := ask("-m", api+"/broken", "-p", "Hello"); code != 5 || !strings.Contains(stderr, "400 Bad Request") {
		t.Errorf("refusal: got %q, %s, exit code %d", out, stderr, code)
	}
	if stream == nil {
		if out, stderr, code := ask("-m", api+"/cut", "-p", "Hello"); code != 5 || !strings.HasPrefix("This answer breaks off in the middle.\n", strings.TrimSuffix(out, "\n")) {
			t.Errorf("cut: got %q, %s, exit code %d", out, stderr, code)
		}
	}
}
