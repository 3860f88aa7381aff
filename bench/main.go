// Command bench measures every goal of the project against its base and its peers, and prints
// which goals are met.
//
// It judges only ratios. Both sides of a ratio run in turns on the same machine, A B A B, and
// each pair gives one ratio, so that a busy machine slows both. The table has the median of the
// ratios and their spread. Work in this process runs with the garbage collector's setting of
// the binary starhost; a process is timed from its start to its end.
//
// It is a separate module, so that the product links none of its peers. To find slow parts, use
// profiles: -profile writes the profile of this process, and `starhost eval --profile` the
// profile of a start.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"runtime/debug"
	"runtime/pprof"
	"strings"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("bench: ")
	quick := flag.Bool("quick", false, "run each side for a moment, to see that it works")
	only := flag.String("only", "", "run only the goals of these `IDS`, as P2,P9")
	page := flag.String("o", "", "put the tables into the page `FILE`, between its marks")
	profile := flag.String("profile", "", "write where this process spends its time to `FILE`, for go tool pprof")
	if flag.Parse(); flag.NArg() > 0 {
		log.Fatalf("got %q, want flags only", flag.Args())
	}
	chosen, err := choose(*only)
	if err != nil {
		log.Fatal(err)
	}
	if err := measure(chosen, *quick, *page, *profile, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// choose returns the goals with the ids of a list, or all for "".
func choose(ids string) ([]goal, error) {
	if ids == "" {
		return goals, nil
	}
	var chosen []goal
	for id := range strings.SplitSeq(ids, ",") {
		g, err := goalOf(strings.TrimSpace(id))
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, g)
	}
	return chosen, nil
}

// measure runs goals, prints each row as soon as it is measured, and writes the page and the profile.
func measure(chosen []goal, quick bool, page, profile string, out io.Writer) error {
	if page != "" && (quick || len(chosen) < len(goals)) { // the page would lose the other rows
		return errors.New("-o: a page has all goals at full length, so it goes with neither -only nor -quick")
	}
	defer pprof.StopCPUProfile() // does nothing without a profile
	err := catch(func() {
		if _, err := os.Stat("../bench/go.mod"); err != nil {
			try(errors.New("this is not the folder bench, whose programs it builds: cd bench, and go run ."))
		}
		if page != "" { // read before minutes of work
			_, _, err := readPage(page)
			try(err)
		}
		if profile != "" {
			try(pprof.StartCPUProfile(must(os.Create(profile))))
		}
	})
	if err != nil {
		return err
	}
	debug.SetGCPercent(350) // as the binary does
	r, err := newRig(quick)
	if err != nil {
		return err
	}
	defer r.close()
	r.tell = func(row row) { fmt.Fprintln(out, row) }
	for _, g := range chosen {
		if err := catch(func() { g.run(r) }); err != nil {
			return fmt.Errorf("%s: %w", g.id, err)
		}
		r.endGoal()
	}
	fmt.Fprintln(out, tally(r.rows))
	if page == "" {
		return nil
	}
	return writePage(page, r.rows)
}
