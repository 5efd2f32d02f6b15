package notes

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/internal/bm25"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// What a word counts, by where it is.
const (
	titleWeight   = 5
	tagWeight     = 4
	headingWeight = 2
	bodyWeight    = 1
)

var fieldWeights = []float64{titleWeight, tagWeight, headingWeight, bodyWeight}

// A vault is the notes of a folder and what is known about them.
type vault struct {
	root    *os.Root
	dir     string
	grants  *Grants
	poll    time.Duration
	log     *slog.Logger
	changes *server.Server // is told which notes there are and which change

	refreshing sync.Mutex // one look at a file at a time, so that the last one counts

	mu    sync.RWMutex
	notes map[string]*note // by path
	index *bm25.Index      // replaced once, by adopt

	cacheFile string       // where the index is kept; empty means nowhere
	unsaved   atomic.Int64 // how many notes were read or dropped since

	ready        chan struct{} // closed when all notes have been read once
	listed       chan struct{} // closed when all notes are resources
	done, total  atomic.Int64  // how far that is
	failed       atomic.Pointer[error]
	announceable bool // resources are listed from now on; guarded by refreshing
}

// A note is what is remembered of a file. It is never changed, only replaced.
type note struct {
	path     string
	title    string
	tags     []string // in small letters, without #, sorted
	aliases  []string
	links    []string // see linkKey
	modified time.Time
	size     int64
	version  version
	stamp    stamp // of the file it was read from, for the cache
}

// wait returns when the vault has been read, and tells a waiting caller how far
// that is.
func (v *vault) wait(ctx context.Context, c *mcp.Call) error { return v.waitFor(ctx, c, v.ready) }

func (v *vault) waitFor(ctx context.Context, c *mcp.Call, what <-chan struct{}) error {
	select {
	case <-what:
		return v.failure()
	default:
	}
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-what:
			return v.failure()
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
			done, total := v.done.Load(), v.total.Load()
			if total > 0 {
				server.Progress(c, float64(done), float64(total), fmt.Sprintf("reading the vault: %d of %d notes", done, total))
			}
		}
	}
}

// failure is why the vault could not be read at all.
func (v *vault) failure() error {
	if err := v.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// get returns a note by its path, or nil.
func (v *vault) get(name string) *note {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.notes[name]
}

// visible returns the notes that a caller may read, in no order.
func (v *vault) visible(a access, keep func(*note) bool) []*note {
	v.mu.RLock()
	defer v.mu.RUnlock()
	var all []*note
	for _, n := range v.notes {
		if a.reads(n.path) && (keep == nil || keep(n)) {
			all = append(all, n)
		}
	}
	return all
}

// find returns the path of the note that a caller means: the one with this
// path, or else the only one that it may read with this name, whatever the
// case. A note that it may not read is not there.
func (v *vault) find(ctx context.Context, c *mcp.Call, said string) (string, error) {
	name, err := cleanPath(said)
	if err != nil {
		return "", err
	}
	a := v.access(&c.Caller)
	if a.reads(name) {
		if info, err := v.root.Lstat(name); err == nil && !info.IsDir() {
			return name, v.namedError(name)
		}
	}
	if err := v.wait(ctx, c); err != nil {
		return "", err
	}
	k := key(name)
	same := v.visible(a, func(n *note) bool { return endsWith(key(n.path), k) })
	slices.SortFunc(same, func(x, y *note) int {
		return cmp.Or(cmp.Compare(len(x.path), len(y.path)), cmp.Compare(x.path, y.path))
	})
	switch {
	case len(same) == 1 || len(same) > 1 && key(same[0].path) == k && key(same[1].path) != k:
		return same[0].path, nil
	case len(same) == 0:
		return "", noNote(name)
	}
	var names []string
	for _, n := range same[:min(len(same), 5)] {
		names = append(names, n.path)
	}
	return "", fmt.Errorf("%q could be %s, such as %s: give the whole path", clip(said), plural(len(same), "note"), strings.Join(names, ", "))
}

func (v *vault) namedError(name string) error {
	if err := v.checkLinks(name); err != nil {
		return fileError(name, err)
	}
	return nil
}

// endsWith reports whether a path is the shorter one or ends with it after a
// slash.
func endsWith(long, short string) bool {
	return strings.HasSuffix(long, short) && (len(long) == len(short) || long[len(long)-len(short)-1] == '/')
}

// hasTag reports whether a note has a tag, or one below it: "work" has
// "work/urgent" below it.
func (n *note) hasTag(tag string) bool {
	return slices.ContainsFunc(n.tags, func(t string) bool {
		return t == tag || strings.HasPrefix(t, tag) && t[len(tag)] == '/'
	})
}

// filter is what a list of notes may be narrowed to.
func filter(tag, folder string) (func(*note) bool, error) {
	tag = cleanTag(tag)
	folder = strings.TrimSuffix(folder, "/")
	if folder != "" {
		clean, err := cleanFolder(folder)
		if err != nil {
			return nil, err
		}
		folder = clean
	}
	return func(n *note) bool { return (tag == "" || n.hasTag(tag)) && inside(n.path, folder) }, nil
}

// cleanTag makes a tag of what a caller or an author wrote.
func cleanTag(said string) string {
	return strings.ToLower(strings.Trim(strings.TrimSpace(said), "#/"))
}

// newNote works out what is remembered of a file.
func newNote(name string, info fs.FileInfo, f *facts, ver version) *note {
	n := &note{path: name, modified: info.ModTime(), size: info.Size(), version: ver, stamp: stampOf(info, time.Now())}
	if f != nil {
		n.title, n.tags, n.aliases, n.links = f.title, f.tags, f.aliases, f.links
	}
	if n.title == "" {
		n.title = baseName(name)
	}
	return n
}
