package shell

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// A scriptCase is a line, the answers that are right, and the files that it runs.
type scriptCase struct {
	name, line string
	want       []string
	files      map[string]string
	links      map[string]bool
}

// scriptCases returns the cases of testdata/scripts.txt, whose first lines describe the form.
func scriptCases(t *testing.T) (list []scriptCase) {
	t.Helper()
	data, err := os.ReadFile("testdata/scripts.txt")
	if err != nil {
		t.Fatal(err)
	}
	var c *scriptCase
	file, attributes := "", ""
	for line := range strings.Lines(string(data)) {
		text := strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "=== "):
			name, want, _ := strings.Cut(text[4:], ": ")
			if i := strings.LastIndex(text, ": "); i > 0 {
				name, want = text[4:i], text[i+2:]
			}
			list = append(list, scriptCase{name: name, want: strings.Split(want, "|"), files: map[string]string{}, links: map[string]bool{}})
			c = &list[len(list)-1]
		case strings.HasPrefix(line, "$ "):
			c.line = text[2:]
		case strings.HasPrefix(line, "> "):
			c.line += "\n" + text[2:]
		case strings.HasPrefix(line, "-- "):
			file, attributes, _ = strings.Cut(text[3:], " ")
			c.files[file] = ""
			c.links[file] = strings.Contains(attributes, "symlink")
			if _, n, ok := strings.Cut(attributes, "pad="); ok {
				size := 0
				_, _ = fmt.Sscan(n, &size)
				for len(c.files[file]) < size {
					c.files[file] += strings.Repeat("# padding, padding, padding, padding\n", 100)
				}
			}
			if strings.Contains(attributes, "unreadable") {
				delete(c.files, file)
			}
		case strings.HasPrefix(line, "| "):
			if _, ok := c.files[file]; !ok {
				break
			}
			switch text = text[2:]; {
			case strings.Contains(attributes, "escaped"):
				var out strings.Builder
				for text != "" {
					code := 0
					switch {
					case strings.HasPrefix(text, `\x`):
						_, _ = fmt.Sscanf(text[2:4], "%x", &code)
						out.WriteByte(byte(code))
						text = text[4:]
					case strings.HasPrefix(text, `\n`):
						out.WriteByte('\n')
						text = text[2:]
					default:
						out.WriteByte(text[0])
						text = text[1:]
					}
				}
				c.files[file] += out.String()
			case strings.Contains(attributes, "crlf"):
				c.files[file] += text + "\r\n"
			default:
				c.files[file] += text + "\n"
			}
		}
	}
	return list
}

// read returns a file of a case.
func (c scriptCase) read(name string) (string, bool) {
	text, ok := c.files[name]
	if ok && c.links[name] {
		return c.read(path.Join(path.Dir(name), strings.TrimSpace(text)))
	}
	return text, ok
}

// TestScripts checks the answers for lines that run scripts: never a wrong one, and the certain ones
// certain in most cases.
func TestScripts(t *testing.T) {
	list := scriptCases(t)
	exact := 0
	for _, c := range list {
		got := ParseWith(c.line, Options{Read: c.read}).Runs("kubectl", []string{"delete"})
		switch {
		case got == c.want[0]:
			exact++
		case !slices.Contains(c.want, got) && got != "maybe":
			t.Errorf("%s: %q: got %s, want %s", c.name, c.line, got, strings.Join(c.want, " or "))
		case !slices.Contains(c.want, got):
			t.Logf("%s: %q: got %s, want %s", c.name, c.line, got, strings.Join(c.want, " or "))
		}
		if without := Parse(c.line, "").Runs("kubectl", []string{"delete"}); without == "no" && !slices.Contains(c.want, "no") {
			t.Errorf("%s: %q: got no without files", c.name, c.line)
		}
	}
	t.Logf("%d of %d have the best answer", exact, len(list))
}

// TestScriptsFolder checks that nobody answers by a script of one folder when the line runs that of another,
// of another machine, or one that the line may have changed.
func TestScriptsFolder(t *testing.T) {
	files := map[string]string{"/w/x.sh": "#!/bin/sh\nls\n", "/w/sub/x.sh": "#!/bin/sh\nls\n", "/w/package.json": `{"scripts":{"b":"ls"}}`}
	read := func(name string) (string, bool) { text, ok := files[name]; return text, ok }
	for want, lines := range map[string]string{
		"no": `./x.sh
			bash x.sh
			npm run b
			cd sub && ./x.sh
			(cd sub); npm run b
			cd sub; cd ..; npm run b
			cd sub | ls; ./x.sh
			bash -c 'cd sub'; ./x.sh
			bash < x.sh
			cd sub; bash -c ./x.sh
			for i in 1 2; do ./x.sh; done
			env A=b ./x.sh
			sudo -u u ./x.sh
			f() { ./x.sh; }; f
			awk '{ print $1 }' a; ./x.sh
			kubectl get pods; ./x.sh
			docker ps; ./x.sh
			curl -sf http://localhost/health; ./x.sh
			curl -o a.txt http://a; ./x.sh
			tar czf /tmp/x.tgz logs && ./x.sh
			aws s3 ls; ./x.sh
			bash ../w/x.sh
			find . -exec npm run b \;`,
		"maybe": `env -C sub ./x.sh
			curl -o x.sh http://a; ./x.sh
			curl -O http://a/x.sh; ./x.sh
			curl -K f http://a; ./x.sh
			tar xzf a.tgz && ./x.sh
			tar czf x.sh logs && ./x.sh
			aws s3 cp s3://a/x . && ./x.sh
			tar "$a" b; ./x.sh
			env --chdir=sub ./x.sh
			env --chdir sub npm run b
			sudo -D sub npm run b
			sudo --chdir=sub ./x.sh
			sudo -i ./x.sh
			sudo -R /c ./x.sh
			su - root -c ./x.sh
			su -l -c 'npm run b'
			ssh h npm run b
			ssh h /w/x.sh
			ssh h "bash -c './x.sh'"
			ssh h <<< ./x.sh
			docker exec c npm run b
			docker exec c /w/x.sh
			docker run -w /w i bash x.sh
			kubectl exec p -- npm run b
			kubectl exec p -- bash x.sh
			trap 'npm run b' EXIT; cd sub
			f() { npm run b; }; cd sub; f
			bash sub/../x.sh
			cd sub; bash ../x.sh
			bash ../../w/../w/x.sh
			ls | cd sub; npm run b
			for i in 1 2; do npm run b; cd sub; done
			while ls; do npm run b; cd sub; done
			g() { cd sub; }; for i in 1 2; do npm run b; g; done
			find . -execdir npm run b \;
			docker cp c:/a .; ./x.sh
			kubectl cp p:/a .; ./x.sh
			helm pull x --untar; ./x.sh
			ar x a.a; ./x.sh
			protoc --x_out=. a; ./x.sh
			awk '{ print > $1 }' a; ./x.sh
			yt-dlp x; ./x.sh
			rpm -i a; ./x.sh
			CDPATH=/z cd sub; ./x.sh
			cd -; ./x.sh
			cd "$d"; ./x.sh
			docker service update --args 'kubectl delete x' s
			kubectl kustomize --helm-command ./y
			kubectl kustomize --enable-exec .`,
	} {
		for line := range strings.Lines(lines) {
			line = strings.TrimSpace(line)
			if got := ParseWith(line, Options{Read: read, Folder: "/w"}).Runs("oc", []string{"delete"}); got != want {
				t.Errorf("%s: got %s, want %s", line, got, want)
			}
		}
	}
}
