package page

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	cdpio "github.com/chromedp/cdproto/io"
	"github.com/chromedp/cdproto/tracing"
	"github.com/chromedp/chromedp"
)

// probe is the name of the mark that a test sets inside of each task that it causes
// by evaluating something, so that it is not taken for a task of the page.
const probe = "tenon-probe"

// A task is a task of the main thread of the page. CPU is how long the thread has
// run: unlike Wall, it does not grow when other processes use the machine.
type task struct {
	At        float64 // microseconds
	CPU, Wall time.Duration
	Parts     []string // what ran longest inside of it
}

// stolen returns for how long others have run on the processors of this machine, if it
// is a virtual one. A thread that had such a processor seems to have run: tasks of 20 ms
// have taken 900. It is 0 with -bars, which need a machine of their own.
func stolen() time.Duration {
	if *bars {
		return 0
	}
	raw, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(raw), "\n")
	if fields := strings.Fields(line); len(fields) > 8 && fields[0] == "cpu" {
		ticks, _ := strconv.ParseInt(fields[8], 10, 64)
		return time.Duration(ticks) * time.Second / 100
	}
	return 0
}

func (k task) String() string {
	return fmt.Sprintf("%v (wall %v) %s", k.CPU.Round(time.Millisecond/10), k.Wall.Round(time.Millisecond), strings.Join(k.Parts, ", "))
}

// A span is an event of a trace.
type span struct {
	Name     string          `json:"name"`
	Phase    string          `json:"ph"`
	Process  int64           `json:"pid"`
	Thread   int64           `json:"tid"`
	At       float64         `json:"ts"`   // microseconds
	Duration float64         `json:"dur"`  // microseconds
	CPU      float64         `json:"tdur"` // microseconds that the thread ran
	Args     json.RawMessage `json:"args"`
}

func (s *span) end() float64 { return s.At + s.Duration }

// spans returns what the browser does while f runs.
func (p *tab) spans(f func()) []span {
	p.t.Helper()
	ctx, stop := context.WithCancel(p.ctx)
	defer stop()
	done := chromedp.Events(ctx, tracing.TracingComplete)
	categories := []string{"toplevel", "devtools.timeline", "blink.user_timing", "v8", "disabled-by-default-devtools.timeline"}
	if os.Getenv("TRACE") != "" { // a file for the performance panel of a browser
		categories = append(categories, "disabled-by-default-v8.cpu_profiler")
	}
	_, err := chromedp.Call(ctx, tracing.Start, tracing.StartParams{TransferMode: "ReturnAsStream", TraceConfig: &tracing.TraceConfig{
		RecordMode: "recordUntilFull", TraceBufferSizeInKb: 400 << 10, ExcludedCategories: []string{"*"},
		IncludedCategories: categories,
	}})
	p.must(err)
	end := func() error { _, err := chromedp.Call(ctx, tracing.End, cdp.Empty{}); return err }
	p.probing = true
	defer func() {
		if p.probing { // f has failed
			_ = end()
		}
	}()
	f()
	eval[bool](p, "true") // its mark also tells which thread is the page's
	p.probing = false
	p.must(end())
	defer time.AfterFunc(2*waitLimit, stop).Stop()
	for e, err := range done {
		p.must(err)
		if e.DataLossOccurred {
			p.t.Error("the trace is not complete")
		}
		return p.trace(e.Stream)
	}
	p.t.Fatal("there is no trace")
	return nil
}

// trace reads the events of a trace.
func (p *tab) trace(stream cdpio.StreamHandle) []span {
	p.t.Helper()
	var text strings.Builder
	for {
		r, err := chromedp.Call(p.ctx, cdpio.Read, cdpio.ReadParams{Handle: stream, Size: 4 << 20})
		p.must(err)
		text.Write(r.Data)
		if r.EOF {
			break
		}
	}
	if file := os.Getenv("TRACE"); file != "" {
		_ = os.WriteFile(fmt.Sprintf("%s-%d.json", file, time.Now().UnixMilli()), []byte(text.String()), 0o600)
	}
	var all struct {
		Events []span `json:"traceEvents"`
	}
	p.must(json.Unmarshal([]byte(text.String()), &all))
	return all.Events
}

// longest picks the tasks of the thread that has the marks of the test, without
// those that have such a mark.
func longest(spans []span) []task {
	var process, thread int64
	var marks []float64
	for _, s := range spans {
		if s.Name == probe {
			process, thread = s.Process, s.Thread
			marks = append(marks, s.At)
		}
	}
	spans = slices.DeleteFunc(spans, func(s span) bool { return s.Process != process || s.Thread != thread || s.Phase != "X" })
	slices.SortStableFunc(spans, func(a, b span) int { return cmp.Compare(a.At, b.At) })
	slices.Sort(marks)
	var all []task
	covered := math.Inf(-1)
	for i := range spans {
		s := &spans[i]
		if !strings.HasSuffix(s.Name, "RunTask") || s.At < covered {
			continue
		}
		covered = s.end()
		if n, _ := slices.BinarySearch(marks, s.At); n < len(marks) && marks[n] <= covered {
			continue
		}
		k := task{At: s.At, CPU: time.Duration(s.CPU) * time.Microsecond, Wall: time.Duration(s.Duration) * time.Microsecond}
		if s.Duration > 20_000 {
			k.Parts = parts(spans[i+1:], covered)
		}
		all = append(all, k)
	}
	slices.SortFunc(all, func(a, b task) int { return cmp.Compare(b.CPU, a.CPU) })
	return all
}

// parts names what took longest until the end of a task.
func parts(spans []span, end float64) []string {
	sum := map[string]float64{}
	for i := range spans {
		s := &spans[i]
		if s.At >= end {
			break
		}
		if strings.HasSuffix(s.Name, "RunTask") || s.Name == "v8.callFunction" || s.Name == "FireAnimationFrame" {
			continue // only contains others
		}
		var args struct {
			Data struct {
				FunctionName string `json:"functionName"`
				URL          string `json:"url"`
				Line         int    `json:"lineNumber"`
			} `json:"data"`
		}
		_ = json.Unmarshal(s.Args, &args)
		name := s.Name
		if args.Data.URL != "" {
			name = fmt.Sprintf("%s %s %s:%d", s.Name, args.Data.FunctionName, args.Data.URL[strings.LastIndex(args.Data.URL, "/")+1:], args.Data.Line)
		}
		sum[name] += s.CPU
	}
	var all []string
	for name, us := range sum {
		if us >= 3000 {
			all = append(all, fmt.Sprintf("%s %.0f ms", name, us/1000))
		}
	}
	slices.SortFunc(all, func(a, b string) int {
		return cmp.Compare(sum[b[:strings.LastIndex(b[:len(b)-3], " ")]], sum[a[:strings.LastIndex(a[:len(a)-3], " ")]])
	})
	return all[:min(len(all), 6)]
}

// The bars: the longest task of the page, and how long 50,000 messages take.
// In thread time the tests judge twice as much, because a thread is slower while
// others use the caches of its processor; -bars judges exactly.
const (
	longestTask = 100 * time.Millisecond
	wholeFlood  = 10 * time.Second
	firstPaint  = 150 * time.Millisecond
)

// figures are what was measured, for -bars.
var figures []string

func figure(format string, args ...any) { figures = append(figures, fmt.Sprintf(format, args...)) }

// allowed returns how long something with a bar may take on this machine.
func allowed(bar time.Duration) time.Duration {
	if *bars {
		return bar
	}
	return 2 * bar
}

// quick fails if a task of the page takes long while f runs. It returns the time
// that the page's thread has run for all of them, without what was stolen.
func (p *tab) quick(what string, f func()) (cpu time.Duration) {
	p.t.Helper()
	before := stolen()
	all := longest(p.spans(f))
	gone := stolen() - before
	for _, k := range all {
		cpu += k.CPU
		if k.CPU-gone > allowed(longestTask) {
			p.t.Errorf("%s: a task of the page takes %v, and the machine was gone for %v", what, k, gone)
		}
	}
	if cpu == 0 {
		p.t.Fatalf("%s: the trace has %d tasks of the page, and no time of its thread", what, len(all))
	}
	p.t.Logf("%s: the longest task takes %v; the machine was gone for %v", what, all[0], gone)
	figure("%-44s longest task %4.0f ms, all %5.0f ms", what, ms(all[0].CPU), ms(cpu))
	return cpu - gone
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// later evaluates an expression in a task of its own, which counts as one of the
// page.
func (p *tab) later(expression string) {
	p.t.Helper()
	eval[int](p, "setTimeout(() => {"+expression+"})")
}
