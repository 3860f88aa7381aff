package users

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/starhost/starhost/agents/trace"
	"github.com/starhost/starhost/fleet"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/procgroup"
	"github.com/starhost/starhost/serve/hook"
)

// These limits bound what a user can make sync wait for and read.
const (
	maxDoctor     = 20 * time.Second // one user
	maxDoctors    = 3 * time.Minute  // all of them
	maxDoctorText = 4 << 20          // bytes of a doctor's result
)

// Coverage asks doctor about the agents of the users whose log sync sends. Root reads no transcript and no settings of
// a user: each doctor is a process of that user, without any right of root and any of root's variables.
func (m *Machine) Coverage(ctx context.Context) []fleet.Coverage {
	users, err := m.logFolders()
	if err != nil {
		return nil // sending the logs says why
	}
	end := time.Now().Add(maxDoctors)
	var all []fleet.Coverage
	for i, u := range users {
		list, err := m.askDoctor(ctx, u, doctorTime(time.Until(end), len(users)-i))
		if err != nil {
			list = []fleet.Coverage{{Error: errtext.Clip(err.Error())}}
		}
		for _, c := range list {
			c.User = u.number()
			all = append(all, c)
		}
	}
	return all
}

// doctorTime returns the time for the doctor of the next of some users. Users whose doctor hangs take no time of those
// behind them: each has at least an equal part of what is left.
func doctorTime(left time.Duration, users int) time.Duration {
	return min(left/time.Duration(users), maxDoctor)
}

// askDoctor runs hook doctor as a user, for at most a time.
func (m *Machine) askDoctor(ctx context.Context, u logFolder, most time.Duration) ([]fleet.Coverage, error) {
	own, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if u.home == "" {
		return nil, errors.New("nobody knows the home folder of this user")
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	cmd := exec.CommandContext(ctx, own, "hook", "doctor", "-F", "json")
	cmd.Dir, cmd.WaitDelay = u.home, time.Second
	cmd.Env = append([]string{"HOME=" + u.home, "PATH=" + m.Getenv("PATH"), "LANG=" + m.Getenv("LANG")}, m.DoctorEnv...)
	if procgroup.Set(cmd); u.owner > 0 {
		procgroup.BecomeUser(cmd, u.owner)
	}
	cmd.Cancel = func() error { procgroup.Kill(cmd); return nil }
	var out firstBytes
	cmd.Stdout = &out
	err = cmd.Run() // the exit code says that a guard is off, and so does the text
	if _, exited := errors.AsType[*exec.ExitError](err); ctx.Err() != nil {
		return nil, errors.New("doctor gave no answer in time")
	} else if err != nil && !exited && !errors.Is(err, exec.ErrWaitDelay) {
		return nil, err
	}
	return parseDoctor(out)
}

// firstBytes keeps the first bytes that are written to it.
type firstBytes []byte

func (b *firstBytes) Write(text []byte) (int, error) {
	*b = append(*b, text[:min(len(text), maxDoctorText-len(*b))]...)
	return len(text), nil
}

// parseDoctor reads the result of a doctor. A user may have written it, so nothing but numbers and known words
// remains.
func parseDoctor(text []byte) ([]fleet.Coverage, error) {
	var result struct {
		Schema string
		Agents []struct {
			Name  string
			Grade string
			Calls struct{ Counts map[trace.Verdict]int }
		}
	}
	if json.Unmarshal(text, &result) != nil || result.Schema != "starhost.hook-doctor/1" {
		return nil, errors.New("doctor did not answer with its result")
	}
	list := []fleet.Coverage{}
	for _, agent := range hook.Agents {
		for _, a := range result.Agents {
			if a.Name != agent.Name {
				continue
			}
			c := fleet.Coverage{Agent: a.Name, Counts: map[string]int{}}
			if slices.Contains([]string{"holds", "holds unless", "can be lifted", "off"}, a.Grade) {
				c.Grade = a.Grade
			}
			for _, verdict := range trace.Verdicts() {
				n := min(max(a.Calls.Counts[verdict], 0), trace.QuickCalls)
				if n == 0 {
					continue
				}
				c.Counts[string(verdict)] = n
				if c.Calls += n; verdict.IsFault() {
					c.Faults += n
				}
			}
			list = append(list, c)
			break
		}
	}
	return list, nil
}
