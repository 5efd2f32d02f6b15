package telemetry

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/internal/textclip"
	"github.com/tenon-mcp/tenon/mcp"
)

// A Caller is a client that has made calls.
type Caller struct {
	Client    string       `json:"client,omitempty"` // name and version; empty: it did not say
	Principal string       `json:"principal,omitempty"`
	Revision  mcp.Revision `json:"revision,omitempty"`
	Calls     int64        `json:"calls"`
	Last      time.Time    `json:"last"` // the begin of the last call
}

// callerKey identifies a caller.
type callerKey struct {
	name, version, issuer, principal string
	revision                         mcp.Revision
}

type callerCount struct{ calls, last atomic.Int64 }

const (
	maxCallers  = 200
	callerQuiet = time.Hour // a caller may be forgotten
)

// callers counts the calls of each caller. Counting a known one takes no lock.
type callers struct {
	known atomic.Pointer[map[callerKey]*callerCount]
	mu    sync.Mutex
	full  time.Time // no new ones until then
}

// add counts a call. When there are too many callers, those that were quiet for an
// hour are forgotten; if there are none, new ones are not counted.
func (c *callers) add(of *mcp.Caller, now time.Time) {
	key := callerKey{revision: of.Revision}
	if of.Client != nil {
		key.name, key.version = textclip.Clip(of.Client.Name, maxLabel), textclip.Clip(of.Client.Version, maxLabel)
	}
	if p := of.Principal; p != nil {
		key.issuer, key.principal = textclip.Clip(p.Issuer, maxLabel), textclip.Clip(p.ID, maxLabel)
	}
	n := c.get(key)
	if n == nil {
		n = c.make(key, now)
	}
	if n != nil {
		n.calls.Add(1)
		n.last.Store(now.UnixNano())
	}
}

func (c *callers) get(key callerKey) *callerCount {
	if m := c.known.Load(); m != nil {
		return (*m)[key]
	}
	return nil
}

func (c *callers) make(key callerKey, now time.Time) *callerCount {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.get(key); n != nil {
		return n
	}
	if now.Before(c.full) {
		return nil
	}
	next := map[callerKey]*callerCount{}
	if m := c.known.Load(); m != nil {
		maps.Copy(next, *m)
	}
	if len(next) >= maxCallers {
		maps.DeleteFunc(next, func(_ callerKey, n *callerCount) bool {
			return n.last.Load() < now.Add(-callerQuiet).UnixNano()
		})
	}
	if len(next) >= maxCallers {
		c.full = now.Add(time.Minute)
		return nil
	}
	n := new(callerCount)
	next[key] = n
	c.known.Store(&next)
	return n
}

// Callers returns the clients that have made calls, the last one first. There are
// at most 200: those that have been quiet for an hour may be left out.
func (t *Telemetry) Callers() []Caller {
	all := []Caller{}
	if m := t.callers.known.Load(); m != nil {
		for key, n := range *m {
			client := strings.TrimSpace(key.name + " " + key.version)
			all = append(all, Caller{client, key.principal, key.revision, n.calls.Load(), time.Unix(0, n.last.Load())})
		}
	}
	slices.SortFunc(all, func(a, b Caller) int {
		return cmp.Or(b.Last.Compare(a.Last), strings.Compare(a.Client, b.Client), strings.Compare(a.Principal, b.Principal))
	})
	return all
}
