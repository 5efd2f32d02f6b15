package fs

import (
	"context"
	"fmt"
	"io/fs"
	"strings"

	"github.com/tenon-mcp/tenon/mcp"
)

type searchArgs struct {
	Path            string   `json:"path" doc:"the directory to search in"`
	Pattern         string   `json:"pattern" doc:"such as **/*.go, for paths below the directory" schema:"minLength=1"`
	ExcludePatterns []string `json:"excludePatterns,omitzero" doc:"patterns of what to leave out" schema:"default='[]'"`
	Gitignore       bool     `json:"gitignore,omitzero" doc:"leave out what git ignores, and .git itself"`
	Offset          int      `json:"offset,omitzero" doc:"how many matches to pass over, as an earlier result says" schema:"minimum=0"`
}

// A found is what a search by name came to; the paths are in the content.
type found struct {
	Path       string `json:"path" doc:"where the search began"`
	Shown      int    `json:"shown" doc:"how many matches are shown"`
	NextOffset int    `json:"nextOffset,omitzero" doc:"the offset with which to go on, if there are more"`
	Unreadable int    `json:"unreadable,omitzero" doc:"directories that could not be read"`

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
		return found{}, fmt.Errorf("%s is %s and not a directory", in.Path, kind(info.Mode()))
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
	w := &walk{call: c, start: p, gitignore: in.Gitignore, visit: func(at place, rel string, e fs.DirEntry) step {
		if anyMatches(exclude, rel) || e.Type()&fs.ModeSymlink != 0 && c.target(at.parent(), e) == nil {
			return pass
		}
		if !pattern.match(rel) {
			return goOn
		}
		if matches++; matches <= in.Offset {
			return goOn
		}
		line := printable(at.String())
		if room -= len(line) + 1; room < 0 && len(lines) > 0 {
			out.NextOffset = matches - 1
			return stop
		}
		lines = append(lines, line)
		return goOn
	}}
	if err := w.run(ctx); err != nil {
		return found{}, fmt.Errorf("%s: %w", in.Path, err)
	}
	out.Shown, out.Unreadable = len(lines), w.unread
	out.text = strings.Join(lines, "\n")
	switch {
	case out.NextOffset > 0:
		out.notice = fmt.Sprintf("[There are more. Go on with offset=%d.]", out.NextOffset)
	case matches == 0:
		out.text = "No matches found"
		if !strings.Contains(in.Pattern, "/") && !strings.Contains(in.Pattern, "**") {
			out.notice = fmt.Sprintf("[Only names right below %s were compared. **/%s would compare those at any depth.]", in.Path, in.Pattern)
		}
	case len(lines) == 0:
		out.text = fmt.Sprintf("No more matches: there are %d", matches)
	}
	return out, nil
}
