package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/choose"
	"github.com/tenon-mcp/tenon/app/term"
	"github.com/tenon-mcp/tenon/app/workspace"
	"github.com/tenon-mcp/tenon/auth/login"
)

// A chatFlags holds the flags of tenon chat.
type chatFlags struct {
	hostFlags
	resume     resumption
	plain      bool
	theme      string
	noBuiltins bool

	mu      sync.Mutex
	choices []*choose.Choice // models that were chosen; closed at the end
}

// fromList is the value of --resume without one.
const fromList = "(list)"

func (p *program) chatCommand() *cobra.Command {
	var v chatFlags
	c := &cobra.Command{
		Use:   "chat",
		Short: "Chat with a model that can use the tools of your servers",
		Long: `Chat with a model that can use the tools of your servers. Before a tool runs that
no rule allows, you are asked: allow once, allow for this session, always allow,
deny, or always deny.

Without an API key or a local model, Tenon matches keywords: "add 2 and 3"
proposes calc/add. It tells you that no model is connected. /tools, /call, /read
and /prompt work without a model.

In a terminal, F2 shows the servers and F3 every protocol message. Elsewhere, or
with --plain, output is plain lines. /help lists the commands.`,
		Example: `  tenon chat
  tenon chat --server builtin:calc --server "builtin:notes?vault=notes"
  tenon chat --model anthropic/claude-sonnet-4-5 --resume last
  echo "add 2 and 3" | tenon chat --allow calc`,
		Args: func(cmd *cobra.Command, args []string) error {
			if v.resume.id == fromList && len(args) == 1 { // --resume ID
				v.resume.id = args[0]
				return nil
			}
			return noArgs(cmd, args)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return p.chat(cmd.Context(), &v) },
	}
	v.flags(c)
	f := c.Flags()
	v.resume.flags(c)
	f.Lookup("resume").Usage = "continue this `session`, the last one of this folder (last), or one from a list (no value)"
	f.Lookup("resume").NoOptDefVal = fromList
	f.BoolVar(&v.plain, "plain", false, "plain lines without colors instead of full screen")
	f.StringVar(&v.theme, "theme", "auto", "color theme: `auto`, light, dark or plain")
	f.BoolVar(&v.noBuiltins, "no-builtins", false, "do not start calc and fs when no server is configured")
	return c
}

func (p *program) chat(ctx context.Context, v *chatFlags) error {
	switch v.theme {
	case "auto", "light", "dark", "plain":
	default:
		return usagef("unknown theme %q: use auto, light, dark or plain", v.theme)
	}
	dir, err := p.hostDir("")
	if err != nil {
		return err
	}
	defer v.close()
	choice, err := v.choose(ctx, p, v.model)
	if err != nil {
		return err
	}
	o := term.Options{Feed: term.NewFeed(), In: p.in, Out: p.out, Theme: v.theme, History: filepath.Join(dir, "history"), Pasted: filepath.Join(dir, "pasted")}
	if isTerminal(p.in) { // a script opens no pages
		o.OpenPage = login.OpenBrowser
	}
	if p.color == "never" {
		o.Theme = "plain"
	}
	o.Choose = func(ctx context.Context, name string) (llm.Model, string, error) {
		c, err := v.choose(ctx, p, name)
		if err != nil {
			return nil, "", err
		}
		return c.Model, c.Why, nil
	}
	o.Models, o.Offers = p.modelNames, p.modelOffers
	w, err := p.newWorkspace(ctx, &v.hostFlags, choice.Model, func(wo *workspace.Options) {
		wo.Event, wo.State = o.Feed.Event, o.Feed.State
		if len(wo.Servers) == 0 && len(v.servers) == 0 && !v.noBuiltins {
			wo.Servers = offered()
		}
		o.Greeting = append(o.Greeting, greeting(wo.Servers, len(v.servers) == 0))
		o.Welcome = welcome(choice, wo.Servers, len(v.servers) == 0)
	})
	if err != nil {
		return err
	}
	defer w.Close()
	screen := isTerminal(p.in) && isTerminal(p.out) && !v.plain && os.Getenv("TERM") != "dumb"
	if v.resume.id == fromList {
		if !screen {
			return usagef("--resume without a session needs a terminal; give its id, or last (/resume in tenon chat lists them)")
		}
		v.resume.id, o.Resume = "", true
	}
	if o.Session, err = v.resume.session(w.Host); err != nil {
		return err
	}
	if !isTerminal(p.in) {
		short, stop := context.WithTimeout(ctx, 3*time.Second)
		w.Ready(short, serverNames(w)...) // one that is not ready says so itself
		stop()
		return term.RunPlain(ctx, w, o)
	}
	if screen {
		o.Greeting = nil
		return chatAtTerminal(ctx, w, o, term.Run)
	}
	return chatAtTerminal(ctx, w, o, term.RunPlain)
}

// chatAtTerminal runs a chat at a terminal. There Ctrl-C stops a turn, or what runs
// in an editor, instead of the program, so the chat handles the signals.
func chatAtTerminal(ctx context.Context, w *workspace.Workspace, o term.Options, run func(context.Context, *workspace.Workspace, term.Options) error) error {
	own, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	interrupts, ends := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	signal.Notify(ends, endSignals()...)
	defer signal.Stop(interrupts)
	defer signal.Stop(ends)
	go func() { // ends with own
		select {
		case <-ends:
			stop()
		case <-own.Done():
		}
	}()
	o.Interrupts = interrupts
	return run(own, w, o)
}

func serverNames(w *workspace.Workspace) []string {
	var all []string
	for _, s := range w.Fleet.All() {
		all = append(all, s.Name())
	}
	return all
}

// offered returns the builtin servers to use if none is configured.
func offered() []config.Server {
	var all []config.Server
	for _, text := range []string{"builtin:calc", "builtin:fs?root=.&readonly=true"} {
		if s, err := config.Parse(text, nil); err == nil {
			all = append(all, s)
		}
	}
	return all
}

// greeting returns the line about the servers at the beginning of a chat in plain
// lines.
func greeting(servers []config.Server, fromConfig bool) string {
	names, builtin := offeredNames(servers)
	about := "Servers: " + strings.Join(names, ", ") + "."
	switch {
	case len(servers) == 0:
		about = "No servers. Add one with tenon config add NAME -- COMMAND."
	case builtin && fromConfig:
		about = fmt.Sprintf("No servers are configured. Using the builtin servers %s; fs can only read the current folder.", strings.Join(names, " and "))
	}
	return about + " Type /help for help."
}

// offeredNames returns the names of servers, and whether all of them are those of
// [offered].
func offeredNames(servers []config.Server) (names []string, builtin bool) {
	builtin = len(servers) > 0
	for _, s := range servers {
		names = append(names, s.Name)
		builtin = builtin && s.Kind == config.Builtin && s.Source == (config.Source{})
	}
	return names, builtin
}

// welcome returns the first screen of a chat.
func welcome(c *choose.Choice, servers []config.Server, fromConfig bool) *term.Welcome {
	w := &term.Welcome{Why: c.Why, Connect: "To connect one, run tenon auth key anthropic (or openai, gemini, …), or start Ollama; then enter /model."}
	if _, builtin := offeredNames(servers); builtin && fromConfig {
		w.Notes = []string{"No servers are configured, so two builtin ones run; fs can only read this folder. tenon config add NAME -- COMMAND adds yours."}
	}
	return w
}

// choose opens a model and records it, to close it at the end.
func (v *chatFlags) choose(ctx context.Context, p *program, name string) (*choose.Choice, error) {
	c, err := p.choose(ctx, name)
	if err != nil {
		return nil, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.choices = append(v.choices, c)
	return c, nil
}

func (v *chatFlags) close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, c := range v.choices {
		c.Close()
	}
}
