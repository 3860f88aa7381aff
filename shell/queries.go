package shell

import (
	"slices"
	"strings"
)

// harmlessQueries are the commands of sqlite3 and psql that show something.
const harmlessQueries = " .tables .schema .mode .headers .header .databases .indexes .dump .width .timeout .fullschema .stats " +
	`\d \d+ \dt \dt+ \dn \du \di \df \l \l+ \x \conninfo `

// runningQueries are parts of texts for databases that run a program or read another text.
var runningQueries = []string{"system", "program", "source", "pager", "load_extension", "edit(", "writefile", "readfile"}

// judgeQuery judges the client of a database: some commands in its text run a program.
func judgeQuery(r *reader, name string, args []word) {
	texts := 0
	behindFile := false // for sqlite3
	for _, w := range args {
		switch {
		case !w.known && (w.many || w.mayFlag() || behindFile):
			r.setWild()
		case w.mayFlag() && w.text[1] != '-' && strings.ContainsAny(w.text, "fv"), hasStart(w.text, "--f", "--v", "--p", "-init"):
			r.setWild() // a file, a variable or a pager
		case name == "sqlite3" && !behindFile && !strings.Contains(w.text, " "): // the file
		case !isSafeQuery(w.text):
			r.setWild()
		}
		if behindFile || hasStart(w.text, "-c", "-e", "-l", "--command", "--execute", "--list", "--help") {
			texts++
		}
		behindFile = behindFile || name == "sqlite3" && !w.mayFlag()
	}
	if texts == 0 {
		r.setWild() // the text comes from standard input
	}
}

// isSafeQuery reports whether a text for a database runs no program.
func isSafeQuery(text string) bool {
	lower := strings.ToLower(text)
	if slices.ContainsFunc(runningQueries, func(part string) bool { return strings.Contains(lower, part) }) {
		return false
	}
	first, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	if strings.HasPrefix(first, ".") || strings.HasPrefix(first, `\`) {
		return hasName(harmlessQueries, first) && strings.LastIndexAny(text, "\\\n|") <= 0
	}
	return !strings.Contains(text, `\`) && !strings.Contains(text, "\n.")
}

// hasStart reports whether a text begins with one of the starts.
func hasStart(text string, starts ...string) bool {
	return slices.ContainsFunc(starts, func(start string) bool { return strings.HasPrefix(text, start) })
}
