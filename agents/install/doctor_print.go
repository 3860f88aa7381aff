package install

import (
	"fmt"
	"io"
	"strings"
	"time"

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

// limitText returns a text cut to 200 bytes.
func limitText(text string) string { return errtext.CutTo(text, 200, "...") }
