package fs

import (
	"context"
	"errors"
	"sync"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// files is the server: the roots, and what happens in the background.
type files struct {
	Config
	roots  []*root
	server *server.Server
	watch  *watcher
	swept  chan struct{} // closed when what an earlier process left was removed
}

// New returns the server. It answers at once; what it does in the background
// (removing what a process that was killed has left, watching what clients
// subscribe to) ends with [server.Server.Close].
func New(c Config) (*server.Server, error) {
	f, err := open(c)
	if err != nil {
		return nil, err
	}
	return f.server, nil
}

func open(c Config) (*files, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	f := &files{Config: c, swept: make(chan struct{})}
	if f.roots, err = openRoots(c.Roots); err != nil {
		return nil, err
	}
	f.watch = &watcher{files: f}
	f.server = server.New(mcp.Implementation{Name: "tenon-fs", Title: "Files", Version: "1.0.0"}, &server.Options{
		Instructions: f.instructions(),
		Middleware:   []mcp.Middleware{f.listing, f.watch.subscribing},
		ChangeDelay:  changeDelay,
		Log:          c.Log,
	})
	f.addReading()
	f.addFinding()
	if !c.ReadOnly {
		f.addWriting()
	}
	if err := f.addResources(); err != nil {
		f.closeRoots()
		return nil, err
	}
	f.inBackground()
	return f, nil
}

// inBackground starts the sweep and has Close end it, and the watcher.
func (f *files) inBackground() {
	f.server.OnClose(f.closeRoots)
	f.server.OnClose(f.watch.close)
	if f.ReadOnly { // then there is nothing that this server could have left
		close(f.swept)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		defer close(f.swept)
		for _, r := range f.roots {
			sweep(ctx, r)
		}
	})
	f.server.OnClose(func() error {
		cancel()
		done.Wait()
		return nil
	})
}

func (f *files) closeRoots() error {
	var errs []error
	for _, r := range f.roots {
		errs = append(errs, r.dir.Close())
	}
	return errors.Join(errs...)
}

func (f *files) instructions() string {
	text := "Paths are absolute, or relative to one of the allowed directories (list_allowed_directories names them). " +
		"Find files by name with search_files and by content with grep_files; read long files in parts with offset and limit"
	if f.ReadOnly {
		return "Everything here is read-only. " + text + "."
	}
	return text + "; change files with edit_file rather than writing them anew."
}

// yes and no are what annotations point to.
var yes, no = true, false

var reading = &mcp.ToolAnnotations{ReadOnlyHint: &yes, OpenWorldHint: &no}

func writing(destructive, idempotent *bool) *mcp.ToolAnnotations {
	return &mcp.ToolAnnotations{ReadOnlyHint: &no, DestructiveHint: destructive, IdempotentHint: idempotent, OpenWorldHint: &no}
}

// addTool adds a tool that works within what its caller may see.
func addTool[In, Out any](f *files, name, title, description string, hints *mcp.ToolAnnotations, run func(ctx context.Context, c *call, in In) (Out, error)) {
	server.AddTool(f.server, name, description, func(ctx context.Context, c *mcp.Call, in In) (Out, error) {
		mine, err := f.callFor(c)
		if err != nil {
			var none Out
			return none, err
		}
		return run(ctx, mine, in)
	}, &server.ToolOptions{Title: title, Annotations: hints})
}

// A call is a call of a client, with what it may see.
type call struct {
	*mcp.Call
	*files
	areas []area
}
