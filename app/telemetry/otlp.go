package telemetry

import (
	"encoding/hex"
	"encoding/json"
	"strconv"
	"time"

	"github.com/tenon-mcp/tenon/internal/outcome"
	"github.com/tenon-mcp/tenon/mcp"
)

// The JSON encoding of OTLP: ids are hexadecimal, 64-bit integers are strings, and
// enumerations are numbers.

type object = map[string]any

// scope names what made the telemetry.
const scope = "github.com/tenon-mcp/tenon/app/telemetry"

func attributesOf(all []attribute) []object {
	list := []object{}
	for _, a := range all {
		if a.value != "" {
			list = append(list, object{"key": a.key, "value": object{"stringValue": a.value}})
		}
	}
	return list
}

func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

// scoped returns a message with the resource and the scope around data.
func (e *exporter) scoped(resource, scopes, name string, data []object) ([]byte, error) {
	in := object{"scope": object{"name": scope, "version": e.t.opts.Version}, name: data}
	return json.Marshal(object{resource: []object{{"resource": object{"attributes": attributesOf(e.resource)}, scopes: []object{in}}}})
}

const (
	kindServer  = 2 // SPAN_KIND_SERVER
	statusError = 2 // STATUS_CODE_ERROR
	cumulative  = 2 // AGGREGATION_TEMPORALITY_CUMULATIVE
)

func (e *exporter) encodeSpans(batch []*span) ([]byte, error) {
	var list []object
	for _, s := range batch {
		o := object{
			"traceId": hex.EncodeToString(s.trace[:]), "spanId": hex.EncodeToString(s.span[:]), "name": s.name, "kind": kindServer,
			"startTimeUnixNano": nanos(s.start), "endTimeUnixNano": nanos(s.end), "attributes": attributesOf(s.attributes), "flags": 1,
		}
		if s.parent != (spanID{}) {
			o["parentSpanId"] = hex.EncodeToString(s.parent[:])
		}
		if s.state != "" {
			o["traceState"] = s.state
		}
		if s.failed {
			o["status"] = object{"code": statusError, "message": s.message}
		}
		list = append(list, o)
	}
	return e.scoped("resourceSpans", "scopeSpans", "spans", list)
}

func (e *exporter) encodeMetrics(now time.Time) ([]byte, error) {
	var points []object
	for _, s := range e.t.sorted() {
		for o := range outcome.Count {
			if h := s.by[o].Load(); h != nil {
				points = append(points, e.point(s, o, h.read(), now))
			}
		}
	}
	var list []object
	if len(points) > 0 {
		list = append(list, object{"name": "mcp.server.operation.duration", "unit": "s", "description": "How long calls took.",
			"histogram": object{"aggregationTemporality": cumulative, "dataPoints": points}})
	}
	for _, g := range e.t.ownGauges() {
		values := []object{}
		for _, v := range g.Values() {
			var of []attribute
			for i := 0; i+1 < len(v.Labels); i += 2 {
				of = append(of, attribute{v.Labels[i], v.Labels[i+1]})
			}
			values = append(values, object{"attributes": attributesOf(of), "startTimeUnixNano": nanos(e.t.started), "timeUnixNano": nanos(now), "asDouble": v.Value})
		}
		o := object{"name": g.Name, "description": g.Help}
		if g.Counter {
			o["sum"] = object{"aggregationTemporality": cumulative, "isMonotonic": true, "dataPoints": values}
		} else {
			o["gauge"] = object{"dataPoints": values}
		}
		list = append(list, o)
	}
	return e.scoped("resourceMetrics", "scopeMetrics", "metrics", list)
}

// point returns the data point of a histogram.
func (e *exporter) point(s *series, o outcome.Outcome, c counts, now time.Time) object {
	name := "gen_ai.tool.name"
	if s.method == mcp.MethodPromptsGet {
		name = "gen_ai.prompt.name"
	}
	of := []attribute{{"mcp.method.name", s.method}, {name, s.tool}, {"tenon.server", s.server}, {"tenon.outcome", o.String()}}
	if o != outcome.OK && o != outcome.InputRequired {
		of = append(of, attribute{"error.type", o.String()})
	}
	buckets := make([]string, len(c.buckets))
	for i, n := range c.buckets {
		buckets[i] = strconv.FormatUint(n, 10)
	}
	return object{"attributes": attributesOf(of), "startTimeUnixNano": nanos(e.t.started), "timeUnixNano": nanos(now),
		"count": strconv.FormatUint(c.count, 10), "sum": c.sum, "bucketCounts": buckets, "explicitBounds": bounds[:]}
}
