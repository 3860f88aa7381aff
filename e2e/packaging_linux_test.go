package e2e

import (
	"archive/zip"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/starhost/starhost/internal/testbed"
)

const (
	module  = "github.com/starhost/starhost"
	release = "v0.99.0-packaging.1" // a version that nobody publishes
)

// long skips a test that compiles the program with other settings, which takes minutes.
func long(t *testing.T) {
	t.Helper()
	testbed.NeedSet(t, "STARHOST_LONG", "it compiles all packages again")
}

// goRun runs the go command in a folder and returns what it prints.
func goRun(t *testing.T, dir string, env []string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// TestInstall installs a version of the program from a module proxy of this machine, with the
// dependencies of the module cache, and compares the version that it prints.
func TestInstall(t *testing.T) {
	long(t)
	downloads, err := goRun(t, ".", nil, "env", "GOMODCACHE")
	if err != nil {
		t.Fatal(err)
	}
	proxy, bin, cache := t.TempDir(), t.TempDir(), t.TempDir()
	writeProxy(t, filepath.Join(proxy, module, "@v"))
	env := []string{
		"GOPROXY=file://" + proxy + ",file://" + filepath.ToSlash(filepath.Join(downloads, "cache/download")),
		"GOSUMDB=off", "GOFLAGS=-modcacherw", "GOMODCACHE=" + cache, "GOBIN=" + bin, "GOTOOLCHAIN=local", "CGO_ENABLED=0",
	}
	out, err := goRun(t, bin, env, "install", module+"/cmd/starhost@"+release)
	if err != nil && strings.Contains(out, "no such file or directory") {
		t.Skipf("the module cache lacks a dependency: %s", out)
	}
	if err != nil {
		t.Fatalf("go install: %v\n%s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "starhost"), "version")
	cmd.Env = emptyHome(t)
	got, err := cmd.CombinedOutput()
	if want := "starhost " + strings.TrimPrefix(release, "v") + " ("; err != nil || !strings.HasPrefix(string(got), want) {
		t.Errorf("got %s (%v), want it to begin with %s", got, err, want)
	}
}

// TestPackages makes packages of the commit twice, in different surroundings, compares their bytes, and
// installs and removes one in an empty root.
func TestPackages(t *testing.T) {
	long(t)
	clone, root := filepath.Join(t.TempDir(), "clone"), t.TempDir()
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), testbed.Need(t, name), args...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %q: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	run("git", "clone", "-q", "..", clone)
	run("git", "-C", clone, "tag", release)
	var sums []string
	for _, set := range []string{"umask 022", "umask 077; export TZ=Asia/Tokyo LANG=tr_TR.UTF-8 GOMAXPROCS=1"} {
		out := t.TempDir()
		run("bash", "-c", set+`; "$0" "$1" linux/amd64`, filepath.Join(clone, ".ci/package"), out)
		text, err := os.ReadFile(filepath.Join(out, "SHA256SUMS"))
		if err != nil {
			t.Fatal(err)
		}
		if sums = append(sums, string(text)); strings.Count(string(text), "\n") != 3 {
			t.Errorf("got %s, want a tarball, a deb and an rpm", text)
		}
		if len(sums) > 1 || os.Getuid() != 0 {
			continue // only root can install a package
		}
		run("bash", "-c", `mkdir -p "$0/var/lib/dpkg/info" "$0/var/lib/dpkg/updates" && touch "$0/var/lib/dpkg/status"`, root)
		run("bash", "-c", `dpkg --root="$0" --force-script-chrootless -i "$1"/*.deb`, root, out)
		if got := run(filepath.Join(root, "usr/bin/starhost"), "version"); !strings.HasPrefix(got, "starhost "+strings.TrimPrefix(release, "v")+" (commit ") {
			t.Errorf("got %s", got)
		}
		run("bash", "-c", `dpkg --root="$0" -P starhost`, root)
		if left := run("find", root, "-path", "*starhost*", "-not", "-path", "*/dpkg/*"); left != "" {
			t.Errorf("the package leaves %s", left)
		}
	}
	if sums[0] != sums[1] {
		t.Errorf("two runs differ:\n%s\n%s", sums[0], sums[1])
	}
}

// TestModulePaths checks that the names of all files may be in a module, because the go command
// refuses to install a module with others: device names of Windows, and some signs.
func TestModulePaths(t *testing.T) {
	refused := regexp.MustCompile(`(?i)^(con|prn|aux|nul|com\d|lpt\d)(\.|$)|["'*<>?|\\:` + "`" + `]|[. ]$`)
	seen := map[string]string{}
	for _, file := range moduleFiles(t) {
		if first, twice := seen[strings.ToLower(file)]; twice {
			t.Errorf("%s and %s differ in case only", first, file)
		}
		seen[strings.ToLower(file)] = file
		for part := range strings.SplitSeq(file, "/") {
			if refused.MatchString(part) {
				t.Errorf("%s: go install refuses the module: %q is no name on Windows", file, part)
			}
		}
	}
}

// moduleFiles returns the files of the repository.
func moduleFiles(t *testing.T) []string {
	t.Helper()
	list, err := exec.CommandContext(t.Context(), "git", "-C", "..", "ls-files", "-z").Output()
	if err != nil {
		t.Skipf("git ls-files: %v: only a repository says which files belong to the module", err)
	}
	return strings.Split(strings.TrimRight(string(list), "\x00"), "\x00")
}

// writeProxy writes the files of a module proxy for the working tree.
func writeProxy(t *testing.T, dir string) {
	t.Helper()
	files := moduleFiles(t)
	mod, err := os.ReadFile("../go.mod")
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err == nil {
		err = errors.Join(
			os.WriteFile(filepath.Join(dir, "list"), []byte(release+"\n"), 0o644),
			os.WriteFile(filepath.Join(dir, release+".mod"), mod, 0o644),
			os.WriteFile(filepath.Join(dir, release+".info"), []byte(`{"Version":"`+release+`","Time":"2026-01-01T00:00:00Z"}`), 0o644),
			writeZip(filepath.Join(dir, release+".zip"), files),
		)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// writeZip writes the files of the module, without those of modules in it.
func writeZip(name string, files []string) error {
	var inner []string
	for _, f := range files {
		if dir, ok := strings.CutSuffix(f, "/go.mod"); ok {
			inner = append(inner, dir+"/")
		}
	}
	out, err := os.Create(name)
	if err != nil {
		return err
	}
	defer out.Close()
	w := zip.NewWriter(out)
	for _, f := range files {
		src, err := os.ReadFile(filepath.Join("..", f))
		isInner := slices.ContainsFunc(inner, func(dir string) bool { return strings.HasPrefix(f, dir) })
		if isInner || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		entry, err := w.Create(module + "@" + release + "/" + f)
		if err == nil {
			_, err = entry.Write(src)
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(w.Close(), out.Close())
}

// TestImage follows the steps of the Dockerfile in a folder, and starts the program there as the
// image's user: it lists plugins, answers an agent, records the decision and runs golden cases.
func TestImage(t *testing.T) {
	long(t)
	if os.Getuid() != 0 {
		t.Skip("only root can change the root folder")
	}
	root, built := t.TempDir(), t.TempDir()
	var env []string
	var user bool
	image := false // behind the second FROM
	for line := range strings.Lines(readFile(t, "../Dockerfile")) {
		step, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case step == "FROM":
			image = rest == "scratch"
		case step == "RUN" && rest != "go mod download":
			sh := exec.CommandContext(t.Context(), "sh", "-c", strings.NewReplacer("-o /", "-o "+built+"/", "mkdir /", "mkdir "+built+"/").Replace(rest))
			sh.Dir = ".."
			if out, err := sh.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", line, err, out)
			}
		case step == "COPY" && image:
			copyStep(t, root, built, strings.Fields(rest))
		case step == "ENV":
			env = append(env, strings.Fields(rest)...)
		case step == "USER":
			user = rest == "65534:65534"
		}
	}
	if !user || len(env) == 0 {
		t.Fatal("the Dockerfile names no user, or no environment")
	}
	if err := os.CopyFS(filepath.Join(root, "plugins/guard"), os.DirFS("../scripts/guard")); err != nil {
		t.Fatal(err)
	}
	openFolders(t, root)
	const event = `{"session_id":"1","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"rm -rf /srv"}}`
	for _, tt := range []struct{ args, stdin, want string }{
		{"list", "", "plugins/guard"},
		{"hook claude-code", event, "permissionDecision"},
		{"log", "", "pre_tool_call Bash"},
		{"test", "", " passed"},
	} {
		cmd := exec.CommandContext(t.Context(), "/starhost", strings.Fields(tt.args)...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		cmd.Dir, cmd.Env, cmd.Stdin = "/", env, strings.NewReader(tt.stdin)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), tt.want) || strings.Contains(string(out), "denied: ") {
			t.Errorf("%s: got %s (%v), want %q in it", tt.args, out, err, tt.want)
		}
	}
}

// copyStep does a COPY of the image: of a file that was built, of an empty folder, or of
// certificates.
func copyStep(t *testing.T, root, built string, words []string) {
	t.Helper()
	from, to := words[len(words)-2], filepath.Join(root, words[len(words)-1])
	if info, err := os.Stat(built + from); err == nil && info.IsDir() {
		if err := errors.Join(os.Mkdir(to, 0o755), os.Chown(to, 65534, 65534)); err != nil {
			t.Fatal(err)
		}
		return
	} else if err != nil { // the certificates of the build's image
		if err := os.MkdirAll(to, 0o755); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err := errors.Join(os.Rename(built+from, to), os.Chmod(to, 0o755)); err != nil {
		t.Fatal(err)
	}
}

// openFolders lets all users read a folder and the temporary folders above it.
func openFolders(t *testing.T, root string) {
	t.Helper()
	for dir := root; strings.HasPrefix(dir, os.TempDir()+"/"); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
