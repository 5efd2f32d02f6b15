package modern

import (
	"sync"

	"github.com/tenon-mcp/tenon/mcp"
)

// known caches the decoded clientInfo and capabilities of clients: each request
// repeats them in the same bytes, and decoding them would cost more than the
// call. The cache depends on the bytes alone, so it is no state of a client.
type known struct {
	mu      sync.RWMutex
	callers map[string]introduction
}

type introduction struct {
	client       *mcp.Implementation
	capabilities *mcp.ClientCapabilities
}

const (
	maxKnown     = 256
	maxKnownSize = 4 << 10 // in bytes; longer ones are not cached
)

func (k *known) read(client, capabilities []byte) (*mcp.Implementation, *mcp.ClientCapabilities, error) {
	var buf [1024]byte
	key := append(append(append(buf[:0], client...), 0), capabilities...)
	k.mu.RLock()
	in, ok := k.callers[string(key)]
	k.mu.RUnlock()
	if ok {
		return in.client, in.capabilities, nil
	}
	in.capabilities = new(mcp.ClientCapabilities)
	if err := mcp.Unmarshal(capabilities, in.capabilities); err != nil {
		return nil, nil, mcp.InvalidParams("params._meta[%q]: %v", mcp.MetaClientCapabilities, err)
	}
	if client != nil {
		in.client = new(mcp.Implementation)
		if err := mcp.Unmarshal(client, in.client); err != nil {
			return nil, nil, mcp.InvalidParams("params._meta[%q]: %v", mcp.MetaClientInfo, err)
		}
	}
	if len(key) <= maxKnownSize {
		k.mu.Lock()
		if len(k.callers) >= maxKnown || k.callers == nil {
			k.callers = map[string]introduction{}
		}
		k.callers[string(key)] = in
		k.mu.Unlock()
	}
	return in.client, in.capabilities, nil
}
