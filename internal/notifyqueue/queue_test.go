package notifyqueue

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

func values(items []Item[string]) (all []string) {
	for _, it := range items {
		all = append(all, it.Value)
	}
	return all
}

func change(key string) Item[string] { return Item[string]{Kind: Change, Key: key, Value: key} }

// Changes that already wait are not added again; the order is that of the first.
func TestChangesAreMerged(t *testing.T) {
	for _, many := range []int{3, fewItems * 4} { // searched one by one, and through the index
		var p Pending[string]
		var want []string
		for range 5 {
			for i := range many {
				p.Add(change(fmt.Sprint(i)))
			}
		}
		for i := range many {
			want = append(want, fmt.Sprint(i))
		}
		if got := values(p.Take()); !slices.Equal(got, want) {
			t.Errorf("%d changes wait as %q", many, got)
		}
		p.Add(change("0"))
		if p.Len() != 1 {
			t.Error("a change that was taken does not wait again")
		}
	}
}

// Changes that cannot be merged are lost with a word.
func TestTooManyChangesAreLost(t *testing.T) {
	var p Pending[string]
	for i := range MaxWaiting {
		p.Add(change(fmt.Sprint(i)))
	}
	if p.Lost() {
		t.Error("lost before the bound")
	}
	p.Add(change("0"))
	if p.Lost() {
		t.Error("lost although it could be merged")
	}
	p.Add(change("one more"))
	if !p.Lost() || p.Len() != MaxWaiting {
		t.Errorf("lost %v, %d wait", p.Lost(), p.Len())
	}
}

// Old progress and old log messages are dropped, each for itself; responses are
// not, and the order stays.
func TestOldProgressIsDropped(t *testing.T) {
	var p Pending[string]
	p.Add(Item[string]{Kind: Response, Value: "first"})
	for i := range 3 * MaxWaiting {
		p.Add(Item[string]{Kind: Progress, Value: fmt.Sprint("p", i)})
		p.Add(Item[string]{Kind: Response, Value: fmt.Sprint("r", i)})
	}
	p.Add(Item[string]{Kind: Log, Value: "log"})
	got := values(p.Take())
	count := func(kind string) (n int) {
		for _, v := range got {
			if strings.HasPrefix(v, kind) {
				n++
			}
		}
		return n
	}
	if count("p") != MaxWaiting || count("r") != 3*MaxWaiting || got[0] != "first" || got[len(got)-1] != "log" {
		t.Errorf("%d reports of progress, %d responses", count("p"), count("r"))
	}
	if i := slices.Index(got, fmt.Sprint("p", 2*MaxWaiting)); i < 0 || got[i+1] != fmt.Sprint("r", 2*MaxWaiting) {
		t.Error("the newest progress does not stand where it came")
	}
}

// What waits is bounded in bytes, and a single large message is kept.
func TestProgressIsBoundedInBytes(t *testing.T) {
	for _, kind := range []Kind{Progress, Log} {
		var p Pending[string]
		for i := range 100 {
			p.Add(Item[string]{Kind: kind, Size: 100 << 10, Value: fmt.Sprint(i)})
		}
		if got := values(p.Take()); len(got) != 10 || got[9] != "99" {
			t.Errorf("%q wait", got)
		}
		p.Add(Item[string]{Kind: kind, Size: 10 << 20, Value: "a"})
		p.Add(Item[string]{Kind: kind, Size: 20 << 20, Value: "b"})
		if got := values(p.Take()); !slices.Equal(got, []string{"b"}) {
			t.Errorf("%q wait", got)
		}
	}
}

// One goroutine at a time delivers, everything is delivered once, and in the
// order in which each sender sent.
func TestSendersDeliver(t *testing.T) {
	var q Queue[string]
	var got []string // the race detector sees to it that one appends
	var all sync.WaitGroup
	for s := range 8 {
		all.Go(func() {
			for i := range 1000 {
				if !q.Put(Item[string]{Value: fmt.Sprintf("%d %04d", s, i)}) {
					continue
				}
				for items, ok := q.Next(); ok; items, ok = q.Next() {
					got = append(got, values(items)...)
				}
			}
		})
	}
	all.Wait()
	q.Await()
	if len(got) != 8000 {
		t.Fatalf("%d were delivered", len(got))
	}
	slices.SortStableFunc(got, func(a, b string) int { return strings.Compare(a[:1], b[:1]) })
	if !slices.IsSorted(got) {
		t.Error("what one sender sent came in another order")
	}
}

// A receiver hands over to senders, and another takes over from them.
func TestReceiver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q Queue[string]
		q.Receive()
		if q.Put(change("a")) || q.Claim() {
			t.Error("a sender delivers although there is a receiver")
		}
		<-q.Ready()
		if items, _ := q.Take(); len(items) != 1 {
			t.Errorf("%q wait", values(items))
		}
		q.Wake()
		<-q.Ready()
		took := make(chan bool, 1)
		go func() { q.Await(); took <- true }()
		synctest.Wait()
		if len(took) > 0 {
			t.Fatal("two deliver")
		}
		if _, ok := q.Next(); ok {
			t.Error("there is more")
		}
		<-took
		q.Next()
		if !q.Put(change("b")) {
			t.Error("nobody delivers")
		}
		q.Close()
		if items, ok := q.Next(); !ok || len(items) != 1 {
			t.Error("what waited when the queue was closed is not delivered")
		}
		q.Next()
		if q.Put(change("c")) || q.Claim() || !q.IsClosed() {
			t.Error("a closed queue takes something")
		}
	})
}
