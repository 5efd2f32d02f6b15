// Package telemetry observes the calls of a gateway or a server: metrics in the
// text format of Prometheus, and traces and metrics over OTLP/HTTP.
//
//	t, err := telemetry.New(&telemetry.Options{Getenv: os.LookupEnv})
//	defer t.Close(ctx)
//	h = mcp.Chain(h, t.Middleware(nil))
//	http.Handle("/metrics", t)
//
// A call pays for two clock readings and a few counters. Spans are made only if an
// exporter is configured. Exporting never blocks a call: what does not fit into
// the queue is dropped and counted.
//
//	middleware.go  a call -> a span and a measurement
//	series.go      counters and histograms, with a bounded number of labels
//	prometheus.go  the text format
//	context.go     W3C trace context in _meta and in HTTP headers
//	config.go      the OTEL_ variables
//	export.go      the queue and the requests to the collector
//	otlp.go        the JSON encoding of OTLP
package telemetry
