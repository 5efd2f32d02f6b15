// Fuzz runs every fuzz target of the module for a while, counts the executions and,
// with -record, adds them to the table of a document.
//
//	go run ./build/fuzz -time 20s
//	go run ./build/fuzz -time 5m -record docs/reliability.md
//	go run ./build/fuzz -time 1m -record docs/reliability.md -goal 100000
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
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

func (t target) same(o target) bool { return t.dir == o.dir && t.name == o.name }

// settings are the flags of the command.
type settings struct {
	each                          time.Duration
	parallel                      int
	record, only, until, binaries string
	goal                          int64
	keep                          int
}

func main() {
	var o settings
	flag.DurationVar(&o.each, "time", 20*time.Second, "how long each target runs")
	flag.IntVar(&o.parallel, "parallel", runtime.GOMAXPROCS(0), "the number of workers")
	flag.StringVar(&o.record, "record", "", "add the executions to the table in this `file`")
	flag.Int64Var(&o.goal, "goal", 0, "skip targets that have at least this many executions in the table")
	flag.IntVar(&o.keep, "keep", 0, "run nothing, and copy up to this many small inputs that earlier runs found to testdata/fuzz of each target")
	flag.StringVar(&o.only, "only", "", "run only targets that match this `pattern`, such as 'jsonrpc FuzzConn'")
	flag.StringVar(&o.until, "until", "", "start no target after this `time` of the day, such as 23:10")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o settings) error {
	pattern, err := regexp.Compile(o.only)
	if err != nil {
		return err
	}
	all, err := find(".")
	if err != nil {
		return err
	}
	var recorded []target
	if o.record != "" {
		text, err := os.ReadFile(o.record)
		if err != nil {
			return err
		}
		recorded = parse(string(text))
	}
	if o.binaries, err = os.MkdirTemp("", "tenon-fuzz-"); err != nil {
		return err
	}
	defer os.RemoveAll(o.binaries)
	var failed []error
	var total int64
	ran := 0
	for _, t := range all {
		if !pattern.MatchString(t.String()) || o.until != "" && time.Now().Format("15:04") >= o.until {
			continue
		}
		if o.keep > 0 {
			n, err := t.keep(ctx, o.keep)
			if err != nil {
				return err
			}
			fmt.Printf("%s\t%d inputs\n", t, n)
			continue
		}
		if i := slices.IndexFunc(recorded, t.same); o.goal > 0 && i >= 0 && recorded[i].count >= o.goal {
			continue
		}
		t.count, err = t.fuzz(ctx, &o)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			failed = append(failed, err)
			fmt.Println(err)
		}
		ran++
		total += t.count
		fmt.Printf("%s\t%s executions\n", t, grouped(t.count))
		if o.record != "" {
			if err := update(o.record, []target{t}, time.Now()); err != nil {
				return err
			}
		}
	}
	fmt.Printf("%d of %d targets, %s executions\n", ran, len(all), grouped(total))
	if len(failed) > 0 {
		return fmt.Errorf("%d targets failed; the inputs are in their testdata/fuzz", len(failed))
	}
	return nil
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

// instrument makes the compiler count the coverage of the module's own packages.
// "go test -fuzz" counts that of the standard library and of all dependencies too,
// and compares all counters after each execution: that takes most of the time.
const instrument = "-gcflags=github.com/tenon-mcp/tenon/...=-d=libfuzzer"

// binary returns the test program of a target's package, which it builds once.
func (t target) binary(ctx context.Context, o *settings) (string, error) {
	file := filepath.Join(o.binaries, strings.ReplaceAll(t.dir, "/", "_")+".test")
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	out, err := exec.CommandContext(ctx, "go", "test", "-c", instrument, "-o", file, "./"+t.dir).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", t, err, out)
	}
	return file, nil
}

// fuzz runs a target and returns the number of executions. Inputs that reach new
// code are kept in Go's cache, as by "go test -fuzz".
func (t target) fuzz(ctx context.Context, o *settings) (count int64, err error) {
	file, err := t.binary(ctx, o)
	if err != nil {
		return 0, err
	}
	cache, err := t.cache(ctx)
	if err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(ctx, file, "-test.run", "^$", "-test.fuzz", "^"+t.name+"$", "-test.fuzztime", o.each.String(),
		"-test.fuzzminimizetime", "10x", "-test.parallel", strconv.Itoa(o.parallel),
		"-test.fuzzcachedir", cache)
	cmd.Dir = t.dir
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

// cache returns the folder of inputs that were found to reach new code, with a folder
// for each target of the package.
func (t target) cache(ctx context.Context) (string, error) {
	dir, err := exec.CommandContext(ctx, "go", "env", "GOCACHE").Output()
	return filepath.Join(strings.TrimSpace(string(dir)), "fuzz", "github.com/tenon-mcp/tenon", t.dir), err
}

// maxKept is the size of the largest input that is kept in the tree.
const maxKept = 4 << 10

// keep fills the corpus of a target in the tree to n inputs: of those in the cache,
// small ones and larger ones alike. It returns the number of inputs in the tree.
func (t target) keep(ctx context.Context, n int) (int, error) {
	cache, err := t.cache(ctx)
	if err != nil {
		return 0, err
	}
	dir := filepath.Join(t.dir, "testdata", "fuzz", t.name)
	had, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return 0, err
	}
	found, err := filepath.Glob(filepath.Join(cache, t.name, "*"))
	if err != nil {
		return 0, err
	}
	var inputs [][]byte
	names := map[*byte]string{}
	for _, file := range found {
		data, err := os.ReadFile(file)
		if err != nil {
			return 0, err
		}
		if len(data) > 0 && len(data) <= maxKept {
			inputs = append(inputs, data)
			names[&data[0]] = filepath.Base(file)
		}
	}
	for _, data := range spread(inputs, n-len(had)) {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return 0, err
		}
		if err := os.WriteFile(filepath.Join(dir, names[&data[0]]), data, 0o644); err != nil {
			return 0, err
		}
	}
	all, err := filepath.Glob(filepath.Join(dir, "*"))
	return len(all), err
}

// spread returns n inputs of all sizes.
func spread(inputs [][]byte, n int) [][]byte {
	slices.SortFunc(inputs, func(a, b []byte) int { return cmp.Or(len(a)-len(b), bytes.Compare(a, b)) })
	if n >= len(inputs) {
		return inputs
	}
	var out [][]byte
	for i := range max(0, n) {
		out = append(out, inputs[(2*i+1)*len(inputs)/(2*n)])
	}
	return out
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
		if i := slices.IndexFunc(all, t.same); i >= 0 {
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
