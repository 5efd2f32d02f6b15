package fs

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

type treeArgs struct {
	Path            string   `json:"path" doc:"the directory"`
	ExcludePatterns []string `json:"excludePatterns,omitzero" doc:"patterns of paths to leave out, relative to the directory; one without * matches at any depth" schema:"default='[]'"`
	Gitignore       *bool    `json:"gitignore,omitzero" doc:"leave out .git and files ignored by git; default true"`
	MaxDepth        int      `json:"maxDepth,omitzero" doc:"number of levels to show; default all" schema:"minimum=1"`
}

// A tree is the result of directory_tree. The tree is in the content.
type tree struct {
	Path     string `json:"path" doc:"absolute path of the directory, with links resolved"`
	Entries  int    `json:"entries" doc:"number of entries shown"`
	Complete bool   `json:"complete" doc:"whether the tree is complete"`

	text, notice string
}

func (t tree) MCPContents() mcp.Contents {
	if t.notice == "" {
		return mcp.Contents{mcp.Text(t.text)}
	}
	return mcp.Contents{mcp.Text(t.text), mcp.Text(t.notice)}
}

// A node is one entry of a tree.
type node struct {
	name, kind string
	link       bool
	more       bool // it is incomplete
	children   []*node

	at    location
	rel   string
	depth int
	rules *ignores
}

// A treeBuilder builds a tree level by level, so that a tree that is too large
// loses its deepest levels.
type treeBuilder struct {
	call      *call
	exclude   []*glob
	gitignore bool
	maxDepth  int
	room      int // bytes left
	entries   int
	cut       bool
}

func directoryTree(ctx context.Context, c *call, in treeArgs) (tree, error) {
	p, info, err := c.existing(in.Path)
	if err != nil {
		return tree{}, err
	}
	if !info.IsDir() {
		return tree{}, fmt.Errorf("%s is %s, not a directory", in.Path, kind(info.Mode()))
	}
	g := &treeBuilder{call: c, gitignore: in.Gitignore == nil || *in.Gitignore, maxDepth: in.MaxDepth, room: c.MaxResult - 2}
	if g.exclude, err = treeGlobs(in.ExcludePatterns); err != nil {
		return tree{}, err
	}
	top := &node{kind: "directory", at: p, rel: "."}
	if g.gitignore {
		top.rules = c.ignoring(p)
	}
	if err := g.grow(ctx, top); err != nil {
		return tree{}, fmt.Errorf("%s: %w", in.Path, err)
	}
	out := tree{Path: p.String(), Entries: g.entries, Complete: !g.cut, text: string(appendNodes(nil, top.children, 1))}
	if g.cut {
		out.notice = `[The tree is cut: directories with "more": true are incomplete. Call directory_tree for one of them, or list_directory with an offset.]`
	}
	return out, nil
}

// treeGlobs parses patterns like the reference server: one without a star
// matches at any depth.
func treeGlobs(patterns []string) ([]*glob, error) {
	var all []string
	for _, p := range patterns {
		all = append(all, p)
		if !strings.Contains(p, "*") {
			all = append(all, "**/"+p, "**/"+p+"/**")
		}
	}
	return newGlobs(all)
}

func (g *treeBuilder) grow(ctx context.Context, top *node) error {
	for todo := []*node{top}; len(todo) > 0; todo = todo[1:] {
		n := todo[0]
		if n != top && (g.room <= 0 || g.maxDepth > 0 && n.depth >= g.maxDepth) {
			n.more, g.cut = true, true
			continue
		}
		if err := g.open(n); err != nil {
			if n == top {
				return err
			}
			n.more, g.cut = true, true
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, child := range n.children {
			if child.kind == "directory" && !child.link {
				todo = append(todo, child)
			}
		}
	}
	return nil
}

// open reads one directory into its node until the room is used up.
func (g *treeBuilder) open(n *node) error {
	entries, err := readDir(n.at)
	if err != nil {
		return err
	}
	for _, e := range entries {
		child := g.child(n, e)
		if child == nil {
			continue
		}
		if g.room -= child.bytes(); g.room < 0 {
			n.more, g.cut = true, true
			return nil
		}
		n.children = append(n.children, child)
		if g.entries++; g.entries%1000 == 0 {
			server.Progress(g.call.Call, float64(g.entries), 0, fmt.Sprintf("%d files and directories seen", g.entries))
		}
	}
	return nil
}

// child returns the node of an entry, or nil if it is left out.
func (g *treeBuilder) child(n *node, e fs.DirEntry) *node {
	p := n.at.join(e.Name())
	rel := path.Join(n.rel, e.Name())
	if g.gitignore && n.rules.ignored(p.rel, e.IsDir()) || anyMatches(g.exclude, rel) || e.IsDir() && p.inKernelFS() {
		return nil
	}
	c := &node{name: e.Name(), at: p, rel: rel, depth: n.depth + 1}
	switch {
	case e.IsDir():
		c.kind = "directory"
		if g.gitignore {
			c.rules = g.call.within(n.rules, p)
		}
	case e.Type()&fs.ModeSymlink != 0:
		c.link = true
		if info := g.call.target(n.at, e); info == nil {
			c.kind = "link"
		} else {
			c.kind = treeKind(info.Mode())
		}
	default:
		c.kind = treeKind(e.Type())
	}
	return c
}

// treeKind returns the type of an entry: directory, file, pipe, socket or
// device.
func treeKind(m fs.FileMode) string {
	if m.IsDir() {
		return "directory"
	}
	return strings.ToLower(strings.Trim(markOf(m), "[]"))
}

// bytes estimates the length of a node in the text.
func (n *node) bytes() int {
	indent := 4 * n.depth
	size := len(n.name) + len(n.kind) + 36 + 4*indent
	if n.kind == "directory" {
		size += 36 + indent
	}
	return size
}

// appendNodes formats nodes like the reference server, with two spaces for
// each level.
func appendNodes(b []byte, nodes []*node, level int) []byte {
	if len(nodes) == 0 {
		return append(b, "[]"...)
	}
	outer := "\n" + strings.Repeat("  ", level)
	inner := outer + "  "
	b = append(b, '[')
	for i, n := range nodes {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, outer...), '{')
		b = rawjson.AppendString(append(append(b, inner...), `"name": `...), n.name)
		b = append(append(append(append(append(b, ','), inner...), `"type": "`...), n.kind...), '"')
		for _, flag := range []struct {
			name string
			set  bool
		}{{"link", n.link}, {"more", n.more}} {
			if flag.set {
				b = append(append(append(b, ','), inner...), `"`+flag.name+`": true`...)
			}
		}
		if n.kind == "directory" {
			b = append(append(append(b, ','), inner...), `"children": `...)
			b = appendNodes(b, n.children, level+2)
		}
		b = append(append(b, outer...), '}')
	}
	return append(append(b, outer[:len(outer)-2]...), ']')
}
