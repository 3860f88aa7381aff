package shell

import (
	"slices"
	"strings"
)

// findActions are the words of find in front of a command.
var findActions = []string{"-exec", "-execdir", "-ok", "-okdir"}

// followFind follows the commands of find.
func followFind(r *reader, j *job) {
	unknown := false // a word of unknown text stands in front
	inside := 0      // the command of an -exec goes on to here
	last := len(j.argv) - 1
	for last > 0 && !j.argv[last].mayBe(";", "+") { // the last word that may end a command
		last--
	}
	longer := append(j.argv[:len(j.argv):len(j.argv)], word{many: true}) // unknown words may become more
	for i := 1; i < len(j.argv) && r.reason == ""; i++ {
		w := j.argv[i]
		switch {
		case w.known && i >= inside && isOneOf(w.text, findActions):
			inside = followAction(r, i, j)
		case w.known && i >= inside && i < len(j.argv)-1 && isOneOf(w.text, []string{"-fprint", "-fprint0", "-fprintf", "-fls"}):
			r.addWrite(j.argv[i+1])
			j.Writes = append(j.Writes, j.argv[i+1].pointer())
			if glob := j.argv[i+1].glob(); glob != "" {
				j.Globs = append(j.Globs, glob)
			}
		case !w.known && w.many && w.open().pattern == "":
			r.setWild() // it may become a whole command
		case !w.known && (i >= inside || unknown) && w.mayBe(findActions...):
			if i+2 <= last && !(j.argv[i+1].known && j.argv[i+1].mayFlag()) {
				r.runQuietly(j.wrap("find", longer[i+1:], false)) // perhaps -exec with a command and its end
			}
		}
		unknown = !w.known && (w.open().pattern == "" || i < inside)
	}
}

// followAction follows the command behind word i, and returns the index of its end.
func followAction(r *reader, i int, j *job) (end int) {
	end = i + 1
	for end < len(j.argv) && j.argv[end].text != ";" && (j.argv[end].text != "+" || j.argv[end-1].text != "{}") {
		end++
	}
	if argv := replaceInput(j.argv[i+1:end], word{text: "{}", known: true}); len(argv) > 0 {
		if end > i+1 && j.argv[end-1].text == "{}" && end < len(j.argv) && j.argv[end].text == "+" {
			argv[len(argv)-1].many = true
		}
		in := j.wrap("find", argv, true)
		in.via = "find -exec"
		folder := r.folder
		if strings.HasSuffix(j.argv[i].text, "dir") {
			r.folder = unknownFolder // that of each file
		} else if !slices.ContainsFunc(j.argv, func(w word) bool { return strings.HasPrefix(w.text, "-files0") }) {
			for at := range argv { // its path begins with one of the folders, which are no flags
				if j.argv[i+1+at].text == "{}" {
					argv[at].ends = &ends{operand: true}
				}
			}
		}
		r.run(in)
		r.folder = folder
	}
	return end
}
