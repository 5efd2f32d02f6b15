package fs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strings"

	"github.com/tenon-mcp/tenon/mcp"
)

type grepArgs struct {
	Path            string   `json:"path" doc:"the directory to search in, or one file"`
	Pattern         string   `json:"pattern" doc:"a regular expression (RE2 syntax)" schema:"minLength=1"`
	Literal         bool     `json:"literal,omitzero" doc:"treat the pattern as plain text"`
	IgnoreCase      bool     `json:"ignoreCase,omitzero"`
	Include         []string `json:"include,omitzero" doc:"search only files whose path matches one of these patterns, such as **/*.go; one without / matches names at any depth"`
	ExcludePatterns []string `json:"excludePatterns,omitzero" doc:"patterns of paths to leave out; one without / matches names at any depth"`
	Gitignore       *bool    `json:"gitignore,omitzero" doc:"leave out .git and files ignored by git; default true"`
	Context         int      `json:"context,omitzero" doc:"number of lines to show before and after each match" schema:"minimum=0,maximum=20"`
	MaxMatches      int      `json:"maxMatches,omitzero" doc:"maximum number of matches to show" schema:"minimum=1,maximum=10000,default=500"`
	FilesOnly       bool     `json:"filesOnly,omitzero" doc:"show only the paths of files with matches, and the number of matches"`
	Offset          int      `json:"offset,omitzero" doc:"number of matches (or files, with filesOnly) to skip: nextOffset of an earlier result" schema:"minimum=0"`
}

// grepped is the result of grep_files. The lines are in the content.
type grepped struct {
	Path       string `json:"path" doc:"the directory or file searched"`
	Shown      int    `json:"shown" doc:"number of matches (or files, with filesOnly) shown"`
	Files      int    `json:"files" doc:"number of files searched"`
	Skipped    int    `json:"skipped,omitzero" doc:"number of files skipped because they are binary or cannot be read"`
	NextOffset int    `json:"nextOffset,omitzero" doc:"offset for the next call, if there are more matches"`

	text, notice string
}

func (g grepped) MCPContents() mcp.Contents {
	blocks := mcp.Contents{mcp.Text(g.text)}
	if g.notice != "" {
		blocks = append(blocks, mcp.Text(g.notice))
	}
	return blocks
}

// A grep is a search under way.
type grep struct {
	ctx     context.Context // of the call that searches
	call    *call
	in      grepArgs
	re      *regexp.Regexp
	include []*glob
	exclude []*glob
	out     grepped
	b       strings.Builder
	passed  int // matches before the offset
	full    bool
	buf     []byte
}

func grepFiles(ctx context.Context, c *call, in grepArgs) (grepped, error) {
	p, info, err := c.existing(in.Path)
	if err != nil {
		return grepped{}, err
	}
	g := &grep{ctx: ctx, call: c, in: in, out: grepped{Path: p.String()}}
	if err := g.compile(); err != nil {
		return grepped{}, err
	}
	if info.IsDir() {
		w := &walk{call: c, start: p, gitignore: in.Gitignore == nil || *in.Gitignore, visit: g.visit}
		err = w.run(ctx)
	} else if err = c.regular(in.Path, info); err == nil {
		g.file(p)
		err = ctx.Err()
	}
	if err != nil {
		return grepped{}, fmt.Errorf("%s: %w", in.Path, err)
	}
	g.out.text = strings.TrimSuffix(g.b.String(), "\n")
	switch {
	case g.full:
		g.out.NextOffset = in.Offset + g.out.Shown
		g.out.notice = fmt.Sprintf("[There are more. Continue with offset=%d, or use a narrower pattern.]", g.out.NextOffset)
	case g.out.Shown == 0 && g.passed > 0:
		g.out.text = fmt.Sprintf("No more matches; there are %d in all", g.passed)
	case g.out.Shown == 0:
		g.out.text = fmt.Sprintf("No matches found in %d files", g.out.Files)
	}
	return g.out, nil
}

func (g *grep) compile() (err error) {
	pattern := g.in.Pattern
	if g.in.Literal {
		pattern = regexp.QuoteMeta(pattern)
	}
	flags := "(?m)"
	if g.in.IgnoreCase {
		flags = "(?mi)"
	}
	if len(pattern) > maxPattern {
		return fmt.Errorf("the pattern has %d bytes; the maximum is %d", len(pattern), maxPattern)
	}
	if g.re, err = regexp.Compile(flags + pattern); err != nil {
		return fmt.Errorf("the pattern is not a valid RE2 expression (%s); for plain text set literal", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	if g.include, err = newGlobs(anyDepth(g.in.Include)); err != nil {
		return err
	}
	g.exclude, err = newGlobs(anyDepth(g.in.ExcludePatterns))
	return err
}

// anyDepth makes patterns without a slash match names at any depth.
func anyDepth(patterns []string) []string {
	var all []string
	for _, p := range patterns {
		if !strings.Contains(p, "/") {
			p = "**/" + p
		}
		all = append(all, p)
	}
	return all
}

func (g *grep) visit(p location, rel string, e fs.DirEntry) step {
	if anyMatches(g.exclude, rel) {
		return skipEntry
	}
	if !e.Type().IsRegular() || len(g.include) > 0 && !anyMatches(g.include, rel) {
		return walkOn // a link's target is searched at its own path, if it is below the start
	}
	g.file(p)
	if g.full || g.ctx.Err() != nil {
		return stopWalk
	}
	return walkOn
}

// chunk is the number of bytes that are searched at once.
const chunk = 1 << 20

// file searches one file. A line longer than a chunk is searched in pieces.
func (g *grep) file(p location) {
	f, _, err := g.call.openFile(p.String(), p)
	if err != nil {
		g.out.Skipped++
		return
	}
	defer f.Close()
	if g.buf == nil {
		g.buf = make([]byte, chunk)
	}
	h := &hits{grep: g, name: p.String()}
	for carried := 0; ; {
		n, err := io.ReadFull(f, g.buf[carried:])
		data := g.buf[:carried+n]
		last := err != nil
		if h.line == 0 {
			if binary(data[:min(len(data), 8<<10)]) != nil {
				g.out.Skipped++
				return
			}
			g.out.Files++
			h.line = 1
		}
		if last && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return
		}
		end := len(data)
		if i := bytes.LastIndexByte(data, '\n'); !last && i >= 0 {
			end = i + 1
		}
		lines := data[:end]
		if bytes.Contains(lines, []byte("\r\n")) { // so that $ matches before CR LF too
			lines = bytes.ReplaceAll(lines, []byte("\r\n"), []byte("\n"))
		}
		h.search(lines)
		if last || g.full || g.ctx.Err() != nil {
			break
		}
		carried = copy(g.buf, data[end:])
	}
	h.finish()
}
