// Package wire is what every provider's wire needs: one request that is sent
// until it is answered, the stream of its answer, and words for what went
// wrong.
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
	"time"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/sse"
)

// A Client sends requests to one provider.
type Client struct {
	Provider string
	HTTP     *http.Client // nil means one that follows no redirects
	Secrets  []string     // never shown; whatever an error says is searched for them
	Retry    Retry
	Idle     time.Duration // how long nothing may come; 0 means 10 minutes
	Prices   llm.Prices
}

// A Call is one request, in the form it is sent as often as needed.
type Call struct {
	URL    string
	Header http.Header
	Body   []byte
	Parser func() Parser // makes a new one for each try
}

// A Parser makes events of what a provider streams.
type Parser interface {
	// Take gives what one server-sent event says, by calling out. It returns
	// true when the answer is complete, and an error if the provider reports
	// one. An error that is no *llm.Error means that the event makes no sense.
	Take(e sse.Event, out func(llm.Event)) (done bool, err error)

	// End is asked when the stream has ended and Take never said done. It
	// returns an error if the answer is not complete.
	End(out func(llm.Event)) error

	// Outcome is what the provider said so far about the answer as a whole.
	Outcome() (llm.StopReason, llm.Usage)
}

// The way of one answer:
//
//	POST      again after a while, as long as no part of an answer was shown
//	head      status and type; anything but a stream is an error with words
//	events    package sse, however the bytes arrive
//	parser    the provider's words become ours
//	yield     usage, then done with the whole message
func (c *Client) Stream(ctx context.Context, call Call) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		for try := 1; ; try++ {
			a := attempt{client: c, yield: yield, parser: call.Parser()}
			err := a.run(ctx, call)
			if a.left || err == nil {
				return
			}
			wait, again := c.Retry.after(try, err)
			if !again || a.shown {
				a.fail(err)
				return
			}
			note := fmt.Sprintf("%s. Trying again in %s (try %d of %d)", c.brief(err), wait.Round(100*time.Millisecond), try+1, c.Retry.attempts())
			if !yield(llm.Event{Kind: llm.EventRetry, Note: note}, nil) {
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
	client *Client
	yield  func(llm.Event, error) bool
	parser Parser
	build  llm.Builder
	shown  bool // some of the answer was yielded: it cannot be taken back
	left   bool // the caller left the loop
}

var errIdle = errors.New("nothing came for too long")

func (a *attempt) run(parent context.Context, call Call) error {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	idle := a.client.Idle
	if idle <= 0 {
		idle = 10 * time.Minute
	}
	watch := time.AfterFunc(idle, func() { cancel(errIdle) })
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
		return a.client.broken(parent, ctx, err, idle)
	}
	defer res.Body.Close()
	body := &watched{r: res.Body, seen: func() { watch.Reset(idle) }}
	if res.StatusCode != http.StatusOK {
		return a.client.refused(res, body)
	}
	if err := a.read(res, body); err != nil {
		if e, ok := errors.AsType[*llm.Error](err); ok {
			return a.client.clean(e)
		}
		return a.client.broken(parent, ctx, err, idle)
	}
	return nil
}

// read goes through the events of an answer.
func (a *attempt) read(res *http.Response, body io.Reader) error {
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if kind == "application/json" {
		return a.readWhole(body)
	}
	if kind != "text/event-stream" && kind != "" && kind != "text/plain" {
		text, _ := io.ReadAll(io.LimitReader(body, 512))
		return &llm.Error{Kind: llm.ErrServer, Status: res.StatusCode, Message: fmt.Sprintf("expected a stream of events, got %s: %s. Is the base URL right?", kind, plain(text))}
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
		done, err := a.take(e)
		if err != nil || a.left {
			return err
		}
		if done {
			a.finish()
			return nil
		}
	}
}

// readWhole is for servers that answer a request for a stream with the whole
// answer, or with an error, and say that it is fine.
func (a *attempt) readWhole(body io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(body, 16<<20))
	if err != nil {
		return err
	}
	done, err := a.take(sse.Event{Data: data})
	if err == nil && !done && !a.left {
		err = a.parser.End(a.out)
	}
	if err == nil && !a.left {
		a.finish()
	}
	return err
}

func (a *attempt) take(e sse.Event) (bool, error) {
	done, err := a.parser.Take(e, a.out)
	if _, ok := errors.AsType[*llm.Error](err); err != nil && !ok {
		err = &llm.Error{Kind: llm.ErrServer, Message: fmt.Sprintf("an event of the stream cannot be read (%v): %s", err, plain(e.Data)), Err: err}
	}
	return done, err
}

func (a *attempt) out(e llm.Event) {
	if a.left {
		return
	}
	a.shown = true
	a.build.Add(e)
	a.left = !a.yield(e, nil)
}

// finish says that the answer is complete.
func (a *attempt) finish() {
	stop, usage := a.parser.Outcome()
	usage.Cost = a.client.Prices.Of(usage)
	m := a.build.Message()
	if stop == llm.StopEnd && len(m.Calls()) > 0 {
		stop = llm.StopToolCalls // some servers say "stop" after calls
	}
	if usage != (llm.Usage{}) {
		a.out(llm.Event{Kind: llm.EventUsage, Usage: usage})
	}
	a.out(llm.Event{Kind: llm.EventDone, Stop: stop, Usage: usage, Message: &m})
}

// fail ends the stream; what was used until then is said before.
func (a *attempt) fail(err error) {
	if _, usage := a.parser.Outcome(); a.shown && usage != (llm.Usage{}) {
		usage.Cost = a.client.Prices.Of(usage)
		if a.out(llm.Event{Kind: llm.EventUsage, Usage: usage}); a.left {
			return
		}
	}
	a.yield(llm.Event{}, err)
}

// watched tells whenever something was read.
type watched struct {
	r    io.Reader
	seen func()
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	if n > 0 {
		w.seen()
	}
	return n, err
}
