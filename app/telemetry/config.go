package telemetry

import (
	"encoding/binary"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Options configures a Telemetry; nil means the defaults: metrics for Prometheus
// only.
type Options struct {
	// Service and Version name the program. OTEL_SERVICE_NAME and
	// OTEL_RESOURCE_ATTRIBUTES take precedence. Empty means "tenon-gateway".
	Service, Version string

	// Getenv looks up the OTEL_ variables that configure the export; see
	// docs/gateway.md. Nil means that nothing is exported.
	Getenv func(string) (string, bool)

	// HTTP sends the requests to the collector. Nil means a client of its own.
	HTTP *http.Client

	// Log receives one line when exporting begins to fail, and each call at the
	// level debug. Nil means slog.Default().
	Log *slog.Logger
}

// exporting is the configuration of the export, from the environment.
type exporting struct {
	traces, metrics               string // URLs; empty: not exported
	traceHeaders, metricHeaders   http.Header
	timeout, interval, batchDelay time.Duration
	queue, batch                  int
	sampler                       sampler
	resource                      []attribute
}

// A variable is a setting from the environment.
type environment func(string) (string, bool)

func (env environment) text(names ...string) string {
	for _, name := range names {
		if value, ok := env(name); ok && strings.TrimSpace(value) != "" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// number returns a whole number of at least 1, or def.
func (env environment) number(def int, names ...string) (int, error) {
	text := env.text(names...)
	if text == "" {
		return def, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%s must be a number, not %q", names[0], text)
	}
	return n, nil
}

// read reads the configuration of the export. It returns nil if nothing is to be
// exported.
func (env environment) read(o *Options) (*exporting, error) {
	if strings.EqualFold(env.text("OTEL_SDK_DISABLED"), "true") {
		return nil, nil
	}
	e := &exporting{}
	var err error
	if e.traces, e.traceHeaders, err = env.signal("traces"); err != nil {
		return nil, err
	}
	if e.metrics, e.metricHeaders, err = env.signal("metrics"); err != nil {
		return nil, err
	}
	if e.traces == "" && e.metrics == "" {
		return nil, nil
	}
	if e.sampler, err = env.sampler(); err != nil {
		return nil, err
	}
	timeout, err := env.number(10_000, "OTEL_EXPORTER_OTLP_TIMEOUT")
	if err != nil {
		return nil, err
	}
	interval, err := env.number(60_000, "OTEL_METRIC_EXPORT_INTERVAL")
	if err != nil {
		return nil, err
	}
	delay, err := env.number(5_000, "OTEL_BSP_SCHEDULE_DELAY")
	if err != nil {
		return nil, err
	}
	if e.queue, err = env.number(2048, "OTEL_BSP_MAX_QUEUE_SIZE"); err != nil {
		return nil, err
	}
	if e.batch, err = env.number(512, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE"); err != nil {
		return nil, err
	}
	const ms = time.Millisecond
	e.timeout, e.interval, e.batchDelay = time.Duration(timeout)*ms, time.Duration(interval)*ms, time.Duration(delay)*ms
	e.resource, err = env.resource(o)
	return e, err
}

// signal returns the URL and the headers for traces or metrics. The URL is empty
// if they are not exported.
func (env environment) signal(name string) (string, http.Header, error) {
	upper := strings.ToUpper(name)
	if strings.EqualFold(env.text("OTEL_"+upper+"_EXPORTER"), "none") {
		return "", nil, nil
	}
	own, all := "OTEL_EXPORTER_OTLP_"+upper, "OTEL_EXPORTER_OTLP"
	at := env.text(own + "_ENDPOINT")
	if base := env.text(all + "_ENDPOINT"); at == "" && base != "" {
		at = strings.TrimSuffix(base, "/") + "/v1/" + name
	}
	if at == "" {
		return "", nil, nil
	}
	if u, err := url.Parse(at); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", nil, fmt.Errorf("the OTLP endpoint must be an http or https URL, not %q", at)
	}
	if p := env.text(own+"_PROTOCOL", all+"_PROTOCOL"); p != "" && !slices.Contains([]string{"http/json", "http/protobuf"}, p) {
		return "", nil, fmt.Errorf("%s_PROTOCOL: %q is not supported; use http/json and the collector's port for HTTP (4318)", all, p)
	}
	header := http.Header{}
	for pair := range strings.SplitSeq(env.text(own+"_HEADERS", all+"_HEADERS"), ",") {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			continue
		}
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if err != nil {
			return "", nil, fmt.Errorf("%s_HEADERS: the value of %q is not URL-encoded", all, strings.TrimSpace(key))
		}
		header.Set(strings.TrimSpace(key), value)
	}
	return at, header, nil
}

// resource returns what the telemetry is about.
func (env environment) resource(o *Options) ([]attribute, error) {
	all := []attribute{{"service.name", o.Service}, {"service.version", o.Version}, {"telemetry.sdk.name", "tenon"}, {"telemetry.sdk.language", "go"}}
	set := func(key, value string) {
		for i := range all {
			if all[i].key == key {
				all[i].value = value
				return
			}
		}
		all = append(all, attribute{key, value})
	}
	for pair := range strings.SplitSeq(env.text("OTEL_RESOURCE_ATTRIBUTES"), ",") {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			continue
		}
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if err != nil {
			return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: the value of %q is not URL-encoded", strings.TrimSpace(key))
		}
		set(strings.TrimSpace(key), value)
	}
	if name := env.text("OTEL_SERVICE_NAME"); name != "" {
		set("service.name", name)
	}
	return all, nil
}

// A sampler decides which traces are exported.
type sampler struct {
	ratio  float64
	parent bool // the decision of the parent counts
}

func (env environment) sampler() (s sampler, err error) {
	name := env.text("OTEL_TRACES_SAMPLER")
	s.ratio = 1
	base, ofParent := strings.CutPrefix(name, "parentbased_")
	s.parent = ofParent || name == ""
	switch base {
	case "", "always_on":
	case "always_off":
		s.ratio = 0
	case "traceidratio":
		if arg := env.text("OTEL_TRACES_SAMPLER_ARG"); arg != "" {
			s.ratio, err = strconv.ParseFloat(arg, 64)
			if err != nil || !(s.ratio >= 0 && s.ratio <= 1) {
				err = fmt.Errorf("OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1, not %q", arg)
			}
		}
	default:
		err = fmt.Errorf("OTEL_TRACES_SAMPLER: %q is unknown", name)
	}
	return s, err
}

// sample reports whether a span is exported.
func (s sampler) sample(parent spanContext, trace traceID) bool {
	if s.parent && parent.valid() {
		return parent.sampled
	}
	switch s.ratio {
	case 0:
		return false
	case 1:
		return true
	}
	return float64(binary.BigEndian.Uint64(trace[8:])>>1) < s.ratio*(1<<63)
}
