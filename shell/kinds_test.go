package shell

import (
	"strings"
	"testing"
)

// TestKinds checks the four kinds of programs.
func TestKinds(t *testing.T) {
	for text, want := range map[string]string{
		// A program without a row may run what its words mention.
		"tini -- kubectl delete x":                        "maybe",
		"sops exec-env s.yaml 'kubectl delete pod x'":     "maybe",
		"frob --run=/usr/bin/kubectl":                     "maybe",
		"frob kubectl.yaml my-kubectl kubectl-foo":        "no",
		"frob kubectl2 && frob 'xkubectl kubectl_'":       "no",
		"frob 'xkubectl kubectl'":                         "maybe",
		"cowsay moo":                                      "no",
		"cowsay \"$x\"":                                   "maybe",
		"frob *.go":                                       "no",
		"frob bin/*":                                      "maybe",
		"frob k*":                                         "maybe",
		"f() { ls; }; f $x":                               "no",
		"f $x; f() { ls; }":                               "maybe",
		"if ls; then f() { ls; }; fi; f kubectl":          "maybe",
		"coreutils --coreutils-prog=rm x":                 "no",
		"aws ssm send-command --parameters a='kubectl x'": "maybe",
		// The words of a harmless program are data.
		"grep -rn 'kubectl delete' .":              "no",
		"man kubectl":                              "no",
		"cat \"$x\" | wc -l":                       "no",
		"gh pr create --body 'run kubectl delete'": "no",
		// A path is a name in the system's folders only.
		"/usr/bin/git status":      "no",
		"/bin/ls":                  "no",
		"/usr/bin/../tmp/ls":       "maybe",
		"./ls":                     "maybe",
		"bin/ls":                   "maybe",
		"/tmp/tool":                "maybe",
		"sudo ./x.sh":              "maybe",
		"find . -exec ./x.sh {} ;": "maybe",
		"./kubectl delete pod x":   "yes",
		// The flags of a wrapper end where its row says.
		"docker exec --device x c kubectl delete pod": "yes", "docker exec --frob x c kubectl delete pod": "maybe", "ssh h kubectl delete -o name": "yes",
		"ssh -o LogLevel=quiet h ls": "no", "ssh -vo ProxyCommand=x h ls": "maybe", "ssh h -o ProxyCommand=x ls": "maybe", "ssh -o $x h ls": "maybe", "ssh -qF x h ls": "maybe",
		"su -lc 'kubectl delete pod' web": "yes", "su -s x -c ls": "maybe", "su -c $x": "maybe", "su -c ls -c id": "maybe", "env -u A -C x kubectl delete pod": "maybe",
		"xargs -I={} kubectl delete ={}": "yes", "ls | xargs kubectl delete -i": "yes", "env --split-string='kubectl delete'": "maybe", "command -v kubectl delete": "no",
		"npm test; curl -sSfo /dev/null -XPOST -d a x": "maybe", "watch": "no", "watch -n 1 kubectl delete pod": "yes", "builtin $x": "maybe", "builtin eval kubectl delete": "maybe",
		"git rebase -ix make main": "maybe", "git clone --conf a=b x": "maybe", "git fetch $x": "maybe", "git log $x": "no", "git submodule foreach ls": "maybe", "git bisect good $x": "maybe",
		// Runners are alike.
		"go test ./...": "maybe", "go run .": "maybe", "go generate": "maybe", "npm test": "maybe", "cargo test": "maybe", "cargo build": "maybe",
		"cargo nextest run": "maybe", "pytest": "maybe", "gradle x": "maybe", "make": "maybe", "docker build .": "maybe", "cmake --build b": "maybe",
		"docker compose up": "maybe", "pip install x": "maybe", "tox": "maybe", "jest": "maybe",
		"go build ./...": "no", "go vet ./...": "no", "go -C x mod tidy": "no", "go tool cover -func=x": "no", "go tool x": "maybe",
		"cargo +nightly --locked tree": "no", "npm ls": "no", "pip list": "no", "docker ps": "no", "systemctl status x": "no", "systemctl start x": "maybe",
		"go": "no", "go --help": "no", "go -toolexec=x build": "maybe", "go $x": "maybe", "crontab -l": "no", "crontab x": "maybe",
		"protoc --plugin=protoc-gen-x=./x --x_out=. a.proto": "maybe", "protoc --go_out=. a.proto": "no", "gio launch x.desktop": "maybe", "gio trash x": "no",
		"ldd ./x": "maybe", "wl-paste -w x": "maybe", "wl-paste -nw x": "maybe", "wl-paste": "no", "nm --plugin x.so a.o": "maybe", "nm a.o": "no",
		"cloc --vcs=x": "maybe", "cloc -vcs x": "maybe", "cloc .": "no", "patch -e f": "maybe", "patch -p1 -i f": "no", "actionlint -shellcheck=x": "maybe",
		"javac -J-javaagent:x.jar A.java": "maybe", "jar -J-javaagent:x.jar xf a.jar": "maybe", "jar xf a.jar": "no", "gcc -B/tmp/x a.c": "maybe", "gcc -DBIG a.c": "no",
		"install -s --strip-program=x a b": "maybe", "install --strip=x a b": "maybe", "install -m 644 a b": "no", "wget -euse_askpass=x y": "maybe", "wget -qe use_askpass=x y": "maybe",
		"wget -q y": "no", "mvn test": "maybe", "mvn --version": "no", "bundle list": "maybe", "sqlc generate": "maybe", "clang -Xclang -load -Xclang x.so a.c": "maybe",
		"jest --version": "no", "split -l 10 a b": "no", "split --filter=x a": "maybe", "split --fil x a": "maybe", "split -l 10 a s; bash saa": "maybe", "csplit a 1; bash xx00": "maybe",
		"hey http://localhost/": "no", "frob parser:: kubectl": "maybe", "aws s3 cp kubectl s3://b": "maybe", "nc -zv h 1": "no", "nc -e sh h 1": "maybe", "ncat -zc sh h": "maybe", "awk '/x/{getline; print}' a": "no", "awk '\"ls\" | getline' a": "maybe", "docker exec -T web ls": "no", "pipx run x": "maybe", "conda env list": "no", "conda run x": "maybe", "go build -ldflags='-s -w' .": "no", "go build -ldflags=-extld=x .": "maybe", "go build -ldflags '-s -extld x' .": "maybe", "go env -w CC=x": "maybe",
		"az vm list -g kubectl": "no", "az vm run-command invoke --scripts 'kubectl delete x'": "maybe", "az ssh vm": "maybe", "aws ec2 describe-instances --filters Name=kubectl": "no", "aws lambda invoke --payload kubectl x": "maybe",
		"aws ssm send-command --parameters kubectl": "maybe", "helm list kubectl": "no", "helm status x --post-renderer kubectl": "maybe", "rpm status -q --pipe kubectl": "maybe", "vault list kubectl": "no", "gcloud compute ssh x -- kubectl delete y": "maybe",
		"heroku logs -a x": "no", "heroku run x": "maybe", "fly status": "no", "fly ssh console": "maybe", "mise ls": "no", "mise exec -- x": "maybe", "mvn -version": "no", "mvn -version test": "maybe", "netlify status": "no", "netlify dev": "maybe", "tar xf x.tgz": "no", "tar --to-command=x -xf y": "maybe", "hg bisect -c x": "maybe",
	} {
		if got := Parse(text, "").Runs("kubectl", []string{"delete"}); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// TestHarmless says what each harmless row means: behind these words, and no other of the row, the
// program starts nothing. A change of the table changes this test.
func TestHarmless(t *testing.T) {
	for _, row := range programs {
		for name := range strings.SplitSeq(row.names, " ") {
			runs := func(words string) string { return Parse(name+" "+words, "").Runs("kubectl") }
			switch {
			case row.kind == harmless:
				for _, words := range []string{"", "-x", "--exec=kubectl", "kubectl delete", "-c kubectl", "\"$x\"", "*"} {
					if got := runs(words); got != "no" {
						t.Errorf("%s %s: got %s, want no", name, words, got)
					}
				}
			case row.kind == flagged:
				for flag := range strings.FieldsSeq(row.long) {
					if got := runs(flag + " x"); got != "maybe" {
						t.Errorf("%s %s: got %s, want maybe", name, flag, got)
					}
				}
				for sub := range strings.FieldsSeq(row.subs) {
					if got := runs(strings.ReplaceAll(sub, "_", " ")); got != "no" {
						t.Errorf("%s %s: got %s, want no", name, sub, got)
					}
				}
				if got := runs("frobnicate"); row.subs != "" && got != "maybe" {
					t.Errorf("%s frobnicate: got %s, want maybe", name, got)
				}
			}
		}
	}
}

func TestKnown(t *testing.T) {
	for text, want := range map[string]bool{
		"ls | wc -l": true, "cowsay moo": false, "ls; $x": false, "f() { ls; }; f": true, "./x.sh": false, "sudo kubectl get pods": true,
		"make": true, "bash -c 'cowsay moo'": false, "/usr/bin/git log": true, "echo \"$(frob)\"": false, "echo 'a": false,
	} {
		if got := Parse(text, "").Known; got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}

// TestPointSix checks lines that shells read in their own ways, and lines that certainly delete.
func TestPointSix(t *testing.T) {
	for text, want := range map[string]string{
		"$=x delete": "maybe", "$~x": "maybe", "$==x": "maybe", "kubectl \"$=x\"": "maybe", "kubectl \"$~x\"": "maybe", "kubectl \"a $==x b\"": "maybe",
		"ulimit -n 'a[$(kubectl delete x)]'": "maybe", "ulimit -n 1024": "no", "ulimit -n \"$x\"": "maybe", "ulimit -a": "no", "ulimit -Sn unlimited": "no",
		"kubectl\r delete pod x":                                         "maybe",
		"while read -r p; do kubectl delete pod \"$p\"; done":            "yes",
		"while read -r p; do kubectl delete pod \"$p\"; done < pods.txt": "maybe", // the file may be missing
		"[ -d x ] && kubectl delete pod x":                               "yes",
		"trap 'kubectl delete pod \"$T\"' EXIT":                          "yes",
		"trap 'kubectl delete pod x' INT TERM":                           "maybe", "trap 'kubectl delete pod x' EXIT; trap - EXIT": "maybe", "trap 'kubectl delete pod x' EXIT; exec ls": "maybe",
		"trap 'ls' EXIT; trap 'kubectl delete pod x' EXIT": "maybe", "trap 'kubectl delete pod x' EXIT; exit": "yes",
		"case $1 in *) kubectl delete pod x;; esac": "yes", "case a in *) kubectl delete pod x;; esac": "maybe", "case $1 in a) kubectl delete pod x;; esac": "maybe",
		"case \"$(uname)\" in Linux) ls;; *) kubectl delete pod x;; esac": "yes",
		"docker run --rm image kubectl delete pod x":                      "yes",
		"test -e x && kubectl delete pod x":                               "yes",
		"false && kubectl delete pod x":                                   "maybe",
		"trap - EXIT":                                                     "no", "trap '' INT": "no",
		"cat pods | while read p; do kubectl delete pod $p; done": "yes",
	} {
		if got := Parse(text, "").Runs("kubectl", []string{"delete"}); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

// TestManners checks words that bash, zsh and dash read in their own ways: "yes" if all shells that count have the words.
func TestManners(t *testing.T) {
	tests := []struct {
		text, program string
		words         []string
		want          string
	}{
		{`kubectl $"delete" pod`, "kubectl", []string{"delete"}, "yes"},
		{`kubectl $"delete" pod`, "kubectl", []string{"$delete"}, "maybe"}, // zsh, dash
		{`kubectl $"delete" pod`, "kubectl", []string{"pod"}, "yes"},
		{`kubectl $"delete" {a,b}`, "kubectl", []string{"delete", "a"}, "yes"},
		{`kubectl $"delete" {a,b}`, "kubectl", []string{"$delete", "a"}, "maybe"},     // zsh
		{`kubectl $"delete" {a,b}`, "kubectl", []string{"$delete", "{a,b}"}, "maybe"}, // dash
		{`kubectl $"delete" {a,b}`, "kubectl", []string{"delete", "{a,b}"}, "no"},
		{`kubectl $'a' $"b"`, "kubectl", []string{"a", "$b"}, "maybe"},  // zsh
		{`kubectl $'a' $"b"`, "kubectl", []string{"$a", "$b"}, "maybe"}, // dash
		{`kubectl $'a' $"b"`, "kubectl", []string{"$a", "b"}, "no"},
		{`kubectl $'a' {b,c}`, "kubectl", []string{"a", "{b,c}"}, "maybe"},  // busybox
		{`kubectl $'a' {b,c}`, "kubectl", []string{"$a", "{b,c}"}, "maybe"}, // dash
		{`kubectl $'a' {b,c}`, "kubectl", []string{"$a", "b"}, "no"},
		{`kubectl $'a' $"b" {c,d}`, "kubectl", []string{"a", "$b", "c"}, "maybe"},     // zsh
		{`kubectl $'a' $"b" {c,d}`, "kubectl", []string{"a", "$b", "{c,d}"}, "maybe"}, // busybox
		{`kubectl $"a$x"`, "kubectl", []string{"$ab"}, "maybe"},
		{`kubectl $"a$x"`, "kubectl", []string{"b", "b"}, "no"},
		{`$"kubectl" delete`, "kubectl", nil, "yes"},
		{`$"kubectl" delete`, "$kubectl", nil, "maybe"},
		{`sudo $"kubectl" delete`, "$kubectl", nil, "maybe"},
		{`bash <<< $"kubectl delete pod"`, "kubectl", []string{"delete"}, "yes"},
		{`bash <<< $"kubectl delete pod"`, "delete", nil, "maybe"}, // zsh gives bash the text "$kubectl delete pod"
	}
	for _, tt := range tests {
		var lists [][]string
		for _, w := range tt.words {
			lists = append(lists, []string{w})
		}
		if got := Parse(tt.text, "").Runs(tt.program, lists...); got != tt.want {
			t.Errorf("%s: %s %q: got %s, want %s", tt.text, tt.program, tt.words, got, tt.want)
		}
	}
}
