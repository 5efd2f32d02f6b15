package notes

import (
	"sync"

	"github.com/fsnotify/fsnotify"
)

// A changeSet holds the changes that were reported and not yet processed.
type changeSet struct {
	mu    sync.Mutex
	names map[string]bool
	all   bool // too many changes, or lost events: rescan everything
}

// listen collects file system events until the watcher is closed.
func (g *changeSet) listen(notifier *fsnotify.Watcher, v *vault, ready chan<- struct{}) {
	for {
		name, known := "", false
		select {
		case e, ok := <-notifier.Events:
			if !ok {
				return
			}
			if e.Op == fsnotify.Chmod {
				continue
			}
			if name, known = v.relative(e.Name); !known {
				continue
			}
		case err, ok := <-notifier.Errors:
			if !ok {
				return
			}
			v.logger().Debug("notes: file system events were lost; rescanning", "error", err)
		}
		g.add(name, known)
		select {
		case ready <- struct{}{}:
		default:
		}
	}
}

func (g *changeSet) add(name string, known bool) {
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

func (g *changeSet) take() (names []string, all bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for name := range g.names {
		names = append(names, name)
	}
	all, g.all = g.all, false
	clear(g.names)
	return names, all
}
