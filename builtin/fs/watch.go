package fs

import (
	"context"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/tenon-mcp/tenon/mcp"
)

// changeDelay is how long changes are collected before they are announced,
// since one save often takes many writes.
const changeDelay = 100 * time.Millisecond

// maxListDirs is the maximum number of directories watched for list changes.
const maxListDirs = 256

// maxWatched is the maximum number of files that one subscription can name.
const maxWatched = 1000

// A watcher notifies subscribers of changed files. It watches the
// directories of subscribed files rather than the files, because many
// programs replace a file when they save it. It starts with the first
// subscription.
type watcher struct {
	files *files

	mu     sync.Mutex
	notify *fsnotify.Watcher
	done   sync.WaitGroup
	closed bool
	dirs   map[string]int            // number of subscriptions for each directory
	uris   map[string]map[string]int // by path: the subscribed URIs and the number of subscriptions
	lists  map[string]int            // directories watched for list changes
}

// watchSubscriptions is middleware that watches the files of a subscription while
// it is open.
func (w *watcher) watchSubscriptions(next mcp.Handler) mcp.Handler {
	return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
		if c.Method != mcp.MethodSubscriptionsListen {
			return next.Serve(ctx, c)
		}
		var in mcp.ListenParams
		if err := c.Decode(&in); err != nil {
			return mcp.Result{}, err
		}
		undo := w.watchAll(ctx, c, in.Notifications)
		detached := false
		inner := *c
		if c.Detach != nil { // the watch lasts as long as the subscription
			inner.Detach = func(stop func()) {
				detached = true
				c.Detach(func() { stop(); undo() })
			}
		}
		defer func() {
			if !detached {
				undo()
			}
		}()
		return next.Serve(ctx, &inner)
	})
}

// watchAll watches the files of a subscription until undo is called. It also
// works with a context that has ended.
func (w *watcher) watchAll(ctx context.Context, c *mcp.Call, f mcp.SubscriptionFilter) (undo func()) {
	ctx = context.WithoutCancel(ctx)
	scoped := &call{Call: c, files: w.files, areas: w.files.allRoots()}
	var all []func()
	for _, uri := range f.ResourceSubscriptions[:min(len(f.ResourceSubscriptions), maxWatched)] {
		if p, _, err := scoped.resolve(uri); err == nil {
			all = append(all, w.watchFile(p, uri))
		}
	}
	if f.ResourcesListChanged {
		for _, dir := range w.listDirs(ctx, scoped) {
			all = append(all, w.watchList(dir))
		}
	}
	return sync.OnceFunc(func() {
		for _, f := range all {
			f()
		}
	})
}

// watchFile announces uri when the file changes, until undo is called.
func (w *watcher) watchFile(p location, uri string) (undo func()) {
	name, dir := p.String(), p.parent().String()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.uris[name] == nil {
		if w.uris == nil {
			w.uris = map[string]map[string]int{}
		}
		w.uris[name] = map[string]int{}
	}
	w.uris[name][uri]++
	w.add(dir)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.uris[name][uri]--; w.uris[name][uri] == 0 {
			delete(w.uris[name], uri)
		}
		if len(w.uris[name]) == 0 {
			delete(w.uris, name)
		}
		w.remove(dir)
	}
}

// watchList announces a list change when entries of dir are added or removed.
func (w *watcher) watchList(dir string) (undo func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lists == nil {
		w.lists = map[string]int{}
	}
	w.lists[dir]++
	w.add(dir)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.lists[dir]--; w.lists[dir] == 0 {
			delete(w.lists, dir)
		}
		w.remove(dir)
	}
}

// listDirs returns the directories nearest to the roots, up to maxListDirs.
func (w *watcher) listDirs(ctx context.Context, c *call) []string {
	type todo struct {
		at    location
		rules *ignores
	}
	var queue []todo
	for _, r := range c.roots {
		queue = append(queue, todo{location{r, "."}, c.ignoring(location{r, "."})})
	}
	var dirs []string
	for ; len(queue) > 0 && len(dirs) < maxListDirs && ctx.Err() == nil; queue = queue[1:] {
		at := queue[0]
		entries, err := readDir(at.at)
		if err != nil {
			continue
		}
		dirs = append(dirs, at.at.String())
		for _, e := range entries {
			if p := at.at.join(e.Name()); e.IsDir() && !at.rules.ignored(p.rel, true) && !p.inKernelFS() {
				queue = append(queue, todo{p, c.within(at.rules, p)})
			}
		}
	}
	return dirs
}

// add counts a subscription for a directory and watches it. The caller holds
// the lock. A directory that cannot be watched is logged; changes made by
// this server are still announced.
func (w *watcher) add(dir string) {
	if w.dirs == nil {
		w.dirs = map[string]int{}
	}
	if w.dirs[dir]++; w.dirs[dir] > 1 || w.closed {
		return
	}
	if w.notify == nil {
		n, err := fsnotify.NewBufferedWatcher(256)
		if err != nil {
			w.files.Log.Warn("watching files failed", "error", err)
			return
		}
		w.notify = n
		w.done.Go(func() { w.handle(n) })
	}
	if err := w.notify.Add(dir); err != nil {
		w.files.Log.Warn("watching a directory failed", "directory", dir, "error", err)
	}
}

func (w *watcher) remove(dir string) {
	if w.dirs[dir]--; w.dirs[dir] > 0 {
		return
	}
	delete(w.dirs, dir)
	if w.notify != nil && !w.closed {
		w.notify.Remove(dir) // fails if the directory was removed
	}
}

// handle processes file system events until the watcher is closed.
func (w *watcher) handle(n *fsnotify.Watcher) {
	for {
		select {
		case e, ok := <-n.Events:
			if !ok {
				return
			}
			if e.Op != fsnotify.Chmod {
				w.announce(e.Name, e.Has(fsnotify.Create) || e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename))
			}
		case err, ok := <-n.Errors:
			if !ok {
				return
			}
			// The event queue overflowed: any file may have changed.
			w.files.Log.Warn("file system events were lost", "error", err)
			w.everything()
		}
	}
}

// announce announces that a file changed and, if it was added or removed,
// that the list changed.
func (w *watcher) announce(name string, comesOrGoes bool) {
	name = filepath.Clean(name)
	if isReserved(filepath.Base(name)) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for uri := range w.uris[name] {
		w.files.server.ResourceUpdated(uri)
	}
	if comesOrGoes && w.lists[filepath.Dir(name)] > 0 {
		w.files.server.ResourceListChanged()
	}
}

func (w *watcher) everything() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, uris := range w.uris {
		for uri := range uris {
			w.files.server.ResourceUpdated(uri)
		}
	}
	w.files.server.ResourceListChanged()
}

// changed announces a change made by this server.
func (f *files) changed(p location, comesOrGoes bool) {
	f.watch.announce(p.String(), false)
	if comesOrGoes {
		f.server.ResourceListChanged()
	}
}

func (w *watcher) close() error {
	w.mu.Lock()
	n := w.notify
	w.closed = true
	w.mu.Unlock()
	if n == nil {
		return nil
	}
	err := n.Close()
	w.done.Wait()
	return err
}
