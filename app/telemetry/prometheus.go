package telemetry

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/tenon-mcp/tenon/internal/outcome"
)

// A Gauge adds a metric whose values are read when they are asked for.
type Gauge struct {
	// Name is the name of the metric and Help one line about it.
	Name, Help string
	// Counter says that the values never fall, except when the program starts
	// again.
	Counter bool
	// Values returns the values now.
	Values func() []Value
}

// A Value is a value of a Gauge.
type Value struct {
	// Labels has names and values of labels, one after the other.
	Labels []string
	Value  float64
}

// AddGauge adds a metric.
func (t *Telemetry) AddGauge(g Gauge) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.gauges = append(t.gauges, g)
}

// ServeHTTP serves the metrics in the text format of Prometheus.
func (t *Telemetry) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	w.Write(t.Text()) // a client that has gone needs no error
}

// Text returns the metrics in the text format of Prometheus.
func (t *Telemetry) Text() []byte {
	var w text
	all := t.sorted()
	w.calls(all)
	w.durations(all)
	w.inFlight(all)
	for _, g := range t.ownGauges() {
		kind := "gauge"
		if g.Counter {
			kind = "counter"
		}
		w.head(g.Name, kind, g.Help)
		for _, v := range g.Values() {
			w.sample(g.Name, v.Value, v.Labels...)
		}
	}
	return w.Bytes()
}

// ownGauges returns the gauges, with those of the Telemetry itself.
func (t *Telemetry) ownGauges() []Gauge {
	one := func(v float64, labels ...string) func() []Value {
		return func() []Value { return []Value{{labels, v}} }
	}
	own := []Gauge{
		{"tenon_gateway_subscriptions", "Open subscriptions.", false, one(float64(t.subs.Load()))},
		{"tenon_build_info", "The version of the program.", false, one(1, "version", t.opts.Version)},
		{"process_start_time_seconds", "Start time of the process since unix epoch in seconds.", false, one(float64(t.started.UnixMilli()) / 1000)},
	}
	if e := t.export; e != nil {
		own = append(own,
			Gauge{"tenon_telemetry_dropped_spans_total", "Spans that were dropped because the collector takes too few.", true, one(float64(e.dropped.Load()))},
			Gauge{"tenon_telemetry_failed_exports_total", "Requests to the collector that failed.", true, one(float64(e.failures.Load()))})
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return append(own, t.gauges...)
}

// sorted returns the series in the order of their labels.
func (t *Telemetry) sorted() []*series {
	return slices.SortedFunc(maps.Values(t.registry.all()), func(a, b *series) int {
		if c := strings.Compare(a.method, b.method); c != 0 {
			return c
		}
		if c := strings.Compare(a.server, b.server); c != 0 {
			return c
		}
		return strings.Compare(a.tool, b.tool)
	})
}

// text is metrics in the text format of Prometheus.
type text struct{ bytes.Buffer }

func (w *text) head(name, kind, help string) {
	fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

// sample writes a line. Labels has names and values, one after the other.
func (w *text) sample(name string, value float64, labels ...string) {
	w.WriteString(name)
	for i := 0; i+1 < len(labels); i += 2 {
		sep := byte(',')
		if i == 0 {
			sep = '{'
		}
		w.WriteByte(sep)
		w.WriteString(labels[i])
		w.WriteString(`="`)
		escape.WriteString(w, strings.ToValidUTF8(labels[i+1], "\uFFFD"))
		w.WriteByte('"')
	}
	if len(labels) > 0 {
		w.WriteByte('}')
	}
	w.WriteByte(' ')
	w.WriteString(strconv.FormatFloat(value, 'g', -1, 64))
	w.WriteByte('\n')
}

// escape escapes the value of a label.
var escape = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func (w *text) calls(all []*series) {
	const name = "tenon_gateway_calls_total"
	w.head(name, "counter", "Calls that have ended.")
	for _, s := range all {
		for o := range outcome.Count {
			if h := s.by[o].Load(); h != nil {
				c := h.read()
				w.sample(name, float64(c.count), "method", s.method, "server", s.server, "tool", s.tool, "outcome", o.String())
			}
		}
	}
}

// durations writes one histogram for each method and server.
func (w *text) durations(all []*series) {
	const name = "tenon_gateway_call_duration_seconds"
	w.head(name, "histogram", "How long calls took.")
	for i := 0; i < len(all); {
		first := all[i]
		var sum counts
		for ; i < len(all) && all[i].method == first.method && all[i].server == first.server; i++ {
			for o := range outcome.Count {
				if h := all[i].by[o].Load(); h != nil {
					sum.add(h.read())
				}
			}
		}
		labels := []string{"method", first.method, "server", first.server}
		n := uint64(0)
		for b, bound := range bounds {
			n += sum.buckets[b]
			w.sample(name+"_bucket", float64(n), append(labels[:4:4], "le", strconv.FormatFloat(bound, 'g', -1, 64))...)
		}
		w.sample(name+"_bucket", float64(sum.count), append(labels[:4:4], "le", "+Inf")...)
		w.sample(name+"_sum", sum.sum, labels...)
		w.sample(name+"_count", float64(sum.count), labels...)
	}
}

func (w *text) inFlight(all []*series) {
	const name = "tenon_gateway_calls_in_flight"
	w.head(name, "gauge", "Calls that have not ended.")
	sums, order := map[string]int64{}, []string{}
	for _, s := range all {
		if _, ok := sums[s.server]; !ok {
			order = append(order, s.server)
		}
		sums[s.server] += s.inFlight.Load()
	}
	slices.Sort(order)
	for _, server := range order {
		w.sample(name, float64(sums[server]), "server", server)
	}
}
