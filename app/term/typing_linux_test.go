package term

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/app/llm/keyword"
	"github.com/tenon-mcp/tenon/internal/ptytest"
)

// prose has every letter that ever answered a question, many times.
const prose = "once upon a session, no one always denied any of the seasoned envoys; nobody ever said yes to an open door. "

// typeThrough types a text of so many letters, 60 to 200 ms for each, while
// approvals pop up at random moments, some of which go away again. In the end
// the text must have been sent whole, and no approval answered.
func typeThrough(t *testing.T, seed uint64, letters, approvals int) {
	random := rand.New(rand.NewPCG(seed, 13))
	keys, tty := ptytest.Open(t, 24, 80)
	t.Cleanup(func() { keys.Close(); tty.Close() })
	feed := NewFeed()
	w := desk(t, keyword.Model{}, feed, nil)
	history := filepath.Join(t.TempDir(), "history")
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	ended := make(chan error, 1)
	go func() {
		ended <- Run(ctx, w, Options{Feed: feed, Theme: "plain", History: history, In: tty, Out: tty})
	}()
	shown := make(chan struct{})
	go func() { // ends when the terminal is closed, or the test ends
		b := make([]byte, 64<<10)
		for first := true; ; first = false {
			if _, err := keys.Read(b); err != nil {
				return
			}
			if first {
				close(shown)
			}
		}
	}()
	<-shown
	pops := map[int]int{} // how many approvals come before a letter
	for range approvals {
		pops[random.IntN(letters)]++
	}
	var calls sync.WaitGroup
	var cancels []context.CancelFunc
	popped, withdrawn := 0, 0
	text := strings.Repeat(prose, letters/len(prose)+1)[:letters-1] + "!"
	for i, letter := range text {
		for range pops[i] {
			call, cancel := context.WithCancel(ctx)
			cancels = append(cancels, cancel)
			popped++
			calls.Go(func() {
				if c, _ := w.Host.NewSession().Call(call, "calc", "add", json.RawMessage(`{"a":1,"b":2}`)); c != nil && c.Result != nil {
					t.Errorf("it ran: %+v", c)
				}
			})
			if random.IntN(4) == 0 { // the question in front goes, the next one takes its place
				cancels[withdrawn]()
				withdrawn++
			}
		}
		time.Sleep(time.Duration(60+random.IntN(141)) * time.Millisecond)
		if _, err := keys.WriteString(string(letter)); err != nil {
			t.Fatal(err)
		}
	}
	keys.WriteString("\r")
	sent := func() string {
		raw, _ := os.ReadFile(history)
		return string(raw)
	}
	for end := time.Now().Add(time.Minute); !strings.Contains(sent(), "!") && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	if got := sent(); !strings.Contains(got, text) {
		t.Errorf("of\n%q\nthis was sent:\n%q", text, got)
	}
	if n := len(w.Host.Asks()); n < popped-withdrawn {
		t.Errorf("%d approvals are open of %d", n, popped-withdrawn)
	}
	for _, cancel := range cancels {
		cancel()
	}
	calls.Wait()
	keys.WriteString("\x04") // Ctrl-D on an empty line leaves
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Point 2 of the permissions: typing ahead approves nothing and loses nothing.
// This is a real terminal in real time; make test runs the long form, with 200
// approvals.
func TestTypingAheadApprovesNothing(t *testing.T) {
	terminals, letters, approvals := 2, 24, 8
	if os.Getenv("MUST_RUN") != "" {
		terminals, letters, approvals = 8, 60, 25
	}
	for i := range terminals {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			typeThrough(t, uint64(i), letters, approvals)
		})
	}
}

// The same without a clock: what a key does depends on no time. Here the
// approvals come between any two keys, with Enter among them.
func TestTypingThroughManyApprovals(t *testing.T) {
	random := rand.New(rand.NewPCG(200, 13))
	d := drive(t, nil, nil, nil)
	ctx, stop := context.WithCancel(t.Context())
	var calls sync.WaitGroup
	defer calls.Wait()
	defer stop()
	text := strings.Repeat(prose, 12)
	popped := 0
	for _, letter := range text {
		for popped < 200 && random.IntN(6) == 0 {
			popped++
			calls.Go(func() {
				if c, _ := d.w.Host.NewSession().Call(ctx, "calc", "add", json.RawMessage(`{"a":1,"b":2}`)); c != nil && c.Result != nil {
					t.Errorf("it ran: %+v", c)
				}
			})
			d.until("the question is shown", func() bool { return len(d.s.questions) == popped })
		}
		if random.IntN(40) == 0 && d.s.input.text == "" {
			d.press("enter")
		}
		d.types(string(letter))
	}
	if popped != 200 || len(d.w.Host.Asks()) != popped || len(d.s.questions) != popped {
		t.Errorf("%d approvals, of which %d are open and %d shown", popped, len(d.w.Host.Asks()), len(d.s.questions))
	}
	if d.s.input.text != text {
		t.Errorf("the line is %q", d.s.input.text)
	}
}
