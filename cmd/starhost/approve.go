package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/near"
	"github.com/starhost/starhost/internal/texttable"
)

// approveWays are the values of --approve.
var approveWays = []string{"ask", "auto", "never"}

// addApprove adds the flag --approve to a command. more are values that the flag accepts besides approveWays.
func addApprove(cmd *cobra.Command, way *string, more ...string) {
	usage := "answers to questions and approvals: `WAY` is ask (at a terminal, else no), auto (yes) or never"
	if len(more) > 0 {
		usage = "answers to questions and approvals: `WAY` is ask (at a terminal, else no), auto (yes), never, or later (the turn waits)"
	}
	cmd.Flags().StringVar(way, "approve", "ask", usage)
}

// An approver answers requests for approval: see [host.Options].
type approver func(context.Context, host.ApprovalRequest) (host.Answer, error)

// newApprover returns the approver for a value of --approve. If the program has no terminal, the approver
// asks nobody, and hints at auto. more are values besides approveWays; for these, it asks nobody.
func (env Env) newApprover(res *Result, way string, more ...string) (approver, error) {
	ways := slices.Concat(approveWays, more)
	if !slices.Contains(ways, way) {
		return nil, usagef("--approve: got %q%s, want %s", way, near.DidYouMean(way, ways), strings.Join(ways, ", "))
	}
	in, ok := env.stdin.(*os.File)
	switch {
	case way == "auto":
		return func(context.Context, host.ApprovalRequest) (host.Answer, error) {
			return host.Answer{Yes: true, By: "auto"}, nil
		}, nil
	case way == "never":
		return func(context.Context, host.ApprovalRequest) (host.Answer, error) {
			return host.Answer{By: "never"}, nil
		}, nil
	case way != "ask":
		return nil, nil
	case !ok || !term.IsTerminal(int(in.Fd())):
		asked := new(atomic.Bool) // atomic, because answers come from goroutines
		res.nobodyAsked = asked
		return func(context.Context, host.ApprovalRequest) (host.Answer, error) {
			asked.Store(true)
			return host.Answer{}, errors.ErrUnsupported
		}, nil
	}
	lines := bufio.NewReaderSize(in, maxAnswer)
	read := func(prompt string) (string, error) { return readAnswer(lines, env.stderr, prompt) }
	return newQuestion(env.stderr, read, false), nil
}

// newQuestion returns an approver that shows a call with its arguments, and each reason with the guard and
// the place, and reads y or n. If mayKeep is true, the answer a counts for the rest of the process, for calls
// of the same tool with the same arguments and for the same reasons. The question says so.
func newQuestion(show io.Writer, read func(prompt string) (string, error), mayKeep bool) approver {
	always := map[string]bool{}
	return func(_ context.Context, r host.ApprovalRequest) (host.Answer, error) {
		key := string(jsontext.Must([]any{r.Plugin, r.Call.Name, string(r.Call.Arguments), r.Reasons}))
		if always[key] {
			return host.Answer{Yes: true, By: "always"}, nil
		}
		fmt.Fprintln(show, texttable.EscapeLine(strings.TrimSpace(r.Plugin+" "+r.Call.Name+" "+string(r.Call.Arguments))))
		for _, reason := range r.Reasons {
			i := slices.IndexFunc(r.Asks, func(d starhost.Decision) bool { return d.Reason == reason })
			if i >= 0 {
				reason = fmt.Sprintf("%s: %s (%s)", r.Asks[i].Plugin, reason, r.Asks[i].Pos)
			}
			fmt.Fprintln(show, "  "+texttable.EscapeLine(reason))
		}
		prompt := "run it? [y/N] "
		if mayKeep {
			fmt.Fprintln(show, "  a = yes, and not asked again for this tool with these arguments and reasons until chat ends")
			prompt = "run it? [y/n/a] "
		}
		line, err := read(prompt)
		answer := strings.ToLower(strings.TrimSpace(line))
		if err != nil {
			answer = "no" // after ctrl-C, ctrl-D and at the end of the input
		}
		always[key] = mayKeep && (answer == "a" || answer == "always")
		return host.Answer{Yes: always[key] || answer == "y" || answer == "yes", By: "person"}, nil
	}
}

// maxAnswer is the most bytes of a line that answers a question.
const maxAnswer = 4 << 10

// readAnswer reads a line of at most maxAnswer bytes. A longer line is an error, and so is the end of the
// input.
func readAnswer(lines *bufio.Reader, out io.Writer, prompt string) (string, error) {
	fmt.Fprint(out, prompt)
	line, err := lines.ReadSlice('\n')
	text := string(line)
	// What is left of a longer line must not answer the next question.
	for failed := err; errors.Is(failed, bufio.ErrBufferFull); {
		_, failed = lines.ReadSlice('\n')
	}
	if errors.Is(err, io.EOF) {
		fmt.Fprintln(out)
	}
	return text, err
}
