package connect

import (
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/app/config"
)

// A Fleet is a set of independent servers. The zero value is empty.
type Fleet struct {
	mu      sync.Mutex
	servers []*Server
	closed  bool
}

// Add starts a server in the background. It fails if the name is taken.
func (f *Fleet) Add(entry config.Server, o *Options) (*Server, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, errors.New("cannot add a server: all servers were closed")
	}
	if f.find(entry.Name) >= 0 {
		return nil, errors.New("there is already a server named " + entry.Name + ": choose another name")
	}
	s := New(entry, o)
	f.servers = append(f.servers, s)
	return s, nil
}

// Remove closes and removes a server.
func (f *Fleet) Remove(name string) error {
	f.mu.Lock()
	i := f.find(name)
	if i < 0 {
		f.mu.Unlock()
		return errors.New("no server named " + name)
	}
	s := f.servers[i]
	f.servers = slices.Delete(f.servers, i, i+1)
	f.mu.Unlock()
	return s.Close()
}

// Get returns a server by its name, or nil.
func (f *Fleet) Get(name string) *Server {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i := f.find(name); i >= 0 {
		return f.servers[i]
	}
	return nil
}

// All returns the servers sorted by name.
func (f *Fleet) All() []*Server {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := slices.Clone(f.servers)
	slices.SortFunc(all, func(a, b *Server) int { return strings.Compare(a.Name(), b.Name()) })
	return all
}

// Close closes all servers concurrently and waits for it.
func (f *Fleet) Close() error {
	f.mu.Lock()
	servers := f.servers
	f.servers, f.closed = nil, true
	f.mu.Unlock()
	errs := make([]error, len(servers))
	var all sync.WaitGroup
	for i, s := range servers {
		all.Go(func() { errs[i] = s.Close() })
	}
	all.Wait()
	return errors.Join(errs...)
}

func (f *Fleet) find(name string) int {
	return slices.IndexFunc(f.servers, func(s *Server) bool { return s.Name() == name })
}
