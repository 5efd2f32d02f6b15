package web

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"
)

// P6: the last ten runs of a tool are kept, in order, within a bound.
func TestRunListKeepsTheLastTen(t *testing.T) {
	var l runList
	for i := range 15 {
		c := pageCall{ID: fmt.Sprint(i), Server: "s", Tool: "t", N: l.number("s", "t")}
		l.put(c, json.RawMessage(fmt.Sprint(c.N)))
		l.put(c, json.RawMessage(fmt.Sprint(c.N))) // its end
	}
	l.put(pageCall{ID: "other", Server: "s", Tool: "u"}, json.RawMessage(`"u"`))
	got := fmt.Sprintf("%s", l.of("s", "t"))
	if got != "[6 7 8 9 10 11 12 13 14 15]" {
		t.Errorf("kept %s", got)
	}
	if n := len(l.of("s", "")); n != 11 {
		t.Errorf("the server has %d runs", n)
	}
	if _, ok := l.get("0"); ok {
		t.Error("a run that was dropped is found")
	}
	large := make(json.RawMessage, mostRunSize)
	l.put(pageCall{ID: "large", Server: "s", Tool: "v"}, large)
	if all := l.of("s", ""); len(all) != 1 || l.size != len(large) {
		t.Errorf("%d runs of %d bytes are kept", len(all), l.size)
	}
}

func TestQuantile(t *testing.T) {
	times := []time.Duration{}
	for i := range 100 {
		times = append(times, time.Duration(i+1)*time.Millisecond)
	}
	for _, test := range []struct {
		n, percent int
		want       float64
	}{{100, 50, 50}, {100, 95, 95}, {1, 50, 1}, {1, 95, 1}, {2, 50, 1}, {3, 95, 3}} {
		if got := quantile(times[:test.n], test.percent); got != test.want {
			t.Errorf("p%d of %d is %v, want %v", test.percent, test.n, got, test.want)
		}
	}
}
