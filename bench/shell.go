package main

import (
	"errors"
	"strings"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"github.com/starhost/starhost/shell"
)

// sixCommands is a line as an agent writes it.
const sixCommands = `cd /srv/app && git pull --rebase origin main | tee pull.log; sudo -u app env NODE_ENV=production timeout 60 ./bin/migrate --yes ` +
	`&& kubectl -n prod rollout restart "deploy/$name" > /dev/null 2>&1 || echo "failed: $(date)"`

// hostileUnits are the units of texts of 64 KiB that make a careless analysis slow.
var hostileUnits = []string{
	"(", "((", "{ ", "$(", "`", "\"$(", "$((", "${a:-", "<(", "if ", "while ", "case x in a) ", "f() ", "! ", "time ", "coproc ", "{a,", "{a,b}",
	"{}", "$a{}", "[[ (", "((-", "<<A\n", "a[", "a=(", "+(", "a|", "a&&", "a;", "a\n", "x={", "function f ", "> a ", "a ", "$a", "'a'", "\\", "sudo ",
	"eval ", "sh -c '", "xargs ", "env ", "$(())", "((1));", "f(){ f; };", "f(){ :; };f;", "case a in b) c;; esac;", "a=b ", "é", "a{b,c}d ", "awk a;", "sed s/a/b/;",
	"$'a' ", "git -c a ", "find -exec ", "eval 'eval a';",
}

// shellTexts compares the analysis of a command line with the parser alone, and times hostile
// texts.
func shellTexts(r *rig) {
	analyse := loop(func() {
		if !shell.Parse(sixCommands, "").OK {
			try(errors.New("shell.Parse refuses the line of six commands"))
		}
	})
	parse := loop(func() { must(syntax.NewParser().Parse(strings.NewReader(sixCommands), "")) })
	r.compare(claim{"P8", "analysis of six commands, by the parser alone", atMost(3.5)}, analyse, parse)
	r.figure(claim{"P8", "slowest of 64 KiB of any pair of words", atMost(100).withUnit("ms")}, float64(r.slowestPair().Microseconds())/1000)
}

// slowestPair searches all pairs of units for a text of 64 KiB that takes long.
func (r *rig) slowestPair() (slowest time.Duration) {
	n := 0
	for _, a := range hostileUnits {
		for _, b := range hostileUnits {
			if n++; r.quick && n%100 != 0 {
				continue
			}
			text := strings.Repeat(a+b, (64<<10)/len(a+b))
			if timeOf(text) > slowest {
				slowest = max(slowest, min(timeOf(text), timeOf(text), timeOf(text)))
			}
		}
	}
	return slowest
}

func timeOf(text string) time.Duration {
	start := time.Now()
	shell.Parse(text, "").Runs("kubectl", []string{"delete"})
	return time.Since(start)
}
