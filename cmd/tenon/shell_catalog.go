package main

import (
	"context"
	"iter"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

const (
	fresh       = 15 * time.Second // how long lists are used for completion without asking again
	idleTimeout = 2 * time.Second  // how long a completion may wait for the server
)

// maxListed bounds the items of a list that are fetched to be counted or to
// complete a word.
const maxListed = 1000

// A catalog caches the lists of a server for completion. A list that cannot be
// fetched is empty: errors are not printed while the user types.
type catalog struct {
	tools     cachedList[mcp.Tool]
	resources cachedList[mcp.Resource]
	templates cachedList[mcp.ResourceTemplate]
	prompts   cachedList[mcp.Prompt]
	version   atomic.Int64 // of the lists, raised by forget
}

// forget invalidates the lists. It is safe for concurrent use.
func (c *catalog) forget() { c.version.Add(1) }

// A cachedList is a list with the time and version that it was fetched at.
type cachedList[T any] struct {
	all     []*T
	at      time.Time
	version int64
}

func (f *cachedList[T]) get(version int64, list iter.Seq2[*T, error]) []*T {
	if time.Since(f.at) > fresh || f.version != version {
		f.all, _, _ = atMost(maxListed, list)
		f.at, f.version = time.Now(), version
	}
	return f.all
}

func (c *completer) tools(ctx context.Context) []*mcp.Tool {
	return c.known.tools.get(c.known.version.Load(), c.session.Tools(ctx))
}

func (c *completer) resources(ctx context.Context) []*mcp.Resource {
	return c.known.resources.get(c.known.version.Load(), c.session.Resources(ctx))
}

func (c *completer) templates(ctx context.Context) []*mcp.ResourceTemplate {
	return c.known.templates.get(c.known.version.Load(), c.session.ResourceTemplates(ctx))
}

func (c *completer) prompts(ctx context.Context) []*mcp.Prompt {
	return c.known.prompts.get(c.known.version.Load(), c.session.Prompts(ctx))
}

// atMost collects the first n items of a list. more reports whether there are
// further items, which are not fetched.
func atMost[T any](n int, list iter.Seq2[*T, error]) (all []*T, more bool, err error) {
	for one, err := range list {
		if err != nil {
			return all, false, err
		}
		if len(all) == n {
			return all, true, nil
		}
		all = append(all, one)
	}
	return all, false, nil
}
