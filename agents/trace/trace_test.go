package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/agents"
	"github.com/starhost/starhost/agents/tracetest"
	"github.com/starhost/starhost/decision"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/testbed"
)

var update = flag.Bool("update", false, "rewrite testdata/*.want")

// readable are the agents whose transcripts starhost reads.
func readable() (list []*agents.Agent) {
	for _, a := range agents.All {
		if a.Transcripts.Folder != "" {
			list = append(list, a)
		}
	}
	return list
}

// newHome returns a home with the transcripts that a run of a real agent left.
func newHome(t testing.TB, agent string) (home string, getenv func(string) string) {
	home = tracetest.Home(t, "testdata", agent)
	return home, func(name string) string {
		if name == "HOME" {
			return home
		}
		return ""
	}
}

// lineOf shows a call in one line.
func lineOf(c *Call, home string) string {
	args := new(bytes.Buffer)
	if json.Compact(args, c.Arguments) != nil {
		args.WriteString("-")
	}
	ended := "-"
	if !c.Ended.IsZero() {
		ended = c.Ended.Format("15:04:05.000")
	}
	file, _ := filepath.Rel(home, c.File)
	return fmt.Sprintf("%s %s %s %s %s %s %s %s sub=%v %s %s:%d", c.Agent, c.Version, c.Session, c.ID, c.Time.Format("15:04:05.000"), ended,
		c.Tool, args, c.Subagent, c.Folder+" "+string(c.Result), filepath.ToSlash(file), c.Line)
}

// TestCalls reads what real agents wrote.
func TestCalls(t *testing.T) {
	for _, a := range readable() {
		t.Run(a.Name, func(t *testing.T) {
			home, getenv := newHome(t, a.Name)
			before := snapshotOf(t, home)
			r := &Reader{Getenv: getenv}
			var got strings.Builder
			calls := slices.Collect(r.InOrder(a))
			for _, c := range calls {
				got.WriteString(lineOf(c, home) + "\n")
			}
			if len(r.Places) > 0 || r.Bytes == 0 {
				t.Errorf("got %d bytes, broken: %v", r.Bytes, r.Places)
			}
			name := filepath.Join("testdata", a.Name+".want")
			if *update {
				if err := os.WriteFile(name, []byte(got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			last := slices.Collect((&Reader{Getenv: getenv, Last: 5}).Calls(a))
			if len(last) < 5 || len(last) > len(calls) {
				t.Errorf("the last 5: got %d calls of %d", len(last), len(calls))
			}
			if diff := cmp.Diff(before, snapshotOf(t, home)); diff != "" {
				t.Errorf("reading changed the home:\n%s", diff)
			}
		})
	}
}

// snapshotOf returns the files of a folder with their sizes and times.
func snapshotOf(t testing.TB, dir string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			list = append(list, fmt.Sprint(name, info.Size(), info.ModTime()))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// compare compares an agent's calls in a home with the log there.
func compare(t testing.TB, a *agents.Agent, home string, getenv func(string) string, change func(*Comparison)) Coverage {
	t.Helper()
	installed := Change{Time: time.Date(2026, 11, 26, 17, 0, 0, 0, time.UTC), In: true}
	x := &Comparison{Getenv: getenv, Log: filepath.Join(home, "log"), Changes: map[string][]Change{a.Name: {installed}}}
	if change != nil {
		change(x)
	}
	all, err := x.Compare(t.Context(), []*agents.Agent{a})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		return Coverage{Counts: map[Verdict]int{}}
	}
	return all[0]
}

// TestCoverage compares what real agents wrote with what starhost logged.
func TestCoverage(t *testing.T) {
	for _, a := range readable() {
		t.Run(a.Name, func(t *testing.T) {
			home, getenv := newHome(t, a.Name)
			log := filepath.Join(home, "log/answered-2026-11-26.jsonl")
			text, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			c := compare(t, a, home, getenv, nil)
			if len(c.Findings) > 0 || c.Counts[Covered] < 9 || c.Counts[Covered]+c.Counts[DidNotRun] != c.Calls {
				t.Fatalf("got %v, %+v", c.Counts, c.Findings)
			}
			if quick := compare(t, a, home, getenv, func(x *Comparison) { x.Last = 50 }); quick.Calls != c.Calls || quick.Faults() > 0 {
				t.Errorf("the last 50: got %v", quick.Counts)
			}
			without := func(what string, line func(string) string) Coverage {
				t.Helper()
				var out strings.Builder
				for l := range strings.Lines(string(text)) {
					out.WriteString(line(l))
				}
				if err := os.WriteFile(log, []byte(out.String()), 0o600); err != nil {
					t.Fatal(err)
				}
				return compare(t, a, home, getenv, nil)
			}
			n := 0
			got := without("an answer", func(l string) string {
				if strings.Contains(l, `"answered":"none"`) {
					if n++; n == 3 {
						return ""
					}
				}
				return l
			})
			if got.Counts[NotAsked] != 1 || got.Counts[Covered] != c.Counts[Covered]-1 || got.Faults() != 1 {
				t.Errorf("without an answer: got %v, %+v", got.Counts, got.Findings)
			}
			n = 0
			got = without("a denial that did nothing", func(l string) string {
				if n++; n == 4 {
					return strings.Replace(l, `"answered":"none"`, `"answered":"deny"`, 1)
				}
				return l
			})
			if got.Counts[DeniedRan] != 1 || got.Faults() != 1 {
				t.Errorf("denied but ran: got %v, %+v", got.Counts, got.Findings)
			}
			n = 0
			got = without("a late answer", func(l string) string {
				if n++; n == 4 {
					var at struct{ Time time.Time }
					_ = json.Unmarshal([]byte(l), &at)
					return strings.Replace(l, at.Time.Format(time.RFC3339Nano), at.Time.Add(40*time.Second).Format(time.RFC3339Nano), 1)
				}
				return l
			})
			if got.Counts[TooLate] != 1 || got.Faults() != 1 {
				t.Errorf("asked too late: got %v, %+v %+v", got.Counts, got.Findings, got.Findings[0].Call)
			}
			without("all", func(string) string { return "" })
			got = compare(t, a, home, getenv, func(x *Comparison) { x.Log = "" })
			if got.Faults() > 0 || got.Counts[Covered] > 0 || got.Counts[CannotTell] == 0 {
				t.Errorf("with the log off: got %v", got.Counts)
			}
			got = compare(t, a, home, getenv, func(x *Comparison) { x.Changes[a.Name][0].Time = time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC) })
			if got.Counts[Before]+got.Counts[DidNotRun] != got.Calls {
				t.Errorf("before the installation: got %v", got.Counts)
			}
			got = compare(t, a, home, getenv, func(x *Comparison) {
				x.Changes[a.Name] = append(x.Changes[a.Name], Change{Time: x.Changes[a.Name][0].Time.Add(time.Minute)})
			})
			if got.Counts[Before]+got.Counts[DidNotRun] != got.Calls {
				t.Errorf("after uninstall: got %v", got.Counts)
			}
			got = compare(t, a, home, getenv, nil)
			if got.Counts[NotAsked] == 0 || got.Counts[Covered] > 0 {
				t.Errorf("with no answers: got %v", got.Counts)
			}
		})
	}
}

// breaks are ways to break a file.
var breaks = []func(r *rand.Rand, text []byte) []byte{
	func(r *rand.Rand, text []byte) []byte { return text[:r.IntN(len(text))] },
	func(r *rand.Rand, text []byte) []byte { return text[r.IntN(len(text)):] },
	func(r *rand.Rand, text []byte) []byte { text[r.IntN(len(text))] = 0; return text },
	func(r *rand.Rand, text []byte) []byte { text[r.IntN(len(text))] = 0xff; return text },
	func(r *rand.Rand, text []byte) []byte {
		at := r.IntN(len(text))
		return slices.Concat(text[:at], []byte("\n"), text[at:])
	},
	func(r *rand.Rand, text []byte) []byte {
		at := bytes.IndexByte(text[r.IntN(len(text)):], '\n') + 1
		return slices.Concat(text[:at], []byte(`{"foreign":[1,2,{"type":"tool_use"}],"tool_use_id":4,"toolCalls":"x"}`+"\n[]\n\x00\n"), text[at:])
	},
	func(r *rand.Rand, text []byte) []byte {
		deep := strings.Repeat(`{"type":"tool_use","a":[`, 5000)
		return append(text, deep...)
	},
	func(r *rand.Rand, text []byte) []byte { // a version with other words
		words := []string{"tool_use", "tool_result", "function_call", "status", "toolCalls", "functionResponse", "execution_complete", "success", "sessionId"}
		return bytes.ReplaceAll(text, []byte(words[r.IntN(len(words))]), []byte("renamed"))
	},
	func(r *rand.Rand, text []byte) []byte {
		from := r.IntN(len(text))
		return slices.Delete(text, from, min(len(text), from+1+r.IntN(2000)))
	},
	func(r *rand.Rand, text []byte) []byte { return nil },
}

// verdicts returns the verdict about each call, by its id.
func verdicts(t testing.TB, a *agents.Agent, home string, getenv func(string) string) map[string]Verdict {
	t.Helper()
	x := &Comparison{Log: filepath.Join(home, "log"), Changes: map[string][]Change{a.Name: {{Time: time.Date(2026, 11, 26, 17, 0, 0, 0, time.UTC), In: true}}}}
	answers, err := readAnswers(x.Log, time.Time{}, func(*agents.Agent, *decision.Answered) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]Verdict{}
	for c := range (&Reader{Getenv: getenv}).Calls(a) {
		all[c.ID], _ = x.judge(a, answers, c)
	}
	return all
}

// spoilLog takes answers away and makes others denials, so that calls pass guards by.
func spoilLog(t testing.TB, home string) {
	t.Helper()
	name := filepath.Join(home, "log/answered-2026-11-26.jsonl")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	n := 0
	for line := range strings.Lines(string(text)) {
		if n++; n%3 == 0 {
			line = strings.Replace(line, `"answered":"none"`, `"answered":"deny"`, 1)
		}
		if n%5 != 0 {
			out.WriteString(line)
		}
	}
	if err := os.WriteFile(name, []byte(out.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestBroken reads 700 broken transcripts. No reader crashes or waits, and no call is covered that is
// not covered in the whole ones.
func TestBroken(t *testing.T) {
	for _, a := range readable() {
		t.Run(a.Name, func(t *testing.T) {
			home, getenv := newHome(t, a.Name)
			spoilLog(t, home)
			whole := verdicts(t, a, home, getenv)
			var files []string
			for _, name := range (&Reader{Getenv: getenv}).files(a) {
				files = append(files, name)
				if a.Name == "opencode" {
					files = append(files, name+"-wal")
				}
			}
			for i := range 100 {
				r := rand.New(rand.NewPCG(1, uint64(i)))
				name := files[r.IntN(len(files))]
				text, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				if len(text) > 0 {
					if err := os.WriteFile(name, breaks[i%len(breaks)](r, slices.Clone(text)), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				for id, got := range verdicts(t, a, home, getenv) {
					if want := whole[id]; got == Covered && want.IsFault() {
						t.Errorf("break %d of %s: %s is covered, and %s in the whole transcripts", i%len(breaks), name, id, want)
					}
				}
				_ = compare(t, a, home, getenv, func(x *Comparison) { x.Last = 50 })
				if err := os.WriteFile(name, text, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestLongLine skips a line that is longer than a reader takes, and counts its place.
func TestLongLine(t *testing.T) {
	a := agents.Find("claude-code")
	home, getenv := newHome(t, a.Name)
	name := filepath.Join(home, ".claude/projects/-home-e2e-work/long.jsonl")
	line := `{"type":"assistant","sessionId":"s","timestamp":"2026-11-26T18:02:05Z","message":{"content":[{"type":"tool_use","id":"%s","name":"Bash","input":{"command":"%s"}}]}}` + "\n"
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{fmt.Sprintf(line, "one", "x"), `{"type":"tool_use","x":"`, strings.Repeat("x", maxLine), "\"}\n", fmt.Sprintf(line, "two", strings.Repeat("y", 5<<20))} {
		if _, err := f.WriteString(part); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	r := &Reader{Getenv: getenv}
	found := map[string]Result{}
	for c := range r.Calls(a) {
		if c.File == name {
			found[c.ID] = c.Result
		}
	}
	if diff := cmp.Diff(map[string]Result{"one": Unknown, "two": Unknown}, found); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	want := []Place{{name, int64(len(fmt.Sprintf(line, "one", "x"))), "a line of more than 64 MiB"}}
	if diff := cmp.Diff(want, r.Places); diff != "" {
		t.Errorf("places (-want +got):\n%s", diff)
	}
}

// TestOthers reads no link and no special file.
func TestOthers(t *testing.T) {
	a := agents.Find("claude-code")
	home, getenv := newHome(t, a.Name)
	want := len(slices.Collect((&Reader{Getenv: getenv}).Calls(a)))
	dir := filepath.Join(home, ".claude/projects/-home-e2e-work")
	names, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err == nil {
		err = os.Symlink(names[0], filepath.Join(dir, "link.jsonl"))
	}
	if err == nil {
		err = os.Symlink(dir, filepath.Join(home, ".claude/projects/other"))
	}
	if err == nil {
		err = makePipe(filepath.Join(dir, "pipe.jsonl"))
	}
	if err != nil {
		testbed.Lacks(t, err)
	}
	r := &Reader{Getenv: getenv}
	if got := len(slices.Collect(r.Calls(a))); got != want {
		t.Errorf("got %d calls, want %d", got, want)
	}
	if r.Broken != 3 {
		t.Errorf("got %v, want the two links and the pipe", r.Places)
	}
	if _, _, err := openOwn(filepath.Join(dir, "link.jsonl")); err == nil {
		t.Error("a link was opened")
	}
	if _, _, err := openOwn(filepath.Join(dir, "pipe.jsonl")); err == nil {
		t.Error("a pipe was opened")
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(names[0], 12345, 12345); err != nil {
			t.Fatal(err)
		}
		r := &Reader{Getenv: getenv}
		if got := len(slices.Collect(r.Calls(a))); got >= want || r.Broken != 4 {
			t.Errorf("another user's file: got %d calls and %v", got, r.Places)
		}
	}
}

// TestLinkedFolder reads the folder of an agent that its user put elsewhere, and once only.
func TestLinkedFolder(t *testing.T) {
	a := agents.Find("claude-code")
	home, getenv := newHome(t, a.Name)
	want := len(slices.Collect((&Reader{Getenv: getenv}).Calls(a)))
	err := os.Rename(filepath.Join(home, ".claude"), filepath.Join(home, "elsewhere"))
	if err == nil {
		err = os.Symlink("elsewhere", filepath.Join(home, ".claude"))
	}
	if err != nil {
		testbed.Lacks(t, err)
	}
	both := func(name string) string {
		if name == "CLAUDE_CONFIG_DIR" {
			return filepath.Join(home, "elsewhere")
		}
		return getenv(name)
	}
	r := &Reader{Getenv: both}
	if got := len(slices.Collect(r.Calls(a))); got != want || r.Broken > 0 {
		t.Errorf("got %d calls and %v, want %d", got, r.Places, want)
	}
}

// claudeCall and claudeEnd are lines of a call.
const (
	claudeCall = `{"type":"assistant","sessionId":"s","timestamp":"2026-11-26T18:02:05Z","message":{"content":[{"type":"tool_use","id":"%s","name":"Bash","input":{"command":"%s"}}]}}` + "\n"
	claudeEnd  = `{"type":"user","sessionId":"s","timestamp":"2026-11-26T18:02:06Z","message":{"content":[{"type":"tool_result","tool_use_id":"%s","content":"ok"}]}}` + "\n"
)

// newTranscript returns a home with one transcript of Claude Code.
func newTranscript(t testing.TB, text string) (file string, getenv func(string) string) {
	t.Helper()
	home := t.TempDir()
	file = filepath.Join(home, ".claude/projects/-w/s.jsonl")
	err := os.MkdirAll(filepath.Dir(file), 0o700)
	if err == nil {
		err = os.WriteFile(file, []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return file, func(name string) string {
		if name == "HOME" {
			return home
		}
		return ""
	}
}

// TestGrowing reads files that the agent writes meanwhile: up to the size that they had at first. A line
// of which the agent has written a part makes the open calls unknown, until it is whole.
func TestGrowing(t *testing.T) {
	a := agents.Find("claude-code")
	var text strings.Builder
	for i := range 500 {
		fmt.Fprintf(&text, claudeCall+claudeEnd, fmt.Sprint(i), strings.Repeat("x", 1000), fmt.Sprint(i))
	}
	end := fmt.Sprintf(claudeEnd, "last")
	text.WriteString(fmt.Sprintf(claudeCall, "last", "y") + end[:60])
	file, getenv := newTranscript(t, text.String())
	grown, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer grown.Close()
	r := &Reader{Getenv: getenv}
	n, rest := 0, end[60:]
	results := map[string]Result{}
	for c := range r.Calls(a) {
		results[c.ID] = c.Result
		for _, part := range []string{rest, fmt.Sprintf(claudeCall, fmt.Sprint("new", n), strings.Repeat("z", 2000))} {
			if _, err := grown.WriteString(part); err != nil {
				t.Fatal(err)
			}
		}
		n, rest = n+1, ""
	}
	if n != 501 || r.Bytes != int64(text.Len()) || results["0"] != Ran || results["last"] != Unknown {
		t.Errorf("got %d calls in %d bytes, want 501 in %d; the last is %s", n, r.Bytes, text.Len(), results["last"])
	}
	results = map[string]Result{}
	for c := range (&Reader{Getenv: getenv}).Calls(a) {
		results[c.ID] = c.Result
	}
	if len(results) != 1002 || results["last"] != Ran || results["new0"] != None {
		t.Errorf("later: got %d calls, the last of the first is %s", len(results), results["last"])
	}
	if err := grown.Truncate(100); err != nil { // while it is read
		t.Fatal(err)
	}
	_ = slices.Collect((&Reader{Getenv: getenv}).Calls(a))
}

// TestHeld checks what a reader holds: calls without a result, up to a number and a size, and calls in
// order, up to a size.
func TestHeld(t *testing.T) {
	a := agents.Find("claude-code")
	var text strings.Builder
	const calls, size = 400, 128 << 10
	for i := range calls {
		fmt.Fprintf(&text, claudeCall, fmt.Sprint(i), strings.Repeat("x", size))
	}
	_, getenv := newTranscript(t, text.String())
	r := &Reader{Getenv: getenv}
	n := int64(0)
	for range r.Calls(a) {
		if held := r.Bytes - n*size; held > maxWaiting+1<<20 && r.Bytes < int64(text.Len()) {
			t.Fatalf("%d bytes are held", held)
		}
		n++
	}
	if n != calls {
		t.Errorf("got %d calls, want %d", n, calls)
	}
	text.Reset()
	for i := range 3 * maxOpen {
		fmt.Fprintf(&text, claudeCall, fmt.Sprint(i), "x")
	}
	_, getenv = newTranscript(t, text.String())
	got := map[Result]int{}
	for c := range (&Reader{Getenv: getenv}).Calls(a) {
		got[c.Result]++
	}
	if diff := cmp.Diff(map[Result]int{Unknown: 2 * maxOpen, None: maxOpen}, got); diff != "" {
		t.Errorf("open calls (-want +got):\n%s", diff)
	}
}

// TestInOrder puts the calls of many large files in order without holding them: the sessions by their
// beginning, and a subagent's calls among those of its session.
func TestInOrder(t *testing.T) {
	a := agents.Find("claude-code")
	file, getenv := newTranscript(t, "")
	const sessions, calls = 12, 8
	write := func(name string, session, first int) {
		var text strings.Builder
		for i := range calls {
			at := time.Date(2026, 11, 20, session, 0, 2*i+first, 0, time.UTC)
			fmt.Fprintf(&text, `{"type":"assistant","sessionId":"s%d","timestamp":"%s","message":{"content":[{"type":"tool_use","id":"%s_%d","name":"Bash","input":{"command":"%s"}}]}}`+"\n",
				session, at.Format(time.RFC3339), name, i, strings.Repeat("x", 100<<10))
		}
		err := os.MkdirAll(filepath.Dir(filepath.Join(filepath.Dir(file), name)), 0o700)
		if err == nil {
			err = os.WriteFile(filepath.Join(filepath.Dir(file), name), []byte(text.String()), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for s := range sessions { // the files are the older the later the session began
		session := sessions - 1 - s
		write(fmt.Sprintf("s%d/subagents/agent-%d.jsonl", session, session), session, 1)
		write(fmt.Sprintf("s%d.jsonl", session), session, 0)
	}
	r := &Reader{Getenv: getenv}
	var last time.Time
	n, held := 0, int64(0)
	for c := range r.InOrder(a) {
		if c.Time.Before(last) {
			t.Fatalf("%s comes after %s", c.Time, last)
		}
		last = c.Time
		n++
		held = max(held, r.Bytes-int64(n*100<<10))
	}
	if n != 2*sessions*calls || held > 4*calls*100<<10 {
		t.Errorf("got %d calls, want %d; %d bytes were held", n, 2*sessions*calls, held)
	}
}

// TestCodexResults reads what Codex writes as the output of a call.
func TestCodexResults(t *testing.T) {
	for output, want := range map[string]Result{
		`"Wall time: 0.1 seconds\nProcess exited with code 0\nOutput:\naborted by user"`: Ran,
		`"Wall time: 0.1 seconds\nProcess exited with code 3\nOutput:\n"`:                Failed,
		`"Wall time: 0.1 seconds\naborted by user"`:                                      None,
		`"aborted by user after 0.1s"`:                                                   None,
		`"aborted"`:                                                                      None,
		`"unsupported call: x"`:                                                          Refused,
		`"Command blocked by PreToolUse hook: no. Command: x"`:                           Denied,
		`[{"type":"input_text","text":"aborted"}]`:                                       Ran,
		`7`: Unknown,
	} {
		parsed, err := jsontext.ParseFew(output, maxNesting, maxValues)
		if err != nil {
			t.Fatal(err)
		}
		if got := codexResult(&document{parsed}, 0); got != want {
			t.Errorf("%s: got %s, want %s", output, got, want)
		}
	}
}

// TestHostileDatabase reads a database whose tables are views that never end.
func TestHostileDatabase(t *testing.T) {
	a := agents.Find("opencode")
	home := t.TempDir()
	rows := filepath.Join(home, "rows.jsonl")
	if err := os.WriteFile(rows, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tracetest.Database(t, rows, filepath.Join(home, ".local/share/opencode"), "CREATE VIEW session AS SELECT 1 AS id",
		`CREATE VIEW part AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
		SELECT i AS id, 1 AS message_id, 1 AS session_id, 1 AS time_created, '{}' AS data FROM n`)
	r := &Reader{Getenv: func(name string) string {
		if name == "HOME" {
			return home
		}
		return ""
	}}
	if n := len(slices.Collect(r.Calls(a))); n > 0 || r.Broken != 1 {
		t.Errorf("got %d calls and %v", n, r.Places)
	}
}

// TestJoined joins what several lines of the settings answered to one call, and what starhost saw
// afterwards.
func TestJoined(t *testing.T) {
	line := `{"schema":"starhost.answered/1","id":"%s","time":"2026-11-26T18:02:05.5Z","agent":"claude-code","session":"s","call_id":"c","tool":"Bash","answered":"%s","args":"0000"}` + "\n"
	tests := []struct {
		name    string
		answers []string
		want    Verdict
	}{
		{"no answer", nil, NotAsked},
		{"one", []string{"none"}, Covered},
		{"the second line denies", []string{"none", "deny"}, DeniedRan},
		{"the first line denies", []string{"deny", "none"}, DeniedRan},
		{"it ran otherwise", []string{"none", decision.RanOther}, RanOther},
		{"a person was asked", []string{"ask"}, Covered},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file, getenv := newTranscript(t, fmt.Sprintf(claudeCall+claudeEnd, "c", "x", "c"))
			home := getenv("HOME")
			var text strings.Builder
			for i, answered := range tt.answers {
				fmt.Fprintf(&text, line, fmt.Sprint("id", i), answered)
			}
			err := os.MkdirAll(filepath.Join(home, "log"), 0o700)
			if err == nil {
				err = os.WriteFile(filepath.Join(home, "log/answered-2026-11-26.jsonl"), []byte(text.String()), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := compare(t, agents.Find("claude-code"), home, getenv, nil); got.Counts[tt.want] != 1 {
				t.Errorf("%s: got %v, want %s", file, got.Counts, tt.want)
			}
		})
	}
}

// BenchmarkCoverage reads 256 MiB of transcripts, of which lines have the lengths of real sessions.
func BenchmarkCoverage(b *testing.B) {
	a := agents.Find("claude-code")
	home, getenv := newHome(b, a.Name)
	b.SetBytes(int64(bigHome(b, home, 256)) << 20)
	for b.Loop() {
		if c := compare(b, a, home, getenv, nil); c.Broken > 0 {
			b.Fatal(c.Places)
		}
	}
}

// BenchmarkQuick looks at the last 50 calls of 1 GiB of transcripts.
func BenchmarkQuick(b *testing.B) {
	a := agents.Find("claude-code")
	home, getenv := newHome(b, a.Name)
	bigHome(b, home, 1024)
	for b.Loop() {
		if c := compare(b, a, home, getenv, func(x *Comparison) { x.Last = 50 }); c.Calls != 50 {
			b.Fatalf("%d calls", c.Calls)
		}
	}
}

// bigHome adds files of 16 MiB to a home: calls with arguments of 200 bytes and results of 6 KB, and
// beside them what the agent said. It returns their size; without STARHOST_LONG that is an eighth.
func bigHome(b *testing.B, home string, megabytes int) int {
	b.Helper()
	if os.Getenv("STARHOST_LONG") == "" {
		megabytes /= 8
	}
	result := strings.Repeat("a line of what a program wrote, and of nothing else\\n", 120)
	for file := range megabytes / 16 {
		var text bytes.Buffer
		for i := 0; text.Len() < 16<<20; i++ {
			at := time.Date(2026, 11, 20, 0, file, 0, i, time.UTC).Format(time.RFC3339Nano)
			head := fmt.Sprintf(`"sessionId":"s%d","version":"2.1.332","cwd":"/w","timestamp":"%s"`, file, at)
			fmt.Fprintf(&text, `{"type":"assistant",%s,"message":{"content":[{"type":"text","text":"%s"}]}}`+"\n", head, result[:1000])
			fmt.Fprintf(&text, `{"type":"assistant",%s,"message":{"content":[{"type":"tool_use","id":"t%d_%d","name":"Bash","input":{"command":"%s"}}]}}`+"\n", head, file, i, result[:200])
			fmt.Fprintf(&text, `{"type":"user",%s,"message":{"content":[{"type":"tool_result","tool_use_id":"t%d_%d","content":"%s"}]},"toolUseResult":{"stdout":"%s"}}`+"\n",
				head, file, i, result, result)
		}
		name := filepath.Join(home, ".claude/projects/-home-e2e-work", fmt.Sprintf("big%d.jsonl", file))
		if err := os.WriteFile(name, text.Bytes(), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	return megabytes
}

// TestFullLog checks that calls are no fault if the log of their day had no more room for their answers.
func TestFullLog(t *testing.T) {
	a := agents.Find("claude-code")
	home, getenv := newHome(t, a.Name)
	log := filepath.Join(home, "log/answered-2026-11-26.jsonl")
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	before := compare(t, a, home, getenv, nil)
	var kept []byte
	var last struct{ Time time.Time }
	for l := range bytes.Lines(text) {
		if kept = append(kept, l...); len(kept) > len(text)/2 {
			_ = json.Unmarshal(l, &last)
			break
		}
	}
	if err := errors.Join(os.WriteFile(log, kept, 0o600), os.Chtimes(log, last.Time, last.Time)); err != nil {
		t.Fatal(err)
	}
	if c := compare(t, a, home, getenv, nil); c.Counts[NotAsked] == 0 {
		t.Errorf("a log with room: got %v, want calls that were not asked about", c.Counts)
	}
	c := compare(t, a, home, getenv, func(x *Comparison) { x.Max = int64(len(kept)) + 100 })
	if c.Faults() > 0 || c.Counts[CannotTell] == 0 || c.Counts[Covered] >= before.Counts[Covered] {
		t.Errorf("a full log: got %v, want no fault, and calls of which it cannot be told", c.Counts)
	}
	for _, f := range c.Findings {
		if !strings.Contains(f.Why, "full") {
			t.Errorf("%s: got %q", f.ID, f.Why)
		}
	}
	info, err := os.Stat(log)
	if err != nil || !info.ModTime().Equal(last.Time) {
		t.Errorf("the log was changed: %v", err)
	}
}

// TestRemovedLog checks that it cannot be told of calls whether they were asked about if the log removed the
// answers of their day. If somebody else removed or cut the file, they are a fault.
func TestRemovedLog(t *testing.T) {
	a := agents.Find("claude-code")
	home, getenv := newHome(t, a.Name)
	dir := filepath.Join(home, "log")
	file := filepath.Join(dir, "answered-2026-11-26.jsonl")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	later := []byte("\n" + `{"schema":"starhost.answered/1","id":"x","time":"2026-11-27T00:00:00Z","agent":"claude-code","session":"other","call_id":"other","tool":"Bash","answered":"none","args":"0000"}`)
	if err := os.WriteFile(filepath.Join(dir, "answered-2026-11-27.jsonl"), later, 0o600); err != nil {
		t.Fatal(err)
	}
	whole := compare(t, a, home, getenv, nil)
	l := decision.New(decision.Options{Dir: dir, Max: int64(len(text)), Clock: func() time.Time { return time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC) }})
	if removed, err := l.Collect(); err != nil || len(removed) != 1 {
		t.Fatalf("got %v, %v", removed, err)
	}
	for _, last := range []int{0, 50} {
		c := compare(t, a, home, getenv, func(x *Comparison) { x.Last = last })
		if c.Counts[CannotTell] < 9 || c.Counts[CannotTell]+c.Counts[DidNotRun] != whole.Calls { // the agent writes denials itself
			t.Errorf("removed answers: got %v of %v, want cannot tell", c.Counts, whole.Counts)
		}
		for _, f := range c.Findings {
			if !strings.Contains(f.Why, "removed ([log] keep, max)") {
				t.Errorf("%s: got %q", f.ID, f.Why)
			}
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if c := compare(t, a, home, getenv, nil); c.Counts[NotAsked] == 0 || c.Counts[Covered] > 0 {
		t.Errorf("somebody removed the file: got %v", c.Counts)
	}
	// The log never removes its newest file.
	if err := errors.Join(os.WriteFile(file, []byte("\n"), 0o600), os.Remove(filepath.Join(dir, "answered-2026-11-27.jsonl"))); err != nil {
		t.Fatal(err)
	}
	if c := compare(t, a, home, getenv, nil); c.Counts[NotAsked] == 0 || c.Counts[Covered] > 0 {
		t.Errorf("somebody cut the newest file: got %v", c.Counts)
	}
}
