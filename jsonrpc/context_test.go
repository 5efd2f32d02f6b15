package jsonrpc

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// The context of a request behaves as one of the standard library, whenever it
// is first asked and whether it ends by itself or with its parent.
func TestRequestContext(t *testing.T) {
	for _, byParent := range []bool{false, true} {
		for _, askedBefore := range []bool{false, true} {
			type key struct{}
			parent, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "v"))
			c := &requestContext{parent: parent}
			if askedBefore {
				c.Done()
			}
			if c.Err() != nil || context.Cause(c) != nil || c.Value(key{}) != "v" {
				t.Errorf("before its end: %v, %v, %v", c.Err(), context.Cause(c), c.Value(key{}))
			}
			if byParent {
				cancel()
			} else {
				c.end()
			}
			if c.Err() != context.Canceled || context.Cause(c) != context.Canceled || c.Value(key{}) != "v" {
				t.Errorf("by its parent %v, asked before %v: %v, %v, %v", byParent, askedBefore, c.Err(), context.Cause(c), c.Value(key{}))
			}
			select {
			case <-c.Done():
			default:
				t.Errorf("by its parent %v, asked before %v: it is not done", byParent, askedBefore)
			}
			c.end()
			cancel()
		}
	}
}

// Contexts that handlers derive end with that of their request, and need no
// goroutine for it.
func TestDerivedContexts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent, cancel := context.WithCancel(t.Context())
		defer cancel()
		c := &requestContext{parent: parent}
		derived, stop := context.WithTimeout(c, time.Hour)
		defer stop()
		heard := false
		context.AfterFunc(c, func() { heard = true })
		synctest.Wait()
		c.end()
		if derived.Err() == nil { // at once, so nobody stands in between
			t.Error("the derived context has not ended")
		}
		synctest.Wait()
		if !heard || !errors.Is(context.Cause(derived), context.Canceled) {
			t.Errorf("heard %v, cause %v", heard, context.Cause(derived))
		}
	})
}
