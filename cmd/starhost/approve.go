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

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/internal/near"
	"github.com/starhost/starhost/internal/texttable"
)

// approveWays are the values of --approve.
var approveWays = []string{"ask", "auto", "never"}

// addApprove adds the flag --approve to a command. more are ways beside approveWays.
func addApprove(cmd *cobra.Command, way *string, more ...string) {
	usage := "answers to questions and approvals: `WAY` is ask (at a terminal, else no), auto (yes) or never"
	if len(more) > 0 {
		usage = "answers to questions and approvals: `WAY` is ask (at a terminal, else no), auto (yes), never, or later (the turn waits)"
	}
	cmd.Flags().StringVar(way, "approve", "ask", usage)
}

// An approver answers requests for approval: see [starhost.Options].
type approver func(context.Context, starhost.ApprovalRequest) (bool, error)

// newApprover returns the approver of a value of --approve. A program without a terminal asks
// nobody. more are ways beside approveWays, in which nobody is asked.
func (a *app) newApprover(way string, more ...string) (approver, error) {
	ways := slices.Concat(approveWays, more)
	if !slices.Contains(ways, way) {
		return nil, usagef("--approve: got %q%s, want %s", way, near.DidYouMean(way, ways), strings.Join(ways, ", "))
	}
	in, ok := a.stdin.(*os.File)
	switch {
	case way == "auto":
		return func(context.Context, starhost.ApprovalRequest) (bool, error) { return true, nil }, nil
	case way != "ask" || !ok || !term.IsTerminal(int(in.Fd())):
		return nil, nil
	}
	lines := bufio.NewReaderSize(in, maxAnswer)
	return func(_ context.Context, r starhost.ApprovalRequest) (bool, error) { return askUser(lines, a.stderr, r) }, nil
}

// maxAnswer is the most bytes of a line that answers a question.
const maxAnswer = 4 << 10

// askUser asks a question at a terminal. A line that begins with y or Y means yes. The end of the
// input and a line that is too long mean no.
func askUser(lines *bufio.Reader, out io.Writer, r starhost.ApprovalRequest) (bool, error) {
	fmt.Fprintf(out, "%s %s: %s [y/N] ", texttable.EscapeLine(r.Plugin), texttable.EscapeLine(r.Call.Name),
		texttable.EscapeLine(strings.Join(r.Reasons, "; ")))
	line, err := lines.ReadSlice('\n')
	yes := err == nil && strings.HasPrefix(strings.ToLower(strings.TrimSpace(string(line))), "y")
	for errors.Is(err, bufio.ErrBufferFull) { // the rest of the line must not answer the next question
		_, err = lines.ReadSlice('\n')
	}
	if errors.Is(err, io.EOF) {
		fmt.Fprintln(out)
		return false, nil
	}
	return yes, err
}
