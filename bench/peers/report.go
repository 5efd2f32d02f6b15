package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// metrics are the columns of tables.
var metrics = map[string]struct{ head, format string }{
	"cpu":        {"CPU µs", "%.1f"},
	"rate":       {"per s", "%.0f"},
	"p50":        {"p50 µs", "%.0f"},
	"p99":        {"p99 µs", "%.0f"},
	"allocs":     {"allocs", "%.0f"},
	"bytes":      {"bytes", "%.0f"},
	"rss":        {"RSS MiB", "%.0f"},
	"mbps":       {"MB/s", "%.0f"},
	"cpumb":      {"CPU ms/MB", "%.2f"},
	"peak":       {"peak, of the payload", "%.1f ×"},
	"kib":        {"KiB each", "%.2f"},
	"goroutines": {"goroutines each", "%.1f"},
	"count":      {"how many", "%.0f"},
	"ms":         {"ms", "%.2f"},
	"startcpu":   {"CPU ms", "%.2f"},
	"childcpu":   {"CPU µs of children", "%.1f"},
	"size":       {"binary MiB", "%.2f"},
	"wall":       {"µs", "%.1f"},
}

// results are all that was measured in a scenario.
type results struct {
	scenario *scenario
	peers    []*peer
	samples  map[string][]sample
	failed   map[string]error
	load     float64
}

func (r *results) values(peer, metric string) []float64 {
	var v []float64
	for _, s := range r.samples[peer] {
		if x, ok := s[metric]; ok {
			v = append(v, x)
		}
	}
	return v
}

// get is the median of a metric.
func (r *results) get(peer, metric string) (float64, bool) {
	v := r.values(peer, metric)
	if len(v) == 0 {
		return 0, false
	}
	return median(v), true
}

// ratio is how much of base's a peer has.
func (r *results) ratio(peer, base, metric string) (float64, bool) {
	a, ok := r.get(peer, metric)
	b, ok2 := r.get(base, metric)
	return a / b, ok && ok2 && b != 0
}

// table writes Markdown.
func (r *results) table(w io.Writer) {
	s := r.scenario
	fmt.Fprintf(w, "\n### %s\n\n", s.title)
	if s.about != "" {
		fmt.Fprintf(w, "%s\n\n", s.about)
	}
	bases := s.bases
	if len(bases) == 0 {
		bases = []string{"floorscan", "floorjson", "gosdk"}
	}
	head, rule := "| peer |", "|---|"
	for _, c := range s.cols {
		head, rule = head+" "+metrics[c].head+" |", rule+"---:|"
		if c == s.main {
			head, rule = head+" spread |", rule+"---|"
			for _, b := range bases {
				head, rule = head+" ÷ "+b+" |", rule+"---:|"
			}
		}
	}
	fmt.Fprintf(w, "%s\n%s\n", head, rule)
	for _, p := range r.peers {
		if r.failed[p.name] == nil {
			fmt.Fprintln(w, r.row(p.name, bases))
		}
	}
	var foreign []float64
	for _, p := range r.peers {
		foreign = append(foreign, r.values(p.name, "foreign")...)
	}
	if len(foreign) > 0 {
		fmt.Fprintf(w, "\nOther programs had %.0f%% of the machine (median); load average %.1f.\n", median(foreign), r.load)
	}
	for _, p := range r.peers {
		if err := r.failed[p.name]; err != nil {
			fmt.Fprintf(w, "\n%s could not be measured: %.200s\n", p.name, strings.ReplaceAll(err.Error(), "\n", " "))
		}
	}
}

func (r *results) row(peer string, bases []string) string {
	s := r.scenario
	line := "| " + peer + " |"
	cell := func(format string, v float64, ok bool) {
		if ok {
			line += " " + fmt.Sprintf(format, v) + " |"
		} else {
			line += " – |"
		}
	}
	for _, c := range s.cols {
		v, ok := r.get(peer, c)
		cell(metrics[c].format, v, ok)
		if c != s.main {
			continue
		}
		all := r.values(peer, c)
		line += fmt.Sprintf(" "+metrics[c].format+"–"+metrics[c].format+" |", slices.Min(all), slices.Max(all))
		for _, b := range bases {
			x, ok := r.ratio(peer, b, c)
			cell("%.2f", x, ok)
		}
	}
	return line
}

// A report is a whole run.
type report struct {
	options options
	began   time.Time
	all     []*results
}

func (rep *report) add(r *results) { rep.all = append(rep.all, r) }

func (rep *report) find(name string) *results {
	for _, r := range rep.all {
		if r.scenario.name == name {
			return r
		}
	}
	return nil
}

// write writes benchmarks.md and the charts.
func (rep *report) write(docs string) error {
	images := filepath.Join(docs, "images")
	if err := os.MkdirAll(images, 0o755); err != nil {
		return err
	}
	var b strings.Builder
	rep.preface(&b)
	rep.bars(&b)
	fmt.Fprint(&b, "\n## Charts\n\n")
	for _, c := range charts {
		r := rep.find(c.scenario)
		if r == nil {
			continue
		}
		file := "bench-" + c.scenario + ".svg"
		if err := os.WriteFile(filepath.Join(images, file), []byte(c.draw(r)), 0o644); err != nil {
			return err
		}
		fmt.Fprintf(&b, "![%s: %s](images/%s)\n\n", r.scenario.title, c.unit, file)
	}
	fmt.Fprint(&b, "## All numbers\n")
	for _, r := range rep.all {
		r.table(&b)
	}
	return os.WriteFile(filepath.Join(docs, "benchmarks.md"), []byte(b.String()), 0o644)
}

func (rep *report) preface(w io.Writer) {
	version, _ := exec.Command("go", "env", "GOVERSION").Output()
	fmt.Fprintf(w, `# Benchmarks

This page is written by `+"`make bench-peers`"+`; run it on your machine. What the numbers come from is explained in [performance.md](performance.md).

- **When** %s, %.0f minutes
- **Where** %s; everything on this machine, over the loopback
- **With** %s
`, rep.began.UTC().Format("2006-01-02 15:04 UTC"), time.Since(rep.began).Minutes(), machine(), strings.TrimSpace(string(version)))
	for _, p := range peers {
		fmt.Fprintf(w, "- **%s** %s\n", p.name, p.what)
	}
	fmt.Fprintf(w, `
How: a fresh process for every measurement; the peers take turns in each of %d rounds (3 for memory), in rotating order; where processor time is promised in relation to a floor, Tenon and the floors have %d rounds more; %v each after warming up (%v; %v for Node). Tables show medians, and for what matters most the smallest and largest of the rounds. The load generator knows no SDK: it writes prepared requests to pipes and sockets and looks for the right answer in every response. CPU is what the server's process has used, from its own clock, which on a shared machine is steadier than any time on the wall. Allocations and bytes are those of the Go runtime; RSS is that of the process.

Not measured: TLS, HTTP/2, more than this machine's cores, a real network.
`, rep.options.rounds, rep.options.more, rep.options.length, rep.options.warm, rep.options.warmNode)
}
