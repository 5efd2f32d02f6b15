// Package term is the user interface of a host in a terminal, and with plain
// lines for a pipe, a file or a screen reader.
//
// The flow of events is:
//
//	host, servers    report without waiting          Feed
//	Feed             queues them in order            feed.go
//	screen           handles them in one goroutine   screen.go: Update
//	blocks           messages and calls              block.go, card.go
//	questions        what the user decides           question*.go
//	panes            servers, wire, lists            pane*.go
//	View             lines that fit, and a cursor    view.go
//	drawn            shows them on the terminal      drawn.go, internal/draw
//
// The flow of input is:
//
//	editor           text, history, completion       editor.go, history.go, complete.go
//	a command        shared by both interfaces       command.go, talk.go
//	a message        Session.Send
//
// All text of servers and models passes internal/visible before it becomes a
// line: it can neither move the cursor nor imitate the program.
package term

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"

	tea "charm.land/bubbletea/v2"

	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/workspace"
)

// Options configure Run and RunPlain. Only Feed is required.
type Options struct {
	// Feed has the events of the workspace: set its Event and State in
	// workspace.Options.
	Feed *Feed

	// Session is the conversation to continue. Nil: a new one.
	Session *host.Session

	// Resume lets Run begin with the list of sessions.
	Resume bool

	// In and Out are the input and the output. Nil: standard input and output.
	In  io.Reader
	Out io.Writer

	// Theme is auto, light, dark or plain. Empty means auto: plain if NO_COLOR is
	// set, else according to the terminal's background.
	Theme string

	// History is the file with earlier inputs. Empty: they are not saved.
	History string

	// Pasted is the folder for images that are pasted from the clipboard; they are
	// removed after a week. Empty: the system's folder for temporary files.
	Pasted string

	// Greeting is shown at the start, one line for each entry.
	Greeting []string

	// Welcome is the first screen of Run. Nil: none.
	Welcome *Welcome

	// Choose returns the model with a name; why says where it comes from. Nil:
	// the model cannot be changed.
	Choose func(ctx context.Context, name string) (m llm.Model, why string, err error)

	// Models lists names for Choose. It may be nil.
	Models func(ctx context.Context) []string

	// Offers lists the models for /model: it calls found with some of them, one
	// call at a time, as soon as they are known. Nil means the names of Models.
	Offers func(ctx context.Context, found func([]ModelOffer))

	// OpenPage opens a page in a browser. Nil: the user opens it.
	OpenPage func(page string) error

	// Interrupts has the interrupt signals: the first stops what runs, another one
	// leaves. Run ignores those that are for an editor. It may be nil.
	Interrupts <-chan os.Signal
}

// A ModelOffer is a model to choose, or a provider that cannot be used.
type ModelOffer struct {
	Name  string // for Options.Choose
	About string // such as "200k · thinks · the keyring"
	Why   string // why it cannot be used, or ""
}

func (o *Options) fill() {
	if o.In == nil {
		o.In = os.Stdin
	}
	if o.Out == nil {
		o.Out = os.Stdout
	}
	if o.Feed == nil {
		o.Feed = NewFeed()
	}
}

// Run shows a workspace in a terminal until the user leaves or ctx ends. Then it
// stops everything that runs.
func Run(ctx context.Context, w *workspace.Workspace, o Options) error {
	o.fill()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s := newScreen(ctx, w, o)
	d := newDrawn(s, o.Out)
	p := tea.NewProgram(d, tea.WithContext(ctx), tea.WithInput(o.In), tea.WithOutput(d.out.Writer()), tea.WithoutSignalHandler())
	var loads sync.WaitGroup
	one := make(chan struct{}, 1) // one image is decoded at a time
	s.theme.pictures = newGallery(func(load func() tea.Msg) {
		loads.Go(func() {
			select {
			case one <- struct{}{}:
			case <-ctx.Done():
				return
			}
			defer func() { <-one }()
			if m := load(); m != nil {
				p.Send(m)
			}
		})
	})
	forwarded := make(chan struct{})
	go func() { // ends with ctx
		defer close(forwarded)
		o.Feed.forward(ctx, func(some []any) { p.Send(changeMsg(some)) })
	}()
	watched := make(chan struct{})
	go func() { // ends with ctx
		defer close(watched)
		watchLog(ctx, w.Log, func() { p.Send(wireMsg{}) })
	}()
	interrupted := make(chan struct{})
	go func() { // ends with ctx
		defer close(interrupted)
		for {
			select {
			case <-o.Interrupts:
				if !s.editing.Load() { // else it is for the editor
					p.Send(tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl})
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	_, err := p.Run()
	stop() // ends what runs
	<-interrupted
	<-forwarded
	<-watched
	loads.Wait()
	d.out.Close()
	s.t.wait()
	if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
		return nil
	}
	return err
}
