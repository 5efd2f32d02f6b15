// Fuzz runs every fuzz target of the module for a while, counts the executions and,
// with -record, adds them to the table of a document.
//
//	go run ./build/fuzz -time 20s
//	go run ./build/fuzz -time 5m -record docs/reliability.md
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A target is a fuzz target and how often it was executed.
type target struct {
	dir, name string
	count     int64
}

func (t target) String() string { return t.dir + " " + t.name }

func main() {
	each := flag.Duration("time", 20*time.Second, "how long each target runs")
	parallel := flag.Int("parallel", runtime.GOMAXPROCS(0), "the number of workers")
	record := flag.String("record", "", "add the executions to the table in this `file`")
	only := flag.String("only", "", "run only targets that match this `pattern`, such as 'jsonrpc FuzzConn'")
	until := flag.String("until", "", "start no target after this `time` of the day, such as 23:10")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *each, *parallel, *record, *only, *until); err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, each time.Duration, parallel int, record, only, until string) error {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	all, err := find(".")
	if err != nil {
		return err
	}
	var failed []error
	var total int64
	ran := 0
	for _, t := range all {
		if !pattern.MatchString(t.String()) || until != "" && time.Now().Format("15:04") >= until {
			continue
		}
		count, err := t.fuzz(ctx, each, parallel)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			failed = append(failed, err)
		}
		ran++
		total += count
		fmt.Printf("%s\t%s executions\n", t, grouped(count))
		t.count = count
		if record != "" {
			if err := update(record, []target{t}, time.Now()); err != nil {
				return err
			}
		}
	}
	fmt.Printf("%d of %d targets, %s executions\n", ran, len(all), grouped(total))
	return errors.Join(failed...)
}

var function = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(\w+ \*testing\.F\)`)

// find returns the targets in and below a folder, sorted.
func find(root string) ([]target, error) {
	var all []target
	err := filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir():
			name := e.Name()
			if _, err := os.Stat(filepath.Join(path, "go.mod")); path != root && (err == nil || name == "node_modules" || name == "testdata" || name[0] == '.') {
				return filepath.SkipDir
			}
			return nil
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		for _, m := range function.FindAllSubmatch(text, -1) {
			all = append(all, target{dir: filepath.ToSlash(dir), name: string(m[1])})
		}
		return nil
	})
	slices.SortFunc(all, func(a, b target) int { return strings.Compare(a.String(), b.String()) })
	return all, err
}

var executions = regexp.MustCompile(`\bexecs: (\d+)`)

// fuzz runs a target and returns the number of executions.
func (t target) fuzz(ctx context.Context, d time.Duration, parallel int) (count int64, err error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-fuzz", "^"+t.name+"$", "-fuzztime", d.String(),
		"-fuzzminimizetime", "10x", "-parallel", strconv.Itoa(parallel), "./"+t.dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	var said []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if m := executions.FindStringSubmatch(lines.Text()); m != nil {
			count, _ = strconv.ParseInt(m[1], 10, 64) // has only digits
			continue
		}
		said = append(said, lines.Text())
	}
	if err := cmd.Wait(); err != nil {
		return count, fmt.Errorf("%s: %w\n%s", t, err, strings.Join(said, "\n"))
	}
	return count, nil
}

// The table is between these lines.
const (
	begin = "<!-- fuzz: written by make fuzz -->"
	end   = "<!-- fuzz: end -->"
)

// update adds executions to the table in a file.
func update(file string, more []target, when time.Time) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(text), begin)
	old, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no table between %s and %s", file, begin, end)
	}
	all := parse(old)
	for _, t := range more {
		if i := slices.IndexFunc(all, func(o target) bool { return o.String() == t.String() }); i >= 0 {
			all[i].count += t.count
		} else {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b target) int { return strings.Compare(a.String(), b.String()) })
	return os.WriteFile(file, []byte(before+begin+"\n"+table(all, when)+end+after), 0o644)
}

var row = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| `(Fuzz\\w+)` \\| ([0-9,]+) \\|$")

func parse(table string) (all []target) {
	for _, m := range row.FindAllStringSubmatch(table, -1) {
		n, _ := strconv.ParseInt(strings.ReplaceAll(m[3], ",", ""), 10, 64) // has only digits and commas
		all = append(all, target{m[1], m[2], n})
	}
	return all
}

func table(all []target, when time.Time) string {
	var b strings.Builder
	var total int64
	for _, t := range all {
		total += t.count
	}
	fmt.Fprintf(&b, "%s executions of %d targets so far; the last on %s, with %s on %s/%s, %d CPUs.\n\n", grouped(total), len(all), when.Format("2006-01-02"), runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	b.WriteString("| package | target | executions |\n|---|---|---:|\n")
	for _, t := range all {
		fmt.Fprintf(&b, "| `%s` | `%s` | %s |\n", t.dir, t.name, grouped(t.count))
	}
	return b.String()
}

// grouped writes a number with commas.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
