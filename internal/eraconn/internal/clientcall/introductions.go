package clientcall

import (
	"sync"

	"github.com/tenon-mcp/tenon/mcp"
)

// An Introduction is what a client says of itself. What its pointers lead to never
// changes.
type Introduction struct {
	Client       *mcp.Implementation
	Capabilities *mcp.ClientCapabilities
}

// Introductions keeps one Introduction for all clients that say the same. It
// depends on their bytes alone, so it is no state of a client.
type Introductions struct {
	mu    sync.RWMutex
	known map[string]Introduction
}

const (
	maxKnown     = 256
	maxKnownSize = 4 << 10 // in bytes; longer ones are not kept
)

// Get returns the Introduction that Put got last for these bytes.
func (i *Introductions) Get(said []byte) (in Introduction, ok bool) {
	i.mu.RLock()
	defer i.mu.RUnlock()
	in, ok = i.known[string(said)]
	return in, ok
}

// Put keeps an Introduction for a while.
func (i *Introductions) Put(said []byte, in Introduction) {
	if len(said) > maxKnownSize {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.known == nil || len(i.known) >= maxKnown {
		i.known = map[string]Introduction{}
	}
	i.known[string(said)] = in
}
