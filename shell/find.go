package shell

import (
	"slices"
	"strings"
)

// findActions are the words of find in front of a command.
const findActions = " -exec -execdir -ok -okdir "

// findPrinters are words of find in front of a file that it writes.
const findPrinters = " -fprint -fprint0 -fprintf -fls "

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
		case w.known && i >= inside && hasName(findActions+findPrinters, w.text):
			inside = followAction(r, i, j)
		case !w.known && w.many && w.open().pattern == "":
			r.setWild() // it may become a whole command
		case !w.known && (i >= inside || unknown) && w.mayBe(strings.Fields(findActions)...):
			if i+2 <= last && !(j.argv[i+1].known && j.argv[i+1].mayFlag()) {
				r.runQuietly(j.wrap("find", longer[i+1:], false)) // perhaps -exec with a command and its end
			}
		}
		unknown = !w.known && (w.open().pattern == "" || i < inside)
	}
}

// followAction follows the command behind word i, and returns the index of its end.
func followAction(r *reader, i int, j *job) (end int) {
	if end = i + 1; end < len(j.argv) && hasName(findPrinters, j.argv[i].text) {
		r.addWrite(j.argv[end])
		j.targets.add(j.argv[end], false, true)
		return end + 1
	}
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
