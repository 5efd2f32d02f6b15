package fs

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

type searchArgs struct {
	Path            string   `json:"path" doc:"the directory to search in"`
	Pattern         string   `json:"pattern" doc:"a pattern for paths below the directory, such as **/*.go" schema:"minLength=1"`
	ExcludePatterns []string `json:"excludePatterns,omitzero" doc:"patterns of paths to leave out" schema:"default='[]'"`
	Gitignore       bool     `json:"gitignore,omitzero" doc:"leave out .git and files ignored by git"`
	Offset          int      `json:"offset,omitzero" doc:"number of matches to skip: nextOffset of an earlier result" schema:"minimum=0"`
}

// A found is the result of search_files. The paths are in the content.
type found struct {
	Path       string `json:"path" doc:"the directory searched"`
	Shown      int    `json:"shown" doc:"number of matches shown"`
	NextOffset int    `json:"nextOffset,omitzero" doc:"offset for the next call, if there are more matches"`
	Unreadable int    `json:"unreadable,omitzero" doc:"number of directories that could not be read"`

	text, notice string
}

func (f found) MCPContents() mcp.Contents {
	blocks := mcp.Contents{mcp.Text(f.text)}
	if f.notice != "" {
		blocks = append(blocks, mcp.Text(f.notice))
	}
	return blocks
}

func searchFiles(ctx context.Context, c *call, in searchArgs) (found, error) {
	p, info, err := c.existing(in.Path)
	if err != nil {
		return found{}, err
	}
	if !info.IsDir() {
		return found{}, fmt.Errorf("%s is %s, not a directory", in.Path, kind(info.Mode()))
	}
	pattern, err := newGlob(in.Pattern)
	if err != nil {
		return found{}, err
	}
	exclude, err := newGlobs(in.ExcludePatterns)
	if err != nil {
		return found{}, err
	}
	out := found{Path: p.String()}
	var lines []string
	room, matches := c.MaxResult, 0
	w := &walk{call: c, start: p, gitignore: in.Gitignore, visit: func(at location, rel string, e fs.DirEntry) step {
		if anyMatches(exclude, rel) || e.Type()&fs.ModeSymlink != 0 && c.target(at.parent(), e) == nil {
			return skipEntry
		}
		if !pattern.match(rel) {
			return walkOn
		}
		if matches++; matches <= in.Offset {
			return walkOn
		}
		line := printable(at.String())
		if room -= len(line) + 1; room < 0 && len(lines) > 0 {
			out.NextOffset = matches - 1
			return stopWalk
		}
		lines = append(lines, line)
		return walkOn
	}}
	if err := w.run(ctx); err != nil {
		return found{}, fmt.Errorf("%s: %w", in.Path, err)
	}
	out.Shown, out.Unreadable = len(lines), w.unread
	out.text = strings.Join(lines, "\n")
	switch {
	case out.NextOffset > 0:
		out.notice = fmt.Sprintf("[There are more. Continue with offset=%d.]", out.NextOffset)
	case matches == 0:
		out.text = "No matches found"
		if !strings.Contains(in.Pattern, "/") && !strings.Contains(in.Pattern, "**") {
			out.notice = fmt.Sprintf("[Only names directly in %s were compared. Use **/%s to search at any depth.]", in.Path, in.Pattern)
		}
	case len(lines) == 0:
		out.text = fmt.Sprintf("No more matches; there are %d in all", matches)
	}
	return out, nil
}

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
