package credential

import (
	"testing"
	"time"
)

// A call whose token was refused uses the one that another call has obtained
// meanwhile, and does not drop it.
func TestRefusedTokensOfConcurrentCalls(t *testing.T) {
	h := newHolder()
	old, young := &token{Access: "old", Refresh: "r"}, &token{Access: "young"}
	obtain := func(*token) (*token, error) { return young, nil }
	h.set(old)
	if h.refused(old) {
		t.Error("a token that was refused at once is obtained again")
	}
	h.at = time.Now().Add(-time.Minute)
	for range 2 {
		if !h.refused(old) {
			t.Error("a refused token is not renewed")
		}
	}
	if got, err := h.get(t.Context(), obtain); got != young || err != nil {
		t.Error(got, err)
	}
	for _, age := range []time.Duration{0, time.Minute} {
		h.at = time.Now().Add(-age)
		if !h.refused(old) || h.current() != young {
			t.Errorf("after %s: the new token is not used: %+v", age, h.current())
		}
	}
	if !h.refused(young) || h.current() == young {
		t.Error("the new token cannot be refused")
	}
}
