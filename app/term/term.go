// Package term is the face of a host in a terminal, and on anything that has
// lines: a pipe, a file, a screen reader.
//
// The way of what happens:
//
//	host, servers    tell, and never wait          Feed
//	Feed             keeps it in order             feed.go
//	screen           one goroutine of its own      screen.go: Update
//	blocks           what was said and called      block.go, card.go, stream.go
//	questions        what the person decides       question.go and its siblings
//	panes            servers, wire, lists          pane.go and its siblings
//	View             lines that fit, and a cursor  view.go
//
// And the way of what the person types:
//
//	editor           text, history, completion     editor.go, history.go, complete.go
//	a command        the same in both faces        command.go, talk.go
//	a sentence       Session.Send
//
// Whatever a server or a model has written passes internal/visible before it
// becomes a line: it can neither move the cursor nor look like ours.
package term

import (
	"context"
	"errors"
	"io"
	"os"

	tea "charm.land/bubbletea/v2"

	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/workspace"
)

// Options say how a face behaves. Feed is needed; everything else has a good
// answer when it is unset.
type Options struct {
	// Feed brings the events of the workspace: set its Event and State in
	// workspace.Options.
	Feed *Feed

	// Session is the conversation to go on with. Nil: a new one.
	Session *host.Session

	// In and Out are what the person types and sees. Nil: standard input and
	// output.
	In  io.Reader
	Out io.Writer

	// Theme is auto, light, dark or plain. Empty means auto: plain where
	// NO_COLOR is set, and otherwise what the terminal says it is.
	Theme string

	// History is the file that keeps what was typed. Empty: it is forgotten.
	History string

	// Greeting is shown at the beginning, one line for each entry: which
	// model and which servers there are, and why.
	Greeting []string

	// Choose makes a model of a name; why says in words where it comes from.
	// Nil: the model cannot be changed.
	Choose func(ctx context.Context, name string) (m llm.Model, why string, err error)

	// Models lists the names that Choose could be given. Nil: none are known.
	Models func(ctx context.Context) []string

	// OpenPage opens a page in a browser. Nil: the person opens it.
	OpenPage func(page string) error

	// Interrupts brings the signals of a person who wants something stopped,
	// for RunPlain: the first ends what runs, another one leaves. Nil: there
	// are none. Run reads keys instead.
	Interrupts <-chan os.Signal
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

// Run shows a workspace in a terminal until the person leaves or ctx ends. What
// still runs then is stopped.
func Run(ctx context.Context, w *workspace.Workspace, o Options) error {
	o.fill()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s := newScreen(ctx, w, o)
	p := tea.NewProgram(s, tea.WithContext(ctx), tea.WithInput(o.In), tea.WithOutput(o.Out), tea.WithoutSignalHandler())
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
	_, err := p.Run()
	s.t.stop()
	stop()
	<-forwarded
	<-watched
	s.t.wait()
	if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
		return nil
	}
	return err
}
