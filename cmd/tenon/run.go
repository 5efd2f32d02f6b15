package main

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/wirelog"
	"github.com/tenon-mcp/tenon/app/workspace"
)

// A oneShot holds the flags of tenon run: one turn without a user to ask.
type oneShot struct {
	hostFlags
	prompt string
	output string
	resume resumption
	wait   time.Duration

	maxTurns   int
	maxBudget  float64
	timeout    time.Duration
	jsonSchema string
	appended   string
}

func (p *program) runCommand() *cobra.Command {
	var v oneShot
	c := &cobra.Command{
		Use:   "run PROMPT",
		Short: "Answer one prompt without asking for approvals",
		Long: `Send one prompt to the model, which can use the tools of your servers. Nobody is
asked for approval: a tool call is denied unless --allow or a configured rule
allows it. The answer goes to standard output:

  text          the text of the answer
  json          one object: answer, calls, usage, cost, stop reason, exit code
  stream-json   every event of the host as it happens, one object per line; the
                last one is the result

--resume continues a session; "last" is the last session that tenon chat started
in this folder. To resume a run, use the session id from --output json.

Standard input is added below the prompt. @server:uri and /server:prompt are
expanded in the prompt, not in standard input.

Tenon waits for the servers named with --server or --allow, or in @server:uri and
/server:prompt of the prompt; other servers have --wait to become ready.

--max-turns, --max-budget and --timeout end the run; the answer so far is printed.
--timeout is for the whole run, also for starting servers. Set "timeout" of a
server in the configuration for how long it may be silent.

The exit code is 0 for an answer, 5 if the model failed, 6 if a call was denied, 7
at a limit; see tenon exit-codes. docs/scripts.md describes the events.`,
		Example: `  tenon run "add 2 and 3" -s builtin:calc --allow calc
  tenon run "summarise README.md" -s 'builtin:fs?root=.' --allow 'fs/read_*'
  git diff | tenon run "review this" --model anthropic`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := v.words(cmd, args); err != nil {
				return err
			}
			if err := p.outputOf(cmd, &v); err != nil {
				return err
			}
			return p.headless(cmd.Context(), &v)
		},
	}
	v.flags(c)
	f := c.Flags()
	f.StringVarP(&v.prompt, "prompt", "p", "", "the prompt; - reads it from standard input")
	f.StringVar(&v.output, "output", "text", "output: `text`, json or stream-json")
	v.resume.flags(c)
	f.IntVar(&v.maxTurns, "max-turns", 0, "end the run after `N` answers of the model")
	f.Float64Var(&v.maxBudget, "max-budget", 0, "end the run before it costs more than `USD`")
	f.DurationVar(&v.timeout, "timeout", 0, "end the run after this time, such as 5m")
	f.StringVar(&v.jsonSchema, "json-schema", "", "make the answer JSON that matches this `schema`: a file, or JSON")
	f.StringVar(&v.appended, "append-system", "", "extra text for the end of the system prompt")
	f.DurationVar(&v.wait, "wait", 3*time.Second, "how long to wait for servers that are not named")
	return c
}

// words sets the prompt from the arguments or from --prompt.
func (v *oneShot) words(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) > 0 && cmd.Flags().Changed("prompt"):
		return usagef("unexpected argument %q: --prompt is already set", args[0])
	case len(args) > 0:
		v.prompt = strings.Join(args, " ")
	}
	return nil
}

// outputOf derives --output from --format or --format from --output, so that
// errors have the same format as the output.
func (p *program) outputOf(cmd *cobra.Command, v *oneShot) error {
	if p.format == "" {
		p.format = map[string]string{"json": "json", "stream-json": "jsonl"}[v.output]
		return nil
	}
	output, ok := map[string]string{"text": "text", "json": "json", "jsonl": "stream-json"}[p.format]
	switch {
	case !ok:
		return usagef("run does not support --format %s: use text, json or jsonl", p.format)
	case cmd.Flags().Changed("output") && v.output != output:
		return usagef("--format %s and --output %s contradict each other", p.format, v.output)
	}
	v.output = output
	return nil
}

// traced returns the log of a run with several servers, which --trace prints; nil
// without --trace.
func (p *program) traced() (log *wirelog.Log, done func() error) {
	if !p.trace {
		return nil, func() error { return nil }
	}
	t := wirelog.Trace(p.err, &wirelog.TraceOptions{Colour: p.colored(p.err), Servers: true})
	return wirelog.NewLog(&wirelog.LogOptions{Sinks: []wirelog.Sink{t}}), func() error {
		ctx, stop := context.WithTimeout(context.Background(), settle)
		defer stop()
		return t.Close(ctx)
	}
}

// promptText returns the prompt, and the data of standard input if that is not a
// terminal.
func (p *program) promptText(prompt string) (typed, data string, err error) {
	if prompt == "" && isTerminal(p.in) {
		return "", "", usagef("missing PROMPT: tenon run \"add 2 and 3\", or - to read it from standard input")
	}
	if prompt != "-" && isTerminal(p.in) {
		return prompt, "", nil
	}
	slow := time.AfterFunc(5*time.Second, func() { p.note("Reading standard input. If you have no input, add </dev/null.") })
	all, err := io.ReadAll(p.in)
	slow.Stop()
	if err != nil {
		return "", "", usageError{err}
	}
	if data = string(all); strings.TrimSpace(data) == "" {
		data = ""
	}
	if prompt != "-" {
		typed = prompt
	}
	if typed == "" && data == "" {
		return "", "", usagef("the prompt is empty: write it behind the command, as in tenon run \"add 2 and 3\", or pipe it into tenon run")
	}
	return typed, data, nil
}

func (p *program) state(s connect.State) {
	if s.Phase == connect.Failed || s.Phase == connect.NeedsLogin {
		p.note("%s: %s: %s", s.Server, s.Phase, s.Why)
	}
}

// waitFor waits for the named servers, and at most --wait for the others.
func (p *program) waitFor(ctx context.Context, w *workspace.Workspace, v *oneShot) error {
	var needed, others []string
	for _, s := range w.Fleet.All() {
		n := s.Name()
		if len(v.servers) > 0 || strings.Contains(v.prompt, "@"+n+":") || strings.Contains(v.prompt, "/"+n+":") || named(v.allow, n) {
			needed = append(needed, n)
		} else {
			others = append(others, n)
		}
	}
	if err := w.Ready(ctx, needed...); err != nil {
		return err
	}
	short, stop := context.WithTimeout(ctx, v.wait)
	defer stop()
	var all sync.WaitGroup
	for _, n := range others {
		all.Go(func() { w.Ready(short, n) })
	}
	all.Wait()
	return ctx.Err()
}

// named reports whether one of the words is SERVER or SERVER/TOOL of a server. A
// pattern for many servers names none.
func named(words []string, server string) bool {
	return slices.ContainsFunc(words, func(w string) bool {
		name, _, _ := splitRule(w)
		return name == server
	})
}

// A resumption holds the flags that choose a session to continue, and what to do
// if another process has it open.
type resumption struct {
	id       string
	takeOver bool
	asCopy   bool
}

func (r *resumption) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&r.id, "resume", "", "continue this `session`, or the last one of this folder: last")
	f.BoolVar(&r.takeOver, "take-over", false, "with --resume: take the session over from the process that has it open")
	f.BoolVar(&r.asCopy, "copy", false, "with --resume: continue with a copy of the session")
	c.MarkFlagsMutuallyExclusive("take-over", "copy")
}

// session opens the session to continue; nil without --resume.
func (r *resumption) session(h *host.Host) (*host.Session, error) {
	id := r.id
	switch id {
	case "":
		if r.takeOver || r.asCopy {
			return nil, usagef("--take-over and --copy need --resume")
		}
		return nil, nil
	case "last":
		var err error
		if id, err = h.LastSession(folder()); errors.Is(err, host.ErrNoSession) {
			return nil, usagef("no session to resume in %s: start one with tenon chat, or give the id of another session", folder())
		} else if err != nil {
			return nil, err
		}
	}
	if r.asCopy {
		s, err := h.CopySession(id)
		return s, usage(err)
	}
	s, err := h.Session(id)
	if err != nil {
		return nil, usage(err)
	}
	err = s.Claim(r.takeOver)
	if elsewhere, ok := errors.AsType[*host.OpenElsewhereError](err); ok {
		return nil, usagef("session %s is open in %s. Use --take-over to take it over, or --copy to continue with a copy", id, elsewhere.Owner)
	}
	return s, err
}

// folder returns the current folder; "" on error.
func folder() string {
	dir, _ := os.Getwd()
	return dir
}
