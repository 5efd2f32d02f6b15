package notes

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	gather      = 50 * time.Millisecond  // how long changes are collected
	pollTime    = 500 * time.Millisecond // interval where there are no notifications
	maxGathered = 4096                   // more changes cause a rescan
)

// A watcher follows the changes that other programs make. It uses file
// system notifications, and polls where they are unavailable or the folders
// are too many to watch.
//
// One goroutine collects notifications and another processes them, so that a
// flood of changes costs one read of each file and a fixed amount of memory.
type watcher struct {
	v        *vault
	notified *fsnotify.Watcher // nil when polling
	dirs     map[string]bool   // watched folders
}

func (v *vault) watch() *watcher {
	w := &watcher{v: v, dirs: map[string]bool{}}
	if v.poll > 0 {
		return w
	}
	notifier, err := fsnotify.NewWatcher()
	if err != nil {
		v.logger().Warn("notes: file system notifications are not available; polling for changes", "error", err)
		return w
	}
	w.notified = notifier
	return w
}

func (w *watcher) close() {
	if w.notified != nil {
		w.notified.Close()
	}
}

// folder watches one more folder. If that fails, polling takes over.
func (w *watcher) folder(dir string) {
	if w.notified == nil {
		return
	}
	// Also if the name is watched already: the folder may be a new one.
	err := w.notified.Add(filepath.Join(w.v.dir, filepath.FromSlash(dir)))
	switch {
	case err == nil:
		w.dirs[dir] = true
	case !errors.Is(err, fs.ErrNotExist):
		w.v.logger().Warn("notes: too many folders to watch; polling for changes", "folders", len(w.dirs), "error", err)
		w.notified.Close()
		w.notified = nil
	}
}

// follow keeps the vault up to date until ctx ends.
func (w *watcher) follow(ctx context.Context) {
	if w.notified != nil {
		g := &changeSet{names: map[string]bool{}}
		ready := make(chan struct{}, 1)
		notifier := w.notified
		gathered := make(chan struct{})
		go func() { // collects events until the watcher is closed
			defer close(gathered)
			g.listen(notifier, w.v, ready)
		}()
		w.onNotify(ctx, g, ready)
		notifier.Close()
		<-gathered
	}
	if ctx.Err() == nil {
		w.poll(ctx)
	}
}

// onNotify processes collected changes until ctx ends or watching fails.
func (w *watcher) onNotify(ctx context.Context, g *changeSet, ready chan struct{}) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	took := time.Duration(0)
	w.rescan(ctx) // changes made while the vault was being read
	for w.notified != nil {
		select {
		case <-ready:
		case <-ctx.Done():
			return
		}
		pause.Reset(max(gather, 2*took))
		select {
		case <-pause.C:
		case <-ctx.Done():
			return
		}
		names, all := g.take()
		start := time.Now()
		if all || !w.refreshFiles(names) {
			w.rescan(ctx)
		}
		took = time.Since(start)
	}
}

// refreshFiles reads single files again. It returns false if folders were added or
// removed.
func (w *watcher) refreshFiles(names []string) bool {
	for _, name := range names {
		info, err := w.v.root.Lstat(name)
		if w.dirs[name] || err == nil && info.IsDir() {
			return false
		}
	}
	for _, name := range names {
		if isNote(filepath.Base(name)) {
			w.v.refresh(name)
		}
	}
	return true
}

// poll rescans the vault periodically, less often if a rescan takes long.
func (w *watcher) poll(ctx context.Context) {
	every := pollTime
	if w.v.poll > 0 {
		every = w.v.poll
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		start := time.Now()
		w.rescan(ctx)
		timer.Reset(max(every, 10*time.Since(start)))
	}
}

// rescan compares the index with the files.
func (w *watcher) rescan(ctx context.Context) {
	v := w.v
	for dir := range w.dirs { // a removed folder must not hide a new one of that name
		if _, err := v.root.Lstat(dir); err != nil && w.notified != nil {
			w.notified.Remove(filepath.Join(v.dir, filepath.FromSlash(dir)))
			delete(w.dirs, dir)
		}
	}
	v.mu.RLock()
	known := maps.Clone(v.notes)
	v.mu.RUnlock()
	there, err := v.walk(ctx, w.folder, known)
	if err != nil {
		if ctx.Err() == nil {
			v.logger().Warn("notes: rescanning the vault failed", "error", err)
		}
		return
	}
	for _, f := range there {
		old := known[f.name]
		delete(known, f.name)
		if f.info != nil && (old == nil || old.size != f.info.Size() || !old.modified.Equal(f.info.ModTime())) {
			v.refresh(f.name)
		}
	}
	for name := range known { // it may exist again
		if _, err := v.root.Lstat(name); err == nil {
			v.refresh(name)
			delete(known, name)
		}
	}
	v.refreshing.Lock()
	defer v.refreshing.Unlock()
	v.forget(slices.Collect(maps.Keys(known))...)
}

// relative returns the path of a note or folder in the vault, or false if an
// element begins with a dot.
func (v *vault) relative(name string) (string, bool) {
	rel, err := filepath.Rel(v.dir, name)
	if err != nil {
		return "", false
	}
	rel = filepath.ToSlash(rel)
	if rel == "." {
		return rel, true
	}
	for part := range strings.SplitSeq(rel, "/") {
		if strings.HasPrefix(part, ".") {
			return "", false
		}
	}
	return rel, true
}

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
