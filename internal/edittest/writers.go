// Package edittest tests that processes that change the same files
// concurrently lose no changes. Only tests import it.
//
// A test starts its own binary several times. Each child makes changes and
// reports those that succeeded; the test then looks for each of them. An
// editor may run too: a program that changes the same file without a lock,
// in place and by renaming.
package edittest

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const (
	envJob  = "WRITERS_JOB"
	envDir  = "WRITERS_DIR"
	envName = "WRITERS_NAME"
	envN    = "WRITERS_N"
)

// A Job makes n changes in a directory and returns those that succeeded.
type Job func(dir, name string, n int) (done []string)

// Main runs the job of a child process and exits, if this process is one.
func Main(jobs map[string]Job) {
	name := os.Getenv(envJob)
	if name == "" {
		return
	}
	if name == "editor" {
		edit(os.Getenv(envDir))
		os.Exit(0)
	}
	n, err := strconv.Atoi(os.Getenv(envN))
	if err != nil {
		panic(err)
	}
	for _, done := range jobs[name](os.Getenv(envDir), os.Getenv(envName), n) {
		fmt.Println(done)
	}
	os.Exit(0)
}

// Changes returns the total number of changes of one test, from
// WRITERS_CHANGES; the default is small.
func Changes() int {
	if n, err := strconv.Atoi(os.Getenv("WRITERS_CHANGES")); err == nil {
		return n
	}
	return 160
}

func child(job, dir, name string, n int) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envJob+"="+job, envDir+"="+dir, envName+"="+name, fmt.Sprintf("%s=%d", envN, n))
	cmd.Stderr = os.Stderr
	return cmd
}

// Run runs a job in several processes concurrently and returns what each
// reported.
func Run(t *testing.T, job, dir string, processes int) [][]string {
	t.Helper()
	all := make([][]string, processes)
	var wg sync.WaitGroup
	for i := range processes {
		wg.Go(func() {
			out, err := child(job, dir, fmt.Sprintf("w%d", i), Changes()/processes).Output()
			for line := range strings.Lines(string(out)) {
				all[i] = append(all[i], strings.TrimSuffix(line, "\n"))
			}
			if err != nil {
				t.Errorf("writer %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	return all
}

// CheckLines fails the test unless the file has each reported line and at
// least a tenth of the changes succeeded.
func CheckLines(t *testing.T, file string, excused map[string]bool, reported [][]string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		have[strings.TrimSpace(line)] = true
	}
	done, lost := 0, 0
	for _, all := range reported {
		done += len(all)
		for _, line := range all {
			if !have[line] && !excused[line] {
				if lost++; lost <= 3 {
					t.Errorf("%s was reported as done and is lost", line)
				}
			}
		}
	}
	if lost > 0 {
		t.Errorf("%d of %d changes are lost", lost, done)
	}
	if 10*done < Changes() {
		t.Errorf("only %d of %d changes were made", done, Changes())
	}
	t.Logf("%d of %d changes were made by %d processes, %d excused", done, Changes(), len(reported), len(excused))
}
