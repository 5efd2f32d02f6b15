package fs

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/tenon-mcp/tenon/server"
)

// A step tells a walk how to continue after a visit.
type step int

const (
	walkOn    step = iota // continue, and enter a directory
	skipEntry             // continue without entering
	stopWalk              // end the walk
)

// A walk visits everything below a directory in name order, each directory
// before its entries. Links are visited and not followed.
type walk struct {
	call      *call
	start     location
	gitignore bool // leave out files ignored by git
	visit     func(p location, rel string, e fs.DirEntry) step
	seen      int
	unread    int // number of directories that could not be read
}

// maxWalked is the maximum depth of a walk. Each step takes longer the
// deeper it is.
const maxWalked = 300

// run walks and reports progress.
func (w *walk) run(ctx context.Context) error {
	entries, err := readDir(w.start)
	if err != nil {
		return err
	}
	var rules *ignores
	if w.gitignore {
		rules = w.call.ignoring(w.start)
	}
	_, err = w.dir(ctx, w.start, ".", entries, rules)
	return err
}

func (w *walk) dir(ctx context.Context, dir location, rel string, entries []fs.DirEntry, rules *ignores) (step, error) {
	for _, e := range entries {
		if err := ctx.Err(); err != nil { // deep entries can be slow
			return stopWalk, err
		}
		if w.seen++; w.seen%1000 == 0 {
			server.Progress(w.call.Call, float64(w.seen), 0, fmt.Sprintf("%d files and directories seen", w.seen))
		}
		p := dir.join(e.Name())
		if w.gitignore && rules.ignored(p.rel, e.IsDir()) {
			continue
		}
		below := path.Join(rel, e.Name())
		next := w.visit(p, below, e)
		if next == stopWalk {
			return stopWalk, ctx.Err()
		}
		if next == skipEntry || !e.IsDir() || p.inKernelFS() {
			continue
		}
		if strings.Count(p.rel, "/") >= maxWalked {
			w.unread++
			continue
		}
		more, err := readDir(p)
		if err != nil {
			w.unread++
			continue
		}
		inner := rules
		if w.gitignore {
			inner = w.call.within(rules, p)
		}
		if next, err := w.dir(ctx, p, below, more, inner); err != nil || next == stopWalk {
			return next, err
		}
	}
	return walkOn, ctx.Err()
}
