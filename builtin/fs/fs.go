package fs

import (
	"context"
	"errors"
	"sync"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// files is the server: its roots and its background work.
type files struct {
	Config
	roots  []*root
	server *server.Server
	watch  *watcher
	swept  chan struct{} // closed once the temporary files of earlier processes are removed
}

// New returns the server. Its background work (removing the temporary files
// of killed processes, watching subscribed files) ends with
// [server.Server.Close].
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
		Middleware:   []mcp.Middleware{f.listResources, f.watch.watchSubscriptions},
		ChangeDelay:  changeDelay,
		Log:          c.Log,
	})
	f.addReadTools()
	f.addListTools()
	if !c.ReadOnly {
		f.addWriteTools()
	}
	if err := f.addResources(); err != nil {
		f.closeRoots()
		return nil, err
	}
	f.startBackground()
	return f, nil
}

// startBackground starts the sweep. Close ends the sweep and the watcher.
func (f *files) startBackground() {
	f.server.OnClose(f.closeRoots)
	f.server.OnClose(f.watch.close)
	if f.ReadOnly { // a read-only server leaves no temporary files
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
	text := "Paths are absolute, or relative to an allowed directory (see list_allowed_directories). " +
		"Find files by name with search_files and by content with grep_files. Read long files in parts with offset and limit"
	if f.ReadOnly {
		return "All files are read-only. " + text + "."
	}
	return text + ". To change a file, prefer edit_file to write_file."
}

// yes and no are the targets of the pointers in annotations.
var yes, no = true, false

var reading = &mcp.ToolAnnotations{ReadOnlyHint: &yes, OpenWorldHint: &no}

func writing(destructive, idempotent *bool) *mcp.ToolAnnotations {
	return &mcp.ToolAnnotations{ReadOnlyHint: &no, DestructiveHint: destructive, IdempotentHint: idempotent, OpenWorldHint: &no}
}

// addTool adds a tool that runs within the areas its caller may reach.
func addTool[In, Out any](f *files, name, title, description string, hints *mcp.ToolAnnotations, run func(ctx context.Context, c *call, in In) (Out, error)) {
	server.AddTool(f.server, name, description, func(ctx context.Context, c *mcp.Call, in In) (Out, error) {
		scoped, err := f.callFor(c)
		if err != nil {
			var none Out
			return none, err
		}
		return run(ctx, scoped, in)
	}, &server.ToolOptions{Title: title, Annotations: hints})
}

// A call is a client's call with the areas that the client may reach.
type call struct {
	*mcp.Call
	*files
	areas []area
}
