package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/starhost/starhost/internal/texttable"
)

func (a *app) printDoctorPretty(result []diagnosis) error {
	if len(result) == 0 {
		a.out.WriteString("no agent of this machine has settings\n")
	}
	for i := range result {
		x := &result[i]
		fmt.Fprintf(&a.out, "%s (%s)\n", x.agent.Title, x.agent.Name)
		for _, l := range x.lines {
			fmt.Fprintf(&a.out, "  configured: %s:%d (%s)\n", texttable.EscapeLine(a.abbreviateHome(l.path)), l.Line, l.scope)
			fmt.Fprintf(&a.out, "  command: %s\n", texttable.EscapeLine(limitText(l.Text)))
			if l.state == "denied" {
				guards := "no guards"
				if len(l.guards) > 0 {
					guards = "guards: " + strings.Join(l.guards, ", ")
				}
				fmt.Fprintf(&a.out, "  canary: denied, %s, set %s\n", guards, l.revision)
			}
			for _, note := range l.notes {
				fmt.Fprintf(&a.out, "  note: %s\n", texttable.EscapeLine(note))
			}
		}
		for _, p := range x.problems {
			fmt.Fprintf(&a.out, "  problem: %s\n", texttable.EscapeLine(p))
		}
		if grade, by := x.grade(); len(x.lines) > 0 {
			fmt.Fprintf(&a.out, "  grade: %s\n", strings.TrimSpace(grade+" "+by))
		}
		for _, f := range x.found {
			fmt.Fprintf(&a.out, "  found: %s\n", texttable.EscapeLine(f))
		}
		if x.asked != nil {
			fmt.Fprintf(&a.out, "  last asked: %s, %s, answered %s\n", x.asked.Time.Format(time.RFC3339),
				texttable.EscapeLine(limitText(x.asked.Event)), texttable.EscapeLine(limitText(x.asked.Answered)))
		} else if len(x.lines) > 0 {
			fmt.Fprintf(&a.out, "  last asked: not in the log of the last %d days\n", usageDays)
		}
		if len(x.unlisted) > 0 {
			fmt.Fprintf(&a.out, "  tools without a kind: %s\n", texttable.EscapeLine(limitText(strings.Join(x.unlisted, ", "))))
		}
		if len(x.lines) > 0 {
			fmt.Fprintf(&a.out, "  without starhost: %s\n", strings.ReplaceAll(x.agent.Missing, "`", ""))
			fmt.Fprintf(&a.out, "  not seen: %s\n", unseen)
		}
	}
	return nil
}

// limitText returns at most 200 bytes of a text.
func limitText(text string) string {
	if len(text) > 200 {
		return strings.ToValidUTF8(text[:200], "") + "..."
	}
	return text
}

// doctorJSON is the JSON result of hook doctor.
type doctorJSON struct {
	Schema string          `json:"schema"`
	OK     bool            `json:"ok"`
	Agents []diagnosisJSON `json:"agents"`
	Errors []errorJSON     `json:"errors"`
}

type diagnosisJSON struct {
	Name     string         `json:"name"`
	Title    string         `json:"title"`
	Program  string         `json:"program"`
	Lines    []hookLineJSON `json:"lines"`
	Problems []string       `json:"problems"`
	Grade    string         `json:"grade"` // holds, holds unless, can be lifted, or off
	By       string         `json:"by"`    // the agent's lifts that remain
	Found    []string       `json:"found"` // other hooks and plugins, and whatever else could lift the guard
	Unseen   string         `json:"unseen"`
	Missing  string         `json:"missing"` // the agent's behaviour without starhost
	// LastAsked is the agent's newest event in the decision log, null if the last days have none.
	LastAsked *askedJSON `json:"last_asked"`
	Unlisted  []string   `json:"unlisted_tools"` // tools in the log that no row of the agent's table names
}

type askedJSON struct {
	Time     time.Time `json:"time"`
	Event    string    `json:"event"`
	Answered string    `json:"answered"`
}

type hookLineJSON struct {
	Scope    string   `json:"scope"`
	Path     string   `json:"path"`
	Line     int      `json:"line"`
	Command  string   `json:"command"`
	Canary   string   `json:"canary"` // denied, not tried, or failed
	Why      string   `json:"why"`
	Guards   []string `json:"guards"`
	Notes    []string `json:"notes"` // hooks that do less in the agent than elsewhere
	Revision string   `json:"revision"`
}

func (a *app) printDoctorJSON(result []diagnosis) error {
	return a.printJSON(doctorJSON{
		Schema: "starhost.hook-doctor/1", OK: a.code == 0 && len(a.problems) == 0, Errors: a.errorsJSON(),
		Agents: list(result, newDiagnosisJSON),
	})
}

func newDiagnosisJSON(x *diagnosis) diagnosisJSON {
	j := diagnosisJSON{
		Name: x.agent.Name, Title: x.agent.Title, Program: x.program, Lines: list(x.lines, newHookLineJSON),
		Problems: append([]string{}, x.problems...), Missing: strings.ReplaceAll(x.agent.Missing, "`", ""),
		Unlisted: append([]string{}, x.unlisted...),
	}
	j.Grade, j.By = x.grade()
	j.Found, j.Unseen = append([]string{}, x.found...), unseen
	if x.asked != nil {
		j.LastAsked = &askedJSON{x.asked.Time, x.asked.Event, x.asked.Answered}
	}
	return j
}

func newHookLineJSON(l *hookLine) hookLineJSON {
	return hookLineJSON{
		Scope: l.scope, Path: l.path, Line: l.Line, Command: limitText(l.Text), Canary: l.state, Why: l.why,
		Guards: append([]string{}, l.guards...), Notes: append([]string{}, l.notes...), Revision: l.revision,
	}
}
