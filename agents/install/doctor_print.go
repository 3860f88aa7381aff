package install

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/starhost/starhost/agents/trace"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/texttable"
)

// WriteDiagnoses writes the result of [Doctor.Examine] for a person. home is the person's home folder.
func WriteDiagnoses(w io.Writer, all []Diagnosis, home string) {
	if len(all) == 0 {
		io.WriteString(w, "no agent of this machine has settings\n")
	}
	for i := range all {
		x := &all[i]
		fmt.Fprintf(w, "%s (%s)\n", x.Title, x.Name)
		for i := range x.Lines {
			x.Lines[i].write(w, home)
		}
		for _, p := range x.Problems {
			fmt.Fprintf(w, "  problem: %s\n", texttable.EscapeLine(p))
		}
		if len(x.Lines) > 0 {
			fmt.Fprintf(w, "  grade: %s\n", strings.TrimSpace(x.Grade+" "+x.By))
		}
		for _, f := range x.Found {
			fmt.Fprintf(w, "  found: %s\n", texttable.EscapeLine(f))
		}
		if x.LastAsked != nil {
			fmt.Fprintf(w, "  last asked: %s, %s, answered %s\n", x.LastAsked.Time.Format(time.RFC3339),
				texttable.EscapeLine(limitText(x.LastAsked.Event)), texttable.EscapeLine(limitText(x.LastAsked.Answered)))
		} else if len(x.Lines) > 0 {
			fmt.Fprintf(w, "  last asked: not in the log of the last %d days\n", usageDays)
		}
		if len(x.Unlisted) > 0 {
			fmt.Fprintf(w, "  tools without a kind: %s\n", texttable.EscapeLine(limitText(strings.Join(x.Unlisted, ", "))))
		}
		if x.Calls != nil {
			writeCalls(w, x.Calls, home)
		}
		if len(x.Lines) > 0 {
			fmt.Fprintf(w, "  without starhost: %s\n", x.Missing)
			fmt.Fprintf(w, "  not seen: %s\n", x.Unseen)
		}
	}
}

// write writes what Doctor found out about one line of the settings.
func (l *Line) write(w io.Writer, home string) {
	fmt.Fprintf(w, "  configured: %s:%d (%s)\n", texttable.EscapeLine(errtext.InHome(home, l.Path)), l.Line, l.Scope)
	fmt.Fprintf(w, "  command: %s\n", texttable.EscapeLine(l.Command))
	if l.Canary == "denied" {
		guards := "no guards"
		if len(l.Guards) > 0 {
			guards = "guards: " + strings.Join(l.Guards, ", ")
		}
		fmt.Fprintf(w, "  canary: denied, %s, set %s\n", guards, l.Revision)
	}
	for _, note := range l.Notes {
		fmt.Fprintf(w, "  note: %s\n", texttable.EscapeLine(note))
	}
}

// writeCalls writes what the transcripts of an agent say: the counts, and each call that a person must
// know of.
func writeCalls(w io.Writer, c *trace.Coverage, home string) {
	text := fmt.Sprintf("  calls: %d in the transcripts", c.Calls)
	for _, v := range trace.Verdicts() {
		if n := c.Counts[v]; n > 0 {
			text += fmt.Sprintf(", %d %s", n, v)
		}
	}
	if c.Broken > 0 {
		text += fmt.Sprintf("; %s cannot be read", texttable.Count(c.Broken, "line"))
	}
	io.WriteString(w, text+"\n")
	for i := range c.Findings {
		f := &c.Findings[i]
		line := fmt.Sprintf("%s: %s %s of session %s at %s", f.Verdict, f.Time.Format(time.RFC3339), f.Tool, f.Session, f.Place(home))
		if f.Why != "" {
			line += ": " + f.Why
		}
		fmt.Fprintf(w, "    %s\n", texttable.EscapeLine(line))
	}
	if c.More > 0 {
		fmt.Fprintf(w, "    %d more\n", c.More)
	}
	for _, p := range c.Places {
		fmt.Fprintf(w, "    unread: %s\n", texttable.EscapeLine(fmt.Sprintf("%s, byte %d: %s", errtext.InHome(home, p.File), p.Offset, p.Why)))
	}
}

// limitText returns a text cut to 200 bytes.
func limitText(text string) string { return errtext.CutTo(text, 200, "...") }
