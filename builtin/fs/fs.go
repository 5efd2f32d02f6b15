package fs

import (
	"context"
	"errors"
	"fmt"
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

// consent is the form that asks the user for confirmation.
type consent struct {
	Yes bool `json:"yes" doc:"go ahead; otherwise nothing is changed" schema:"title=Yes"`
}

// confirm asks the user to confirm a change. If the client cannot ask the
// user, the call must have set confirm. It must run before anything is
// changed, because the tool runs again with the response.
func (c *call) confirm(when Ask, confirmed bool, prompt string) error {
	if c.Config.Ask == AskNever || when == AskBeforeChange && c.Config.Ask != AskBeforeChange {
		return nil
	}
	q, err := mcp.ElicitRequest(&mcp.ElicitParams{Message: prompt})
	if err != nil {
		return err
	}
	if c.Caller.CanHandle(q) != nil {
		if confirmed {
			return nil
		}
		return fmt.Errorf(`%s Nothing was changed. This cannot be undone. If the user wants it, call again with "confirm": true`, prompt)
	}
	answer, err := server.Elicit[consent](c.Call, "consent", prompt)
	if err != nil {
		return err
	}
	if !answer.Yes {
		return fmt.Errorf("the user declined, nothing was changed: %q", prompt)
	}
	return nil
}

// This file supports the roots of clients, which the 2026 revision
// deprecates. Without it, callFor would return all roots of the server.

// callFor returns the call with the areas that its client may reach: all
// roots of the server, or, if the client names roots, the intersection of
// both. A client can never extend the roots of the server.
func (f *files) callFor(c *mcp.Call) (*call, error) {
	scoped := &call{Call: c, files: f, areas: f.allRoots()}
	if f.IgnoreClientRoots || c.Caller.CanHandle(mcp.RootsRequest()) != nil {
		return scoped, nil
	}
	open, err := server.Roots(c, "roots")
	if err != nil {
		return nil, err
	}
	if len(open) > 0 {
		scoped.areas = f.intersectRoots(open)
	}
	return scoped, nil
}

func (f *files) allRoots() []area {
	all := make([]area, len(f.roots))
	for i, r := range f.roots {
		all[i] = area{r, "."}
	}
	return all
}

// intersectRoots returns the intersection of the roots of the server and those of
// a client.
func (f *files) intersectRoots(open []mcp.Root) []area {
	var both []area
	for _, o := range open {
		name, err := readPath(o.URI)
		if err != nil {
			continue
		}
		for _, r := range f.roots {
			_, above := within(name, r.real)
			_, given := within(name, r.given)
			if above || given {
				both = append(both, area{r, "."})
			}
		}
		p, ok := f.rootOf(name)
		if !ok || p.rel == "." {
			continue
		}
		// A client root may be a link; its target counts.
		if p, info, err := f.follow(p); err == nil && info != nil {
			both = append(both, area(p))
		}
	}
	return both
}
