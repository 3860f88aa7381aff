package shell

import (
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestTable checks that the table names each program once.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, row := range programs {
		for name := range strings.SplitSeq(row.names, " ") {
			if name == "" || seen[name] {
				t.Errorf("%q has two rows, or a row has two spaces", name)
			}
			seen[name] = true
		}
		if row.subs != "" && (row.subs[0] != ' ' || row.kind != flagged && row.kind != packages) {
			t.Errorf("%s: want subcommands between spaces, and the kind flagged", row.names)
		}
	}
}

func TestRuns(t *testing.T) {
	tests := []struct{ text, want string }{
		{`kubectl delete pod x`, "yes"},
		{`Start-Process kubectl -ArgumentList delete`, "maybe"},
		{`ls | %{kubectl delete pod $_}`, "maybe"},
		{`%COMSPEC% /c kubectl delete`, "maybe"},
		{`@kubectl delete pod`, "maybe"},
		{`time time -- kubectl delete | x`, "maybe"},
		{`ls &>f a=b kubectl delete`, "maybe"},
		{`ls &>f sudo kubectl delete`, "maybe"},
		{`ls &>f echo kubectl delete`, "no"},
		{`time -- kubectl delete | x | y`, "maybe"},
		{"[[ ! #c ||\n! kubectl delete ]]", "maybe"},
		{"[[ a == #$(cat <<E) ]]\nkubectl delete\nE", "maybe"},
		{"[[ $a == '#'* && $# == 1 ]]; kubectl get", "no"},
		{`kubectl -n prod delete pod x`, "yes"},
		{`kubectl get pods`, "no"},
		{`echo kubectl delete`, "no"},
		{`"kubectl" 'delete' x`, "yes"},
		{`k\ubectl del""ete`, "yes"},
		{`$'\x6bubectl' delete`, "yes"},
		{`{kubectl,delete,pod}`, "yes"},
		{`{kubectl,x{-n,delete}}`, "no"},
		{`{kubectl,{-n,delete}}`, "yes"},
		{`{,kubectl}" "delete`, "maybe"}, // a program " delete" gets a word that mentions kubectl
		{`sudo -u root env A=b nice -n 5 kubectl delete x`, "yes"},
		{`bash -lc 'kubectl delete x'`, "yes"},
		{"bash <<'EOF'\nkubectl delete x\nEOF", "yes"},
		{`bash <<< 'kubectl delete x'`, "yes"},
		{`eval "kubectl delete x"`, "yes"},
		{`echo $(kubectl delete x)`, "yes"},
		{`echo "$(kubectl delete x)"`, "yes"},
		{"echo `kubectl delete x`", "yes"},
		{`f() { kubectl delete x; }; f`, "yes"},
		{`f() { kubectl delete x; }`, "no"},
		{`f() { :; } && kubectl delete x`, "maybe"},
		{`f() { :; } | g | kubectl delete x`, "maybe"},
		{`kubectl $verb pod`, "maybe"},
		{`kubectl "$verb" pod`, "maybe"},
		{`kubectl "get" "$pod"`, "maybe"},
		{`$k delete`, "maybe"},
		{`$x kubectl delete`, "maybe"},
		{`timeout ${T:-5} kubectl delete`, "maybe"},
		{`echo a | xargs kubectl`, "maybe"},
		{`echo a | xargs kubectl delete`, "yes"},
		{`echo aGk= | base64 -d | sh`, "maybe"},
		{`find . -name x -exec kubectl delete {} \;`, "yes"},
		{`ssh host kubectl delete x`, "yes"},
		{`python3 -c 'import pty'`, "maybe"},
		{`PATH=. kubectl delete`, "maybe"},
		{`export PATH=$PATH:/x; ls`, "maybe"},
		{`kubectl () { :; }; kubectl delete`, "maybe"},
		{`exit 0; kubectl delete`, "maybe"},
		{`cd /srv && kubectl delete x`, "yes"},
		{`command -v kubectl && echo delete`, "no"},
		{`git commit -m "kubectl delete"`, "no"},
		{`echo "unterminated`, "maybe"},
		{`while IFS= read -r line; do echo "$line"; done < f`, "no"},
		{`i=0; i=$((i+1)); echo $i`, "no"},
		{`echo $((x))`, "maybe"},
		{`cat <<EOF > f` + "\nkubectl delete\nEOF", "no"},
		{`kubectl exec pod -- kubectl delete x`, "yes"},
		{`coproc kubectl delete x`, "yes"},
		{`coproc a=b kubectl delete x`, "maybe"},
		{`kubectl {delete,x}`, "yes"},
		{`kubectl get "$x" {a,b}`, "maybe"},
		{`! kubectl delete x`, "yes"},
		{`time kubectl delete x`, "yes"},
		{`/usr/local/bin/kubectl delete`, "yes"},
		{`if kubectl delete x; then :; fi`, "yes"},
		{`sed -i 's/a/b/g' f`, "no"},
		{`awk '{print $1}' f`, "no"},
		{`cp /usr/bin/kubectl k; ./k delete`, "maybe"},
		{"ls # a \\\nkubectl delete x", "maybe"},
		{"ls # a \\\r\nkubectl delete x", "maybe"},
		{"# a\\\nkubectl delete x", "yes"},
		{"ls;# 'a' \\\nkubectl delete x", "yes"},
		{"echo \"$(ls # a\\\nkubectl delete x)\"", "maybe"},
		{"bash -c 'ls # a\\\nkubectl delete x'", "maybe"},
		{"bash <<E\nls # a\\\\\nkubectl delete x\nE", "maybe"},
		{"cat <<'E' \\\n# a\\\nE\nkubectl delete x", "maybe"},
		{"cat <<'E'\n# a\\\nE\nkubectl delete x", "yes"},
		{"kubectl &\\\n>f delete x", "maybe"},
		{"echo \"$\\\n(kubectl delete x)\"", "maybe"},
		{"echo $\\\n(kubectl delete x)", "maybe"},
		{"cat <<E\n$\\\n(kubectl delete x)\nE", "maybe"},
		{"cat <<E\nE\\\n\nkubectl delete x\nE", "maybe"},
		{"ls \\\r\nkubectl delete x", "maybe"},
		{"cat <<E\r\nE\necho '\nE\r\nkubectl delete x\n'", "maybe"},
		{"x=$(cat <<E\na\nE\nkubectl get; delete x)", "maybe"},
		{"cat <(cat <<E\nE\nkubectl get; delete x)", "maybe"},
		{"x=\"$(cat <<E | { wc; }\nE\nkubectl get; delete x)\"", "maybe"},
		{"cat <<E\n$(cat <<F\nF\nkubectl get; delete x)\nE", "maybe"},
		{"x=$(if true; then cat <<E\nE\nkubectl get; delete x; fi)", "maybe"},
		{"x=$(cat <<E\nE\necho a; kubectl delete x)", "maybe"},
		{"bash -c 'x=$(cat <<E\nE\nkubectl get; delete x)'", "maybe"},
		{"x=`cat <<E\nE\nkubectl get; delete x`", "no"},
		{"git commit -m \"$(cat <<'E'\na; b\nE\n)\"; kubectl get", "no"},
		{"x=$(cat <<E\na; b\nE\nkubectl get\ndelete x)", "no"},
		{"ls &&\\\nkubectl get x |\\\n  wc -l", "no"},
		{"curl -X POST \\\n  -H \"a: $b\" \\\n\t-d 'x' \\\nhttp://h", "no"},
		{"echo \"a\\\nb $x \\\nc\"", "no"},
		{"cat > f <<E\nRUN a \\\n && b $c \\\n# d \\\n e\nE", "no"},
		{"gh pr create --title 'Fix #12' \\\n --body \"a # b\" \\\n --draft", "no"},
		{"cat > f <<'E'\nRUN a \\\n # b \\\n c\nE", "no"},
	}
	for _, tt := range tests {
		got := Parse(tt.text, "").Runs("kubectl", []string{"delete"})
		if got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.text, got, tt.want)
		}
	}
}

func TestCommands(t *testing.T) {
	s := Parse("sudo -u root A=b rm -rf --x=y -- /a -b > out < in | tee log", "")
	if !s.OK || s.Unknown || len(s.Commands) != 2 {
		t.Fatalf("got %+v", s)
	}
	c := s.Commands[0]
	flags, args := c.Split()
	got := []string{
		*c.Name, strings.Join(texts(flags), " "),
		strings.Join(texts(args), " "), strings.Join(c.Wrappers, " "), c.Via,
	}
	want := []string{"rm", "-rf --x=y", "/a -b", "sudo", "pipe"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestUnknown checks that a list of allowed names sees every program, also those that only dash
// runs.
func TestUnknown(t *testing.T) {
	for text, want := range map[string]bool{
		"python3 -m json.tool x": false, "python3 -m pytest tests": true, "cat -m pytest; $x": true,
		"ls | wc -l":                          false,
		"sudo -u a env B=c nice ls":           false,
		"for f in a b; do time ls $f; done":   false,
		"f() { ls; }; f; bash -c 'ls && pwd'": false,
		"GIT_PAGER=cat git log":               false,
		"find . -exec ls {} + | xargs wc":     false,
		"$x ls":                               true,
		"echo a &> f rm x":                    true,
		"[[ a == b || rm ]]":                  true,
		"{ls,rm}":                             true,
		"PATH=. ls":                           true,
		"alias ls=rm":                         true,
		"kubectl exec a -- ls":                false,
	} {
		if got := Parse(text, "").Unknown; got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}

// TestEachWordIsVisitedOnce checks that words which dash reads in another way, or which braces
// multiply, are not visited again at each level.
func TestEachWordIsVisitedOnce(t *testing.T) {
	const depth = 14
	for _, n := range []struct{ open, closing string }{
		{"[[ a || $(", ") ]]"}, {"(( $(", ") ))"}, {"time $(", ")"}, {"a &>b $(", ")"}, {"{a,b}$(", ")"}, {"$'a'$(", ")"}, {`"${a:-"$(`, `)"}"`}, {`$"$(`, `)"`},
		{"f(){ :;}&&", ""}, {"function f { :\n}&&", ""},
	} {
		text := strings.Repeat(n.open, depth) + "a" + strings.Repeat(n.closing, depth)
		if s := Parse(text, ""); !s.OK || s.Nodes > 1000 || len(s.Commands) > 4*depth {
			t.Errorf("%q: %d nodes and %d commands for %d levels", n.open, s.Nodes, len(s.Commands), depth)
		}
	}
	if s := Parse("{"+strings.Repeat("a,", 500)+"a}$("+strings.Repeat("a;", 5000)+")", ""); s.Nodes > 50_000 {
		t.Errorf("a command behind braces: %d nodes", s.Nodes)
	}
	for text, want := range map[string]string{
		"ls &> f kubectl &> g delete": "no", "ls &> f x &> g kubectl delete": "maybe", "ls &> f kubectl x &> g y": "no",
		"sudo kubectl delete": "yes", strings.Repeat("sudo ", 150) + "kubectl delete": "maybe",
	} {
		if got := asksDelete(text); got != want {
			t.Errorf("%.40q: got %s, want %s", text, got, want)
		}
	}
}

// TestRunsIsLinear checks that an answer does not multiply the length of its arguments with the
// number of commands, and that long lists of alternatives mean the same as short ones.
func TestRunsIsLinear(t *testing.T) {
	s := Parse(strings.Repeat("A;", 200), "")
	program := strings.Repeat("B", 64<<10)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s.Runs(program)
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
		t.Errorf("a name of 64 KiB and 200 commands: %d bytes", got)
	}
	list := []string{"delete"}
	for i := range 100 {
		list = append(list, strings.Repeat("x", i))
	}
	for text, want := range map[string]string{"kubectl delete": "yes", "kubectl x": "yes", "kubectl get": "no", "kubectl $v": "maybe"} {
		if got := Parse(text, "").Runs("kubectl", list); got != want {
			t.Errorf("%s with %d alternatives: got %s, want %s", text, len(list), got, want)
		}
	}
}

// TestDangerousForms checks forms that few other texts have.
func TestDangerousForms(t *testing.T) {
	for text, want := range map[string]string{
		"AWS_PAGER='kubectl delete' aws x": "maybe", "x_PAGER=a ls": "maybe", "AWS_PAGER=cat ls": "no", "XPAGE=a ls": "no",
		"shopt -s expand_aliases; ls": "maybe", "shopt -s nullglob; ls": "no", "shopt -s $x; ls": "maybe", "shopt -u extglob; ls": "maybe",
		"git --config-env=core.pager=X log": "maybe", "git --config-env core.pager=X log": "maybe", "git --exec-path=. log": "maybe", "git --no-pager log": "no",
		"sed --expression p f": "no", "sed --expression e f": "maybe", "sed -ne p f": "no", "sed -ne e f": "maybe", "sed -ie e f": "maybe", "sed -ie p f": "no", "sed -nE e f": "maybe",
		"mysql --default-character-set=utf8 -e 'select 1' db": "no", `psql -c 'select 1' "db$x"`: "no",
		"rsync --delete a b": "no", "awk -F '|' '{print $1}' f": "no", "sudo --xyz kubectl delete x": "maybe",
		"\\\nkubectl delete x": "yes", "export $x; kubectl delete x": "maybe", "set -e; ! true; kubectl delete x": "maybe",
		"ssh host": "maybe", "ssh host <<E\nkubectl delete\nE": "yes", "bash 2> f <<E\nkubectl get\nE": "no",
		"bash <<E\nread x < f\nkubectl get\nE": "no", "bash <<E\nls | head -n 5\nkubectl get\nE": "no", "bash <<E\nhead f\nkubectl get\nE": "no",
	} {
		if got := asksDelete(text); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	for _, program := range []string{"ls", "/bin/ls"} {
		if got := Parse(`kubectl "$verb" pod -- ls`, "").Runs(program); got != "maybe" {
			t.Errorf("%s: got %s, want maybe", program, got)
		}
	}
	for script, want := range map[string]string{ // sed's
		"1,$!p": "no", "/a/d": "no", "/a/,/b/p": "no", "{p;d}": "no", "1{ p; d }": "no", "/a\\/b/p": "no", "/[a]/p": "no", "=": "no",
		"5": "maybe", "/a": "maybe", "/a\\": "maybe", "/[a/p": "maybe", "/[/]/p": "maybe", "0~3p": "maybe", "\\cacp": "maybe",
		"s/a/b/": "no", "s/a/b/gp2": "no", "s|/a|b|I": "no", "s/a/b/;p": "no", "s/a/b/ }": "no", "s/a\\/b/c/": "no", "y/ab/cd/": "no", "s,a,b,;s,c,d,": "no",
		"s": "maybe", "s/": "maybe", "s/a": "maybe", "s/a/b": "maybe", "s\\a\\b\\": "maybe", "s/[/]/b/e": "maybe",
		"s/a/b/e": "maybe", "s/a/b/ge": "maybe", "s/a/b/w f": "maybe", "s/a/b/gw f": "maybe", "y/a/b/e": "maybe",
		"a text e": "no", "a\\\ntext": "maybe", "a\\\np": "no", "i x\ne id": "maybe", "p\np": "no",
		"e": "maybe", "1e id": "maybe", "w f": "maybe", "r f": "maybe", "p;w f": "maybe", "{e id": "maybe", "n;N;D;P;h;H;g;G;x;q": "no", "b x": "maybe",
	} {
		text := "sed '" + script + "' f"
		if got := asksDelete(text); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"sed -e p -e e f": "maybe", "sed -e p -e d f": "no", "sed p e": "no", "sed $x f": "maybe", "sed p $x": "maybe", "sed p f-$x": "maybe",
		"sed -f a": "maybe", "sed --version": "no", "sed": "no", "sed -n": "no", "sed -i.bak e f": "maybe", "sed -i.bak p f": "no",
	} {
		if got := asksDelete(text); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// texts returns the words of a command, "?" for an unknown one.
func texts(words []*string) []string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = "?"
		if w != nil {
			list[i] = *w
		}
	}
	return list
}

// hostileUnits are texts that are dear if there are many of them.
var hostileUnits = []string{
	"(", "((", "( (", "{ ", "$(", "`", "\"$(", "$((", "${a:-", "<(", "if ", "while ", "case x in a) ", "f() ", "! ", "time ",
	"coproc ", "{a,", "{a,b}", "[[ (", "[[ ! ", "$((a[", "((-", "((1?", "<<A\n", "$(<<A\n", "a[", "${a[", "a=(", "+(", "((~", "a|",
	"a&&", "a;", "a\n", "time -p ", "for x in a;do ", "x={", "$[", "${a/", "\"${a:-", "(a;", "((a)) ", "function f ", "> a ",
	"a <<-A;", "let a[", "a ", "$a", "'a'", "\"a\"", "\\", "sudo ", "eval ", "sh -c '", "xargs ", "env ", "{1..9}", "$(())", "((1));",
	"f(){ f; };", "f(){ :; };f;", "case a in b) c;; esac;", "a=b ", "[ ", "~", "*", "\x00", "\xff", "é", "#", "$'\\x41'", "$'\\'", "a{b,c}d ", "{}", "$a{}",
	"find -exec ", "awk a;", "sed s/a/b/;", "$'a' ", "git -c a ", "eval 'eval a';",
}

// TestHostile checks that the work for hostile texts grows with their length only. Goal P8 bounds
// the time.
func TestHostile(t *testing.T) {
	for _, unit := range hostileUnits {
		text := strings.Repeat(unit, maxBytes/len(unit))
		start := time.Now()
		s := Parse(text, "")
		s.Runs("kubectl", []string{"delete"})
		t.Logf("%q: %v", unit, time.Since(start))
		if s.Nodes > 8*len(text) || s.OK == (s.Reason != "") {
			t.Errorf("%q: %d nodes for %d bytes, reason %q", unit, s.Nodes, len(text), s.Reason)
		}
	}
}

// TestRedirections checks the files of commands that are not simple.
func TestRedirections(t *testing.T) {
	for text, want := range map[string]string{
		"cat < a > b":                           "cat a b",
		"{ cat; ls; } < a > b":                  "cat a b, ls  ",
		"while read -r l; do ls; done < a":      "read a , ls  ",
		"(cat < c) < a":                         "cat c a ",
		"> b":                                   ":  b",
		"x=1 > b":                               ":  b",
		"[[ x ]] > b":                           ":  b",
		"export x=1 > b":                        "export  b",
		"if true; then ls; fi > b":              "true  b, ls  ",
		"f() { cat; } < a; f":                   "cat a , f  ",
		"echo $(< a)":                           ": a , echo  ",
		"for i in 1; do echo; done > \"$HOME\"": "echo  ?",
	} {
		var got []string
		for _, c := range Parse(text, "").Commands {
			got = append(got, *c.Name+" "+joinFiles(c.Reads)+" "+joinFiles(c.Writes))
		}
		slices.Sort(got)
		list := strings.Split(want, ", ")
		slices.Sort(list)
		if !slices.Equal(got, list) {
			t.Errorf("%q: got %q, want %q", text, got, list)
		}
	}
}

// joinFiles joins the names of files, with "?" for an unknown one.
func joinFiles(files []*string) string {
	var names []string
	for _, f := range files {
		if f == nil {
			names = append(names, "?")
		} else {
			names = append(names, *f)
		}
	}
	return strings.Join(names, " ")
}
