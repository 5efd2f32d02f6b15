// Package wire is the HTTP client that all providers share: it sends requests
// with retries, reads the streamed answers and explains errors.
package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/sse"
)

// A Client sends requests to one provider.
type Client struct {
	Provider string
	HTTP     *http.Client // nil means one that follows no redirects
	Secrets  []string     // removed from error messages
	Retry    Retry
	Idle     time.Duration // longest time without data; 0 means 10 minutes
	Prices   llm.Prices

	// FirstByte is the longest wait for the headers of the response; 0 means 3
	// minutes, or Idle if that is shorter. Reaching it is retried only once.
	FirstByte time.Duration
}

// URL returns a base URL with a path, which is put before the query of the base
// URL.
func URL(base, path string) string {
	base, query, _ := strings.Cut(base, "?")
	path, more, _ := strings.Cut(path, "?")
	if query != "" && more != "" {
		query += "&"
	}
	if query += more; query != "" {
		query = "?" + query
	}
	return strings.TrimRight(base, "/") + path + query
}

// A Call is one request.
type Call struct {
	URL    string
	Header http.Header
	Body   []byte
	Parser func() Parser // called for each attempt

	// Reduce returns the body to send instead after the provider has rejected the
	// request, and a note about the difference; ok is false if there is none. It
	// may be nil.
	Reduce func(*llm.Error) (body []byte, note string, ok bool)
}

// A Parser translates a provider's stream to events.
type Parser interface {
	// Parse calls out with the events of one server-sent event. It returns true
	// when the answer is complete, and an error if the provider reports one. An
	// error of another type than *llm.Error means that the event is invalid.
	Parse(e sse.Event, out func(llm.Event)) (done bool, err error)

	// End is called when the stream has ended and Parse has not returned true. It
	// returns an error if the answer is not complete.
	End(out func(llm.Event)) error

	// Outcome returns the stop reason and the usage reported so far.
	Outcome() (llm.StopReason, llm.Usage)
}

// Stream sends a request and yields the events of its answer: usage and then
// done come last. It retries temporary errors until a part of the answer was
// yielded.
func (c *Client) Stream(ctx context.Context, call Call) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		silent := 0 // attempts that reached FirstByte
		for try := 1; ; try++ {
			a := attempt{client: c, yield: yield, parser: call.Parser()}
			err := a.run(ctx, call)
			if a.stopped || err == nil {
				return
			}
			if e, ok := errors.AsType[*llm.Error](err); ok && e.Kind == llm.ErrBadRequest && !a.yielded && call.Reduce != nil {
				if body, note, ok := call.Reduce(e); ok {
					if call.Body = body; !yield(llm.Event{Kind: llm.EventRetry, Note: note}, nil) {
						return
					}
					continue
				}
			}
			if a.silent {
				silent++
			}
			wait, again := c.Retry.after(try, err)
			if !again || a.yielded || silent > 1 {
				a.fail(err)
				return
			}
			note := fmt.Sprintf("%s. Retrying in %s (attempt %d of %d)", c.brief(err), wait.Round(100*time.Millisecond), try+1, c.Retry.attempts())
			if !yield(llm.Event{Kind: llm.EventRetry, Note: note, Wait: wait}, nil) {
				return
			}
			if err := sleep(ctx, wait); err != nil {
				yield(llm.Event{}, c.canceled(err))
				return
			}
		}
	}
}

// An attempt is one POST and its answer.
type attempt struct {
	client  *Client
	yield   func(llm.Event, error) bool
	parser  Parser
	build   llm.Builder
	yielded bool // some of the answer was yielded
	stopped bool // the caller left the loop
	silent  bool // no response came within FirstByte
}

var errIdle = errors.New("idle timeout")

func (a *attempt) run(parent context.Context, call Call) error {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	idle := a.client.Idle
	if idle <= 0 {
		idle = 10 * time.Minute
	}
	first := a.client.FirstByte
	if first <= 0 {
		first = min(idle, 3*time.Minute)
	}
	watch := time.AfterFunc(first, func() { cancel(errIdle) })
	defer watch.Stop()

	req, err := http.NewRequestWithContext(ctx, http.MethodPost, call.URL, bytes.NewReader(call.Body))
	if err != nil {
		return a.client.networkError(err)
	}
	for name, values := range call.Header {
		req.Header[name] = values
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream, application/json")
	res, err := a.client.http().Do(req)
	if err != nil {
		a.silent = errors.Is(context.Cause(ctx), errIdle)
		return a.client.connectionError(parent, ctx, err, first)
	}
	defer res.Body.Close()
	watch.Reset(idle)
	body := &watchedReader{r: res.Body, onRead: func() { watch.Reset(idle) }}
	if res.StatusCode != http.StatusOK {
		return a.client.responseError(res, body)
	}
	if err := a.read(res, body); err != nil {
		if e, ok := errors.AsType[*llm.Error](err); ok {
			return a.client.clean(e)
		}
		return a.client.connectionError(parent, ctx, err, idle)
	}
	return nil
}

// read parses the response.
func (a *attempt) read(res *http.Response, body io.Reader) error {
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if kind == "application/json" {
		return a.readWhole(body)
	}
	if kind != "text/event-stream" && kind != "" && kind != "text/plain" {
		text, _ := io.ReadAll(io.LimitReader(body, 512))
		return &llm.Error{Kind: llm.ErrBadRequest, Status: res.StatusCode, Message: fmt.Sprintf("the answer is %s instead of a stream of events: %s", kind, plain(text))}
	}
	in := sse.NewReader(body, 16<<20)
	for {
		e, err := in.Next()
		if err == io.EOF {
			err = a.parser.End(a.out)
			if err == nil {
				a.finish()
			}
			return err
		}
		if err != nil {
			return err
		}
		done, err := a.parse(e)
		if err != nil || a.stopped {
			return err
		}
		if done {
			a.finish()
			return nil
		}
	}
}

// readWhole parses a response with status 200 that is one JSON value instead of a
// stream: an answer or an error.
func (a *attempt) readWhole(body io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(body, 16<<20))
	if err != nil {
		return err
	}
	done, err := a.parse(sse.Event{Data: data})
	if err == nil && !done && !a.stopped {
		err = a.parser.End(a.out)
	}
	if err == nil && !a.stopped {
		a.finish()
	}
	return err
}

func (a *attempt) parse(e sse.Event) (bool, error) {
	done, err := a.parser.Parse(e, a.out)
	if _, ok := errors.AsType[*llm.Error](err); err != nil && !ok {
		err = &llm.Error{Kind: llm.ErrServer, Message: fmt.Sprintf("invalid event in the stream (%v): %s", err, plain(e.Data)), Err: err}
	}
	return done, err
}

func (a *attempt) out(e llm.Event) {
	if a.stopped {
		return
	}
	a.yielded = true
	a.build.Add(e)
	a.stopped = !a.yield(e, nil)
}

// finish yields the usage and the end of a complete answer.
func (a *attempt) finish() {
	stop, usage := a.parser.Outcome()
	usage.Cost = a.client.Prices.Of(usage)
	m := a.build.Message()
	if stop == llm.StopEnd && len(m.Calls()) > 0 {
		stop = llm.StopToolCalls // some servers send "stop" after calls
	}
	if usage != (llm.Usage{}) {
		a.out(llm.Event{Kind: llm.EventUsage, Usage: usage})
	}
	a.out(llm.Event{Kind: llm.EventDone, Stop: stop, Usage: usage, Message: &m})
}

// fail yields the usage so far and the error.
func (a *attempt) fail(err error) {
	if _, usage := a.parser.Outcome(); a.yielded && usage != (llm.Usage{}) {
		usage.Cost = a.client.Prices.Of(usage)
		if a.out(llm.Event{Kind: llm.EventUsage, Usage: usage}); a.stopped {
			return
		}
	}
	a.yield(llm.Event{}, err)
}

// A watchedReader calls onRead after each read that returned data.
type watchedReader struct {
	r      io.Reader
	onRead func()
}

func (w *watchedReader) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	if n > 0 {
		w.onRead()
	}
	return n, err
}
