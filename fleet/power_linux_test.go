package fleet_test

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/starhost/starhost/fleet"
	"github.com/starhost/starhost/internal/testbed"
	"github.com/starhost/starhost/report"
)

// A node is a file or a folder of a file system that loses its power. What was not flushed may be lost: the bytes
// of a file, and the names in a folder.
type node struct {
	isDir                bool
	entries, syncedNames map[string]*node
	content, syncedBytes string
}

func newFolder() *node {
	return &node{isDir: true, entries: map[string]*node{}, syncedNames: map[string]*node{}}
}

// sync flushes a node.
func (n *node) sync() { n.syncedNames, n.syncedBytes = maps.Clone(n.entries), n.content }

// A powered is a file system below a folder.
type powered struct {
	t    *testing.T
	base string
	root *node
}

// newPowered reads a folder, all of which is flushed.
func newPowered(t *testing.T, base string) *powered {
	p := &powered{t, base, newFolder()}
	err := filepath.WalkDir(base, func(name string, d os.DirEntry, err error) error {
		if err != nil || name == base {
			return err
		}
		n := newFolder()
		if !d.IsDir() {
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			n = &node{content: string(text)}
		}
		folder, last := p.find(name)
		folder.entries[last] = n
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	p.each(p.root, (*node).sync)
	return p
}

// find returns the folder of a name, and the last part of it.
func (p *powered) find(name string) (*node, string) {
	p.t.Helper()
	rel, err := filepath.Rel(p.base, name)
	if err != nil || !filepath.IsLocal(rel) {
		p.t.Fatalf("%s is not below %s", name, p.base)
	}
	n, parts := p.root, strings.Split(rel, "/")
	for _, part := range parts[:len(parts)-1] {
		if n = n.entries[part]; n == nil {
			p.t.Fatalf("%s is in no folder", name)
		}
	}
	return n, parts[len(parts)-1]
}

// each calls f for a node and all that were or are in it.
func (p *powered) each(n *node, f func(*node)) {
	f(n)
	for _, names := range []map[string]*node{n.entries, n.syncedNames} {
		for _, name := range slices.Sorted(maps.Keys(names)) {
			p.each(names[name], f)
		}
	}
}

// A step is a system call that changed the file system.
type step struct {
	call string
	args []string // paths, and the bytes of a write
}

// apply does a step. It reports whether something changed.
func (p *powered) apply(s step) bool {
	if s.args[0] == p.base { // only a flush names it
		p.root.sync()
		return true
	}
	folder, last := p.find(s.args[0])
	n := folder.entries[last]
	switch s.call {
	case "create":
		if n != nil {
			return false
		}
		folder.entries[last] = &node{}
	case "truncate":
		n.content = ""
	case "write":
		n.content += s.args[1]
	case "mkdir":
		folder.entries[last] = newFolder()
	case "fsync":
		n.sync()
	case "unlink":
		delete(folder.entries, last)
	case "rename":
		delete(folder.entries, last)
		to, name := p.find(s.args[1])
		to.entries[name] = n
	}
	return true
}

// tree returns the files and folders after the power came back. isLost says what is lost of what was not flushed: the
// bytes of a file, or a change of a name.
func (p *powered) tree(isLost func(name string, bytes bool) bool) map[string]*string {
	files := map[string]*string{}
	var add func(name string, n *node)
	add = func(name string, n *node) {
		if !n.isDir {
			text := n.content
			if text != n.syncedBytes && isLost(name, true) {
				text = n.syncedBytes
			}
			files[name] = &text
			return
		}
		files[name] = nil
		both := maps.Clone(n.entries)
		maps.Copy(both, n.syncedNames)
		for _, part := range slices.Sorted(maps.Keys(both)) {
			at := filepath.Join(name, part)
			inside := n.entries[part]
			if inside != n.syncedNames[part] && isLost(at, false) {
				inside = n.syncedNames[part]
			}
			if inside != nil {
				add(at, inside)
			}
		}
	}
	add(p.base, p.root)
	return files
}

// restore writes a tree in place of what is there.
func (p *powered) restore(files map[string]*string) {
	p.t.Helper()
	err := os.RemoveAll(p.base)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		switch {
		case err != nil:
		case files[name] == nil:
			err = os.Mkdir(name, 0o755)
		default:
			err = os.WriteFile(name, []byte(*files[name]), 0o644)
		}
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

var (
	callLine  = regexp.MustCompile(`^([0-9.]+) (\w+)\((.*)\) += (\d+)`)
	hexByte   = regexp.MustCompile(`\\x[0-9a-f]{2}`)
	inFolder  = regexp.MustCompile(`(?:AT_FDCWD|\d+)(?:<([^>]*)>)?, "([^"]*)"`)
	ofFile    = regexp.MustCompile(`^\d+<([^>]*)>(?:, "([^"]*)")?`)
	tracedSet = "openat,mkdirat,mkdir,write,pwrite64,fsync,fdatasync,rename,renameat,renameat2,unlinkat,unlink,rmdir,truncate,ftruncate,link,linkat,symlinkat"
)

// traceSync runs a round in a process, and returns the steps that it took below a folder.
func traceSync(t *testing.T, m *machine) (steps []step) {
	t.Helper()
	strace, out := testbed.Need(t, "strace"), filepath.Join(t.TempDir(), "trace")
	cmd := exec.Command(strace, "-ff", "-ttt", "-y", "-xx", "-s", "1000000", "-e", "trace="+tracedSet, "-o", out, os.Args[0], "-test.run=^TestSyncProcess$")
	cmd.Env = append(os.Environ(), "TEST_SYNC_MANAGED="+m.managed, "TEST_SYNC_ONCE=1")
	if text, err := cmd.CombinedOutput(); strings.Contains(string(text), "PTRACE") {
		t.Skipf("the right to trace a process is not there: %s", text)
	} else if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var lines []string
	files, _ := filepath.Glob(out + ".*") // one for each thread
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, strings.Split(string(text), "\n")...)
	}
	slices.Sort(lines) // by time
	plain := func(text string) string {
		return hexByte.ReplaceAllStringFunc(text, func(s string) string {
			n, _ := strconv.ParseUint(s[2:], 16, 8)
			return string([]byte{byte(n)})
		})
	}
	for _, line := range lines {
		c := callLine.FindStringSubmatch(line)
		if c == nil || strings.HasPrefix(c[2], "syscall_") { // strace does not know modes by fchmodat2
			continue // it failed
		}
		var s step
		if at := inFolder.FindAllStringSubmatch(c[3], -1); strings.HasSuffix(c[2], "at") || strings.HasSuffix(c[2], "at2") {
			for _, a := range at {
				name := plain(a[2])
				if !filepath.IsAbs(name) {
					name = filepath.Join(plain(a[1]), name)
				}
				s.args = append(s.args, name)
			}
		} else if f := ofFile.FindStringSubmatch(c[3]); f != nil {
			s.args = []string{plain(f[1]), plain(f[2])}
		} else {
			t.Fatalf("this test does not know %s", line)
		}
		if s.args[0] != m.state && !strings.HasPrefix(s.args[0], m.state+"/") {
			continue
		}
		add := func(call string) { steps = append(steps, step{call, s.args}) }
		switch c[2] {
		case "openat":
			if strings.Contains(c[3], "O_CREAT") {
				add("create")
			}
			if strings.Contains(c[3], "O_TRUNC") {
				add("truncate")
			}
		case "write", "pwrite64":
			add("write")
		case "fsync", "fdatasync":
			add("fsync")
		case "mkdirat":
			add("mkdir")
		case "unlinkat":
			add("unlink")
		case "renameat", "renameat2":
			add("rename")
		default:
			t.Fatalf("this test does not know %s", line)
		}
	}
	return steps
}

// TestPowerLoss replays each beginning of what a round writes on a file system that loses what was not flushed: all of
// it, the bytes alone, the names alone, one thing, all but one, nothing, or by chance. Whatever remains is the old version or the new
// one, as a whole, and the next round succeeds.
func TestPowerLoss(t *testing.T) {
	chances := 2
	if os.Getenv("STARHOST_LONG") == "1" {
		chances = 200
	}
	k, s := newKey(t), newServer(t)
	m := newMachine(t, ops(s.URL+"/ops.tar.gz", k))
	for i := range 3 { // so that the round removes the oldest one
		s.publish(pack(t, k, "ops", int64(i), plain(fmt.Sprint("v", i))))
		m.must()
	}
	old, next := m.must().Digest, pack(t, k, "ops", 3, plain("v3"))
	p := newPowered(t, m.state)
	s.publish(next)
	steps := traceSync(t, m)
	calls := map[string]int{}
	for _, step := range steps {
		calls[step.call]++
	}
	if t.Logf("%d steps: %v", len(steps), calls); calls["rename"] < 3 || calls["mkdir"] < 3 || calls["write"] < 4 {
		t.Fatalf("got too few steps: %v", steps)
	}
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	seen, switched := map[[32]byte]bool{}, 0
	check := func(at int, how string, isLost func(string, bool) bool) {
		t.Helper()
		files := p.tree(isLost)
		var text strings.Builder
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if text.WriteString(name + "\x00"); files[name] != nil {
				text.WriteString(*files[name] + "\x00")
			}
		}
		sum := sha256.Sum256([]byte(text.String()))
		if seen[sum] {
			return
		}
		seen[sum] = true
		p.restore(files)
		b := fleet.Examine(m.config(), m.now)[0]
		switch got := m.answer(); {
		case b.Problem == "" && b.Digest == old && got == "v2":
		case b.Problem == "" && b.Digest == next.digest && got == "v3":
			switched++
		default:
			t.Fatalf("seed %d, power lost behind step %d (%s) of %v, %s: got %q, %+v", seed, at, steps[max(at-1, 0)].call, steps[max(at-1, 0)].args[0], how, got, b)
		}
		if b, _, err := m.sync(); err != nil || b.Digest != next.digest || m.answer() != "v3" {
			t.Fatalf("seed %d, power lost behind step %d, %s: the next round: got %+v, %q, %v", seed, at, how, b, m.answer(), err)
		}
	}
	for at := range len(steps) + 1 {
		if at > 0 && !p.apply(steps[at-1]) {
			continue
		}
		var open []string // what was not flushed
		check(at, "nothing is lost", func(name string, bytes bool) bool {
			open = append(open, fmt.Sprint(name, bytes))
			return false
		})
		check(at, "all is lost", func(string, bool) bool { return true })
		check(at, "bytes are lost", func(_ string, bytes bool) bool { return bytes })
		check(at, "names are lost", func(_ string, bytes bool) bool { return !bytes })
		for _, one := range open {
			check(at, one+" is lost", func(name string, bytes bool) bool { return fmt.Sprint(name, bytes) == one })
			check(at, "all but "+one+" is lost", func(name string, bytes bool) bool { return fmt.Sprint(name, bytes) != one })
		}
		for range chances {
			check(at, "by chance", func(string, bool) bool { return random.IntN(2) == 0 })
		}
	}
	if t.Logf("%d states, %d of them have the new version", len(seen), switched); switched == 0 || switched == len(seen) {
		t.Errorf("got %d states of the new version among %d, want both versions", switched, len(seen))
	}
}

// TestFullDisk swaps on a disk without room: the old version stays, the error and the status say why, and with room
// the next round succeeds.
func TestFullDisk(t *testing.T) {
	k, s := newKey(t), newServer(t)
	m := newMachine(t, ops(s.URL+"/ops.tar.gz", k))
	if err := syscall.Mount("tmpfs", m.state, "tmpfs", 0, "size=256k,mode=755"); err != nil {
		t.Skipf("no small disk can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(m.state, 0); err != nil {
			t.Error(err)
		}
	})
	filler := filepath.Join(m.state, "filler")
	old := pack(t, k, "ops", 0, plain("v0"))
	s.publish(old)
	m.must()
	ends := map[string]int{}
	for free := range 14 { // pages: a round needs some for folders and files, one for current and one for the status
		word, was := fmt.Sprint("v", free+1), fmt.Sprint("v", free)
		next := pack(t, k, "ops", int64(free+1), plain(word))
		s.publish(next)
		fill(t, filler, free)
		status, err := fleet.Sync(t.Context(), fleet.Options{Config: m.config(), Wait: m.wait, Now: m.now, Try: fleet.TryOptions{Managed: m.managed}, Getenv: os.Getenv})
		stored, got := fleet.ReadStatus(m.config()).Bundles[0], m.answer()
		end := ""
		switch isFull := err != nil && strings.Contains(err.Error(), "no space left on device"); {
		case err == nil && got == word && stored.Digest == next.digest:
			end = "swapped"
		case isFull && got == word && stored.Digest == old.digest:
			end = "swapped, without a status"
		case isFull && got == was && stored.Digest == old.digest && strings.Contains(stored.LastError, "no space left on device"):
			end = "stayed"
		case isFull && got == was && stored.Digest == old.digest && stored.LastError == "":
			end = "stayed, without a status"
		default:
			t.Fatalf("%d pages free: got %+v, %v, answer %q, stored %+v", free, status, err, got, stored)
		}
		ends[end]++
		if err != nil && report.Describe(err).Exit == 0 {
			t.Errorf("%d pages free: got exit code 0 for %v", free, err)
		}
		if b := fleet.Examine(m.config(), m.now)[0]; b.Problem != "" {
			t.Fatalf("%d pages free: got %+v", free, b)
		}
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
		if b := m.must(); b.Digest != next.digest || m.answer() != word {
			t.Fatalf("%d pages free, then room: got %+v, %q", free, b, m.answer())
		}
		old = next
	}
	if t.Log(ends); ends["stayed"] == 0 || ends["swapped"] == 0 {
		t.Errorf("got %v, want some that stayed with a status, and some that swapped", ends)
	}
}

// fill makes a file that leaves some pages of a disk.
func fill(t *testing.T, name string, free int) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var page [4096]byte
	n := 0
	for ; err == nil; n++ {
		_, err = f.Write(page[:])
	}
	if err := f.Truncate(int64(max(0, n-1-free)) * int64(len(page))); err != nil {
		t.Fatal(err)
	}
}
