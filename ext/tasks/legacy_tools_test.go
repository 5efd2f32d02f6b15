package tasks

import (
	"encoding/json"
	"fmt"
	"testing"
)

// Sessions share what they see of equal lists, each in its revision, and the lists that
// are kept are bounded.
func TestProjectionsAreShared(t *testing.T) {
	var p projections
	see := func(i int, core bool) string {
		t.Helper()
		seen, err := p.of(fmt.Appendf(nil, `{"tools":[{"name":"t%d"}]}`, i), core)
		if err != nil {
			t.Fatal(err)
		}
		return string(seen)
	}
	for range 2 {
		if got := see(1, true); got != `{"tools":[{"execution":{"taskSupport":"optional"},"name":"t1"}]}` {
			t.Error(got)
		}
		if got := see(1, false); got != `{"tools":[{"name":"t1"}]}` {
			t.Error(got)
		}
	}
	if len(p.recent) != 2 {
		t.Errorf("%d lists are kept", len(p.recent))
	}
	for i := range 3 * maxProjections {
		see(i+2, true)
		see(1, true) // it is used, and so it is kept
	}
	if len(p.recent) != maxProjections || p.find([]byte(`{"tools":[{"name":"t1"}]}`), true) == nil || p.find([]byte(`{"tools":[{"name":"t2"}]}`), true) != nil {
		t.Errorf("%d lists are kept", len(p.recent))
	}
	if _, err := p.of(json.RawMessage(`[]`), true); err == nil {
		t.Error("a list that is none has no error")
	}
}
