package notes

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"path"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/tenon-mcp/tenon/internal/safefile"
	"github.com/tenon-mcp/tenon/mcp"
)

const maxDepth = 64 // of folders

// run reads the vault and follows its changes until ctx ends.
func (v *vault) run(ctx context.Context) {
	w := v.watch()
	defer w.close()
	cached := make(chan *cache, 1)
	go func() { cached <- v.loadCache() }()
	files, err := v.walk(ctx, w.folder, map[string]*note{})
	unread := v.adopt(<-cached, files)
	if err == nil {
		v.readAll(ctx, unread)
		err = ctx.Err()
	}
	if err != nil {
		if ctx.Err() == nil {
			v.logger().Error("notes: reading the vault failed", "vault", v.dir, "error", err)
		}
		v.fail(errors.New("read the vault: the folder is missing or the server is closing"))
		return
	}
	v.index.Search("warm", 1, nil) // warm up for the first search
	close(v.ready)
	v.list(ctx)
	close(v.listed)
	v.saveCache()
	debug.FreeOSMemory() // return the garbage of the first read
	w.follow(ctx)
	v.saveCache()
}

// fail records why the vault cannot be read and wakes the waiting calls.
func (v *vault) fail(err error) {
	v.failed.Store(&err)
	close(v.ready)
	close(v.listed)
}

// A file is a note found by a walk.
type file struct {
	name string
	info fs.FileInfo // nil unless known was given
}

// walk returns all notes. It calls folder for every folder before it reads
// it, so that a watch on it misses nothing. If known is not nil, it has the
// notes known so far: folders that cannot be read now count as unchanged,
// and files are returned with their info.
func (v *vault) walk(ctx context.Context, folder func(string), known map[string]*note) ([]file, error) {
	var all []file
	var visit func(dir string, depth int) error
	visit = func(dir string, depth int) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		folder(dir)
		entries, err := fs.ReadDir(v.root.FS(), dir)
		if err != nil && dir == "." {
			return err
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			v.logger().Warn("notes: reading a folder failed", "folder", dir, "error", err)
			for name := range known {
				if inside(name, dir) {
					all = append(all, file{name: name})
				}
			}
		}
		for _, e := range entries {
			name := path.Join(dir, e.Name())
			switch {
			case safefile.IsTemp(e.Name()):
				safefile.SweepFile(v.root, name)
			case strings.HasPrefix(e.Name(), "."):
			case e.IsDir() && depth < maxDepth:
				if err := visit(name, depth+1); err != nil {
					return err
				}
			case e.Type().IsRegular() && isNote(e.Name()):
				f := file{name: name}
				if known != nil {
					f.info, _ = e.Info()
				}
				all = append(all, f)
			}
		}
		return nil
	}
	err := visit(".", 0)
	return all, err
}

// readAll reads all notes for the first time, on all CPUs.
func (v *vault) readAll(ctx context.Context, files []file) {
	v.total.Store(int64(len(files)))
	next := make(chan string)
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), 8) {
		wg.Go(func() {
			var buf []byte
			for name := range next {
				buf = v.readFirst(name, buf)
				v.done.Add(1)
				v.unsaved.Add(1)
			}
		})
	}
	for _, f := range files {
		if ctx.Err() != nil {
			break
		}
		next <- f.name
	}
	close(next)
	wg.Wait()
}

// readFirst reads one note for the first time and returns the buffer for reuse.
func (v *vault) readFirst(name string, buf []byte) []byte {
	b, info, err := v.readNote(name, buf)
	if n := v.indexNote(name, b, info, err); n != nil {
		v.mu.Lock()
		v.notes[name] = n
		v.mu.Unlock()
	}
	if cap(b) > cap(buf) && cap(b) <= 1<<20 {
		return b
	}
	return buf
}

// indexNote indexes a note from its content. It returns nil if there is no such
// note.
func (v *vault) indexNote(name string, b []byte, info fs.FileInfo, err error) *note {
	switch {
	case errors.Is(err, errTooLarge) || err == nil && isText(b) != nil:
		v.index.Put(name, baseName(name), "", "", name)
		return newNote(name, info, nil, versionOf(b))
	case err != nil:
		if !errors.Is(err, fs.ErrNotExist) {
			v.logger().Warn("notes: reading a note failed", "note", name, "error", err)
		}
		return nil
	}
	// The text is only read, and the buffer does not change meanwhile.
	text := unsafe.String(unsafe.SliceData(b), len(b))
	f := parse(name, text)
	n := newNote(name, info, f, versionOf(b))
	title := n.title
	if base := baseName(name); base != title {
		title += " " + base
	}
	if len(f.aliases) > 0 {
		title += " " + strings.Join(f.aliases, " ")
	}
	folders := ""
	if dir := path.Dir(name); dir != "." {
		folders = dir
	}
	v.index.Put(name, title, strings.Join(f.tags, " "), strings.Join(f.headings, "\n"), text, folders)
	return n
}

// list adds all notes as resources.
func (v *vault) list(ctx context.Context) {
	v.refreshing.Lock()
	defer v.refreshing.Unlock()
	v.announceable = true
	v.mu.RLock()
	names := slices.Sorted(maps.Keys(v.notes))
	v.mu.RUnlock()
	for _, name := range names {
		if ctx.Err() != nil { // the server is closing
			return
		}
		v.announce(v.get(name))
	}
}

// announce adds or updates the resource of a note.
func (v *vault) announce(n *note) {
	spec := mcp.Resource{URI: uriOf(n.path), Name: n.path, Title: n.title, MIMEType: "text/markdown"}
	if err := v.changes.AddResource(spec, v.readResource, nil); err != nil {
		v.logger().Warn("notes: listing a note failed", "note", n.path, "error", err)
	}
}

// refresh reads one note again and announces the change. It runs after every
// change, by this server or another program; the last read wins.
func (v *vault) refresh(name string) {
	v.refreshing.Lock()
	defer v.refreshing.Unlock()
	old := v.get(name)
	b, info, err := v.readNote(name, nil)
	if err == nil && old != nil && old.version == versionOf(b) && old.size == info.Size() {
		if !old.modified.Equal(info.ModTime()) {
			touched := *old
			touched.modified, touched.stamp = info.ModTime(), stampOf(info, time.Now())
			v.put(&touched)
		}
		return
	}
	v.unsaved.Add(1)
	n := v.indexNote(name, b, info, err)
	if n == nil {
		v.forget(name)
		return
	}
	v.put(n)
	if !v.announceable {
		return
	}
	if old == nil || old.title != n.title {
		v.announce(n)
	}
	v.changes.ResourceUpdated(uriOf(name))
}

func (v *vault) put(n *note) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.notes[n.path] = n
}

// forget drops removed notes. The caller holds refreshing.
func (v *vault) forget(names ...string) {
	var uris []string
	for _, name := range names {
		v.mu.Lock()
		_, known := v.notes[name]
		delete(v.notes, name)
		v.mu.Unlock()
		if known {
			v.index.Remove(name)
			uris = append(uris, uriOf(name))
		}
	}
	v.changes.RemoveResources(uris...)
	for _, uri := range uris {
		v.changes.ResourceUpdated(uri)
	}
}
