package notes

import (
	"sync"

	"github.com/fsnotify/fsnotify"
)

// A gathering is what has been told and not yet been looked at.
type gathering struct {
	mu    sync.Mutex
	names map[string]bool
	all   bool // more than could be kept, or nobody knows what
}

// listen gathers what the system tells until it tells no more.
func (g *gathering) listen(told *fsnotify.Watcher, v *vault, ready chan<- struct{}) {
	for {
		name, known := "", false
		select {
		case e, ok := <-told.Events:
			if !ok {
				return
			}
			if e.Op == fsnotify.Chmod {
				continue
			}
			if name, known = v.relative(e.Name); !known {
				continue
			}
		case err, ok := <-told.Errors:
			if !ok {
				return
			}
			v.logger().Debug("notes: changes were missed, so everything is looked at", "error", err)
		}
		g.add(name, known)
		select {
		case ready <- struct{}{}:
		default:
		}
	}
}

func (g *gathering) add(name string, known bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.all:
	case !known || len(g.names) >= maxGathered:
		g.all = true
		clear(g.names)
	default:
		g.names[name] = true
	}
}

func (g *gathering) take() (names []string, all bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for name := range g.names {
		names = append(names, name)
	}
	all, g.all = g.all, false
	clear(g.names)
	return names, all
}
