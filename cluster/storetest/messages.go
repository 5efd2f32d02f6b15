package storetest

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/cluster"
)

// listen subscribes and returns what is received; "lost" means that messages may
// be missing.
func listen(t *testing.T, s cluster.Store, topic string) <-chan string {
	t.Helper()
	c := make(chan string, 10_000)
	stop, err := s.Subscribe(t.Context(), topic, func(data []byte) { c <- string(data) }, func() { c <- "lost" })
	must(t, err)
	t.Cleanup(stop)
	return c
}

func publish(t *testing.T, s Subject) {
	ctx, a, b := t.Context(), open(t, s), open(t, s)
	must(t, a.Publish(ctx, "t", []byte("before"))) // to nobody
	own, other, elsewhere := listen(t, a, "t"), listen(t, b, "t"), listen(t, b, "t2")
	second := listen(t, b, "t")
	must(t, a.Publish(ctx, "t", []byte("\x00one")))
	must(t, b.Publish(ctx, "t2", nil))
	must(t, b.Publish(ctx, "t", []byte("two")))
	for name, c := range map[string]<-chan string{"own": own, "other": other, "second": second} {
		if got := [2]string{wait(t, c, name), wait(t, c, name)}; got != [2]string{"\x00one", "two"} {
			t.Errorf("%s received %q", name, got)
		}
	}
	if got := wait(t, elsewhere, "t2"); got != "" {
		t.Errorf("the other topic: %q", got)
	}
}

func publishInOrder(t *testing.T, s Subject) {
	a, b := open(t, s), open(t, s)
	c := listen(t, b, "t")
	const n = 500
	for i := range n {
		must(t, a.Publish(t.Context(), "t", []byte(strconv.Itoa(i))))
	}
	for i := range n {
		if got := wait(t, c, "a message"); got != strconv.Itoa(i) {
			t.Fatalf("%s after %d", got, i-1)
		}
	}
}

func slowReceiver(t *testing.T, s Subject) {
	ctx, a, b := t.Context(), open(t, s), open(t, s)
	began, goOn, lost, last := make(chan bool), make(chan bool), make(chan int, 100), make(chan bool)
	received := 0
	stop, err := b.Subscribe(ctx, "t", func(data []byte) {
		if received++; received == 1 {
			close(began)
			<-goOn
		}
		if string(data) == "last" {
			close(last)
		}
	}, func() { lost <- received })
	must(t, err)
	t.Cleanup(stop)
	fast := listen(t, b, "t")
	const n = 3000
	for range n {
		must(t, a.Publish(ctx, "t", []byte("x")))
		if got := wait(t, fast, "the fast receiver"); got != "x" {
			t.Fatalf("the fast receiver: %q", got)
		}
	}
	wait(t, began, "the first message")
	close(goOn)
	if got := wait(t, lost, "the loss"); got >= n || got < 100 {
		t.Errorf("lost after %d of %d messages", got, n)
	}
	must(t, a.Publish(ctx, "t", []byte("last")))
	wait(t, last, "a message after the loss")
	if len(lost) != 0 {
		t.Error("one loss is signalled several times")
	}
}

func unsubscribe(t *testing.T, s Subject) {
	ctx, a := t.Context(), open(t, s)
	var mu sync.Mutex
	ended := false
	other := listen(t, a, "t")
	stop, err := a.Subscribe(ctx, "t", func([]byte) {
		mu.Lock()
		defer mu.Unlock()
		if ended {
			t.Error("received after the end")
		}
	}, func() {})
	must(t, err)
	for i := range 200 {
		must(t, a.Publish(ctx, "t", []byte("x")))
		if i == 100 {
			stop()
			mu.Lock()
			ended = true
			mu.Unlock()
			stop() // does nothing
		}
	}
	for range 200 {
		wait(t, other, "the other subscriber")
	}
}

func subscribers(t *testing.T, s Subject) {
	ctx, b := t.Context(), open(t, s)
	each(t, s, func(i int, store cluster.Store) {
		topic := "t" + strconv.Itoa(i%3)
		for range 5 {
			c := make(chan bool, 1000)
			got := func() {
				select {
				case c <- true:
				default:
				}
			}
			stop, err := store.Subscribe(ctx, topic, func([]byte) { got() }, got)
			if err != nil {
				t.Error(err)
				return
			}
			if err := b.Publish(ctx, topic, nil); err != nil {
				t.Error(err)
			}
			select {
			case <-c:
			case <-time.After(hangGuard):
				t.Error("a subscriber received nothing")
			}
			stop()
		}
	})
}
