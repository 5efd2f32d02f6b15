package jsonrpc

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
)

func TestOutlineFindsIDAndKind(t *testing.T) {
	deep := strings.Repeat("[", 700) + `"]}",{"id":9,"method":"m"}` + strings.Repeat("]", 700)
	for _, c := range []struct{ in, want string }{
		{`{"jsonrpc":"2.0","id":3,"result":{}}`, "3 response"},
		{`{"jsonrpc":"2.0","id":3,"result":{"a":`, "3 response"},
		{`{"jsonrpc":"2.0","result":{"id":4,"method":"x","t":"\"}\\"},"id":3}`, "3 response"},
		{`{"result":` + deep + `,"id":3}`, "3 response"},
		{`{"result":{"a":"` + strings.Repeat(`x\"\\`, 500) + `"},"id":3}`, "3 response"},
		{`{"error":"` + strings.Repeat("e", 3*MaxID) + `","id":3}`, "3 response"},
		{"{\"id\" : 3 ,\t\"error\" : \"\xff\xfe\" }", "3 response"},
		{`{"id":"a\u0062","result":{}`, `"a\u0062" response`},
		{`{"id":3,"method":"m","params":{}}`, "3 request"},
		{`{"id":3,"params":{},"method":"m"`, "3 request"},
		{`{"id":3,"jsonrpc":"2.0"}`, "3"},
		{`{"id":3`, ""}, // it could go on: 31
		{`{"id":3.5,"result":{}}`, " response"},
		{`{"id":null,"result":{}}`, " response"},
		{`{"id":{"id":3},"result":{}}`, " response"},
		{`{"id":[3],"result":{}}`, " response"},
		{`{"id":"` + strings.Repeat("x", MaxID) + `","result":{}}`, " response"},
		{`{"id":"` + "\x01" + `","result":{}}`, " response"},
		{`{"result":{}} {"id":3}`, " response"},
		{`[{"id":3,"result":{}}]`, ""},
		{`log: {"id":3,"result":{}}`, ""},
		{`"id":3,"result":{}`, ""},
		{`}{"id":3,"result":{}}`, ""},
		{``, ""},
	} {
		var pieces outline
		for i := range len(c.in) {
			pieces.add([]byte(c.in[i : i+1]))
		}
		for how, o := range map[string]outline{"whole": outlineOf([]byte(c.in)), "byte by byte": pieces} {
			got := string(o.id)
			if o.request {
				got += " request"
			}
			if o.response {
				got += " response"
			}
			if got != c.want {
				t.Errorf("%s, %.80s: got %q, want %q", how, c.in, got, c.want)
			}
			if cap(o.token) > 2*MaxID {
				t.Errorf("%s, %.80s: %d bytes are kept", how, c.in, cap(o.token))
			}
		}
	}
}

// L21: a response that cannot be decoded fails its call at once, and says why.
func TestResponseThatCannotBeReadFailsItsCall(t *testing.T) {
	const limit = 1000
	long := strings.Repeat("x", 1500)
	for _, c := range []struct{ name, line, want string }{
		{"too long", `{"jsonrpc":"2.0","id":1,"result":{"t":"` + long + `"}}`, "1542 bytes; the limit is 1000"},
		{"too long, id last", `{"jsonrpc":"2.0","result":{"t":"` + long + `"},"id":1}`, "1542 bytes"},
		{"too long, an error", `{"id":1,"error":{"code":1,"message":"` + long + `"}}`, "bytes"},
		{"never ends", `{"id":1,"result":{"t":"` + strings.Repeat(long, 100), "more than"},
		{"invalid UTF-8", `{"jsonrpc":"2.0","id":1,"result":{"t":"` + "\xff" + `"}}`, "byte 39"},
		{"control character", `{"jsonrpc":"2.0","id":1,"result":{"t":"` + "\x01" + `"}}`, "byte 39"},
		{"cut off", `{"jsonrpc":"2.0","id":1,"result":{"t":`, "byte 38"},
		{"not a number", `{"jsonrpc":"2.0","id":1,"result":{"n":NaN}}`, "byte 38"},
		{"a name twice", `{"jsonrpc":"2.0","id":1,"result":{"n":1,"n":2}}`, "byte"},
		{"too deep", `{"jsonrpc":"2.0","id":1,"result":` + strings.Repeat(`[`, 600) + strings.Repeat(`]`, 300), "512"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				in, feed := io.Pipe()
				conn := NewConn(Lines(in, io.Discard, in, limit), serving{}, nil)
				ran := make(chan error, 1)
				go func() { ran <- conn.Run(t.Context()) }()
				failed := make(chan error, 1)
				go func() {
					_, err := conn.Call(t.Context(), "m", nil)
					failed <- err
				}()
				synctest.Wait()
				end := "\n"
				if c.name == "never ends" {
					end = ""
				}
				go func() { _, _ = io.WriteString(feed, c.line+end) }()
				synctest.Wait()
				select {
				case err := <-failed:
					if _, ok := errors.AsType[*DecodeError](err); !ok || !strings.Contains(err.Error(), c.want) {
						t.Errorf("the call failed with %v, want %q", err, c.want)
					}
				default:
					t.Error("the call still waits")
				}
				feed.Close()
				<-ran
			})
		})
	}
}

// A message that cannot be read and is not recognisably a response to this call
// leaves the call alone.
func TestUnreadableMessagesFailNoOtherCall(t *testing.T) {
	long := strings.Repeat("x", 1500)
	lines := []string{
		`{"id":1,"method":"m","params":{"t":"` + long + `"}}`,
		`{"id":2,"result":{"t":"` + long + `"}}`,
		`{"method":"m","params":{"t":"` + long + `"}}`,
		`{"id":1,"method":"m","params":{"t":"` + "\xff" + `"}}`,
		`{"id":2,"result":{"t":"` + "\xff" + `"}}`,
		long,
		"\xff",
	}
	bubble(t, func(t *testing.T) {
		in, feed := io.Pipe()
		var noises int
		conn := NewConn(Lines(in, io.Discard, in, 1000), serving{}, &ConnOptions{OnInvalidFrame: func([]byte, error) { noises++ }})
		ran := make(chan error, 1)
		go func() { ran <- conn.Run(t.Context()) }()
		done := make(chan error, 1)
		go func() {
			_, err := conn.Call(t.Context(), "m", nil)
			done <- err
		}()
		synctest.Wait()
		fmt.Fprintln(feed, strings.Join(lines, "\n"))
		synctest.Wait()
		if len(done) > 0 {
			t.Errorf("the call failed: %v", <-done)
		}
		if noises != len(lines) {
			t.Errorf("%d reports, want %d", noises, len(lines))
		}
		fmt.Fprintln(feed, `{"jsonrpc":"2.0","id":1,"result":{}}`)
		if err := <-done; err != nil {
			t.Errorf("the call failed: %v", err)
		}
		feed.Close()
		<-ran
	})
}

// A server names the request that was too long, so that its client need not
// wait.
func TestRequestTooLongIsAnsweredByID(t *testing.T) {
	var out strings.Builder
	long := strings.Repeat("x", 1500)
	in := `{"jsonrpc":"2.0","id":"r7","method":"m","params":{"t":"` + long + `"}}` + "\n" +
		`{"jsonrpc":"2.0","id":8,"result":{"t":"` + long + `"}}` + "\n"
	s := Lines(strings.NewReader(in), &out, nopCloser{}, 1000)
	if err := NewConn(s, serving{}, &ConnOptions{RespondToInvalid: true}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":"r7","error":{"code":-32600,"message":"message too large`) || strings.Count(got, "\n") != 1 {
		t.Errorf("got %s", got)
	}
}

// An endless is a line without an end.
type endless struct{ head, left int }

func (e *endless) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n := min(len(p), e.left)
	for i := range p[:n] {
		p[i] = 'x'
	}
	if e.head == 0 {
		e.head = copy(p, `{"id":1,"result":{"t":"`)
	}
	e.left -= n
	return n, nil
}

// L33: a line that does not end takes no more memory than the limit.
func TestEndlessLineStaysWithinTheLimit(t *testing.T) {
	const limit, slack = 8 << 20, 64 << 10
	for _, size := range []int{limit + 1, 2 * limit, 20 * limit} {
		s := Lines(&endless{left: size}, io.Discard, nopCloser{}, limit)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := s.Read()
		_, end := s.Read()
		runtime.ReadMemStats(&after)
		bad, ok := errors.AsType[*FrameError](err)
		if !ok || bad.Size < min(size, 2*limit) || string(bad.ID) != "1" || !bad.Response || bad.Open != (size > 2*limit) {
			t.Errorf("%d bytes: got %+v", size, err)
		}
		if end != io.EOF {
			t.Errorf("%d bytes: then %v", size, end)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > limit+slack {
			t.Errorf("%d bytes: reading allocated %d bytes, %d more than the limit", size, took, took-limit)
		}
	}
}

// A long line that is accepted is copied once.
func TestLongLineIsCopiedOnce(t *testing.T) {
	const limit, slack = 8 << 20, 64 << 10
	s := Lines(io.MultiReader(&endless{left: limit}, strings.NewReader("\n")), io.Discard, nopCloser{}, limit)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	line, err := s.Read()
	runtime.ReadMemStats(&after)
	if err != nil || len(line) != limit {
		t.Fatalf("%d bytes, %v", len(line), err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 2*limit+slack {
		t.Errorf("reading %d bytes allocated %d", limit, took)
	}
}
