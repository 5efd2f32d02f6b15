package telemetry

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// An exporter sends spans and metrics to a collector. add never blocks: one
// goroutine sends batches of spans, another one the metrics.
type exporter struct {
	*exporting
	t        *Telemetry
	http     *http.Client
	spans    chan *span
	dropped  atomic.Int64
	failures atomic.Int64
	failing  atomic.Bool // the last request failed

	ctx     context.Context // ends when close has waited for long enough
	cancel  context.CancelFunc
	closing chan struct{}
	once    sync.Once
	wg      sync.WaitGroup
}

func newExporter(t *Telemetry, c *exporting) *exporter {
	e := &exporter{exporting: c, t: t, http: t.opts.HTTP, spans: make(chan *span, c.queue), closing: make(chan struct{})}
	if e.http == nil {
		e.http = &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	}
	client := *e.http
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // headers have secrets
	e.http = &client
	e.ctx, e.cancel = context.WithCancel(context.Background())
	if c.traces != "" {
		e.wg.Go(e.sendSpans)
	}
	if c.metrics != "" {
		e.wg.Go(e.sendMetrics)
	}
	return e
}

// traces reports whether spans are exported.
func (e *exporter) traces() bool { return e.exporting.traces != "" }

// add queues a span, or drops it if the queue is full.
func (e *exporter) add(s *span) {
	select {
	case e.spans <- s:
	default:
		e.dropped.Add(1)
	}
}

// close sends what is left until ctx ends.
func (e *exporter) close(ctx context.Context) error {
	e.once.Do(func() { close(e.closing) })
	defer context.AfterFunc(ctx, e.cancel)()
	e.wg.Wait()
	e.cancel()
	e.http.CloseIdleConnections()
	return ctx.Err()
}

// sendSpans sends batches of spans until close.
func (e *exporter) sendSpans() {
	timer := time.NewTicker(e.batchDelay)
	defer timer.Stop()
	var batch []*span
	flush := func() {
		if len(batch) > 0 {
			e.sendBatch(batch)
			batch = nil
		}
	}
	for {
		select {
		case s := <-e.spans:
			if batch = append(batch, s); len(batch) >= e.batch {
				flush()
			}
		case <-timer.C:
			flush()
		case <-e.closing:
			for {
				select {
				case s := <-e.spans:
					if batch = append(batch, s); len(batch) >= e.batch {
						flush()
					}
					continue
				default:
				}
				flush()
				return
			}
		}
	}
}

// sendBatch sends spans, and counts them as dropped if that fails.
func (e *exporter) sendBatch(batch []*span) {
	body, err := e.encodeSpans(batch)
	if err == nil {
		err = e.post(e.exporting.traces, e.traceHeaders, body)
	}
	if err != nil {
		e.dropped.Add(int64(len(batch)))
	}
	e.report(err)
}

// sendMetrics sends the metrics at each interval and at the end.
func (e *exporter) sendMetrics() {
	timer := time.NewTicker(e.interval)
	defer timer.Stop()
	for last := false; !last; {
		select {
		case <-timer.C:
		case <-e.closing:
			last = true
		}
		body, err := e.encodeMetrics(time.Now())
		if err == nil {
			err = e.post(e.exporting.metrics, e.metricHeaders, body)
		}
		e.report(err)
	}
}

// report logs when exporting begins to fail and when it works again.
func (e *exporter) report(err error) {
	if err != nil {
		e.failures.Add(1)
	}
	if was := e.failing.Swap(err != nil); was == (err != nil) {
		return
	}
	if err != nil {
		e.t.opts.Log.Warn("telemetry cannot be exported", "error", err)
	} else {
		e.t.opts.Log.Info("telemetry is exported again")
	}
}

const (
	attempts  = 3
	firstWait = time.Second
	lastWait  = 10 * time.Second
)

// post sends a request. It tries again if the collector says that it may.
func (e *exporter) post(url string, header http.Header, body []byte) error {
	wait := firstWait
	for n := 1; ; n++ {
		retry, after, err := e.attempt(url, header, body)
		if err == nil || !retry || n == attempts {
			return err
		}
		if after > 0 {
			wait = min(after, lastWait)
		}
		select {
		case <-time.After(wait):
		case <-e.closing:
			return err
		}
		wait = min(2*wait, lastWait)
	}
}

// attempt sends a request once.
func (e *exporter) attempt(url string, header http.Header, body []byte) (retry bool, after time.Duration, err error) {
	ctx, cancel := context.WithTimeout(e.ctx, e.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return false, 0, err
	}
	req.Header = header.Clone()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "tenon-otlp")
	resp, err := e.http.Do(req)
	if err != nil {
		return false, 0, err
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection can be used again
	switch {
	case resp.StatusCode/100 == 2:
		return false, 0, nil
	case resp.StatusCode == 429 || resp.StatusCode == 502 || resp.StatusCode == 503 || resp.StatusCode == 504:
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		return true, time.Duration(max(seconds, 0)) * time.Second, fmt.Errorf("the collector answers with %s", resp.Status)
	}
	return false, 0, fmt.Errorf("the collector answers with %s", resp.Status)
}
