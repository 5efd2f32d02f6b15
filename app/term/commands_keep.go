package term

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/permit"
	"github.com/tenon-mcp/tenon/app/show"
)

func runAllow(ctx context.Context, t *talk, words []string, out *show.Printer) (outcome, error) {
	return t.decide(ctx, words, out, permit.Always, "is always allowed now, with this definition. If the definition changes, you are asked again.")
}

func runDeny(ctx context.Context, t *talk, words []string, out *show.Printer) (outcome, error) {
	return t.decide(ctx, words, out, permit.Never, "is always denied now and hidden from the model.")
}

func (t *talk) decide(ctx context.Context, words []string, out *show.Printer, answer, says string) (outcome, error) {
	if len(words) != 1 {
		return outcome{}, errors.New("name a tool: server/tool")
	}
	tool, err := t.tool(ctx, words[0])
	if err != nil {
		return outcome{}, err
	}
	if answer == permit.Always { // approve only what was shown
		if err := out.Tool(tool.Tool); err != nil {
			return outcome{}, err
		}
	}
	if err := t.w.Book.Answer(tool.Server, tool.Tool, t.now().ID, answer); err != nil {
		return outcome{}, err
	}
	a := outcome{notes: []string{tool.Server + "/" + line(tool.Tool.Name) + " " + says}}
	for _, w := range tool.Warnings {
		a.notes = append(a.notes, "Look closely: "+line(w))
	}
	return a, nil
}

// runApprove shows what has changed in one tool, or in all tools of a server.
// Entered again, it approves the shown definitions.
func runApprove(ctx context.Context, t *talk, words []string, out *show.Printer) (outcome, error) {
	if len(words) != 1 {
		return outcome{}, errors.New("name what to approve: server/tool, or server for all its changed tools")
	}
	server, name, one := strings.Cut(words[0], "/")
	if _, err := t.server(server); err != nil {
		return outcome{}, err
	}
	var a outcome
	listCtx, stop := context.WithTimeout(ctx, listing)
	defer stop()
	for _, tool := range t.w.Host.Tools(listCtx) {
		if tool.Server != server || one && tool.Tool.Name != name {
			continue
		}
		changes, first := t.w.Book.Changes(server, tool.Tool)
		if !one && (first || len(changes) == 0) {
			continue
		}
		shown := server + "/" + tool.Tool.Name
		if t.wasShown(shown, permit.Digest(tool.Tool)) {
			if err := t.w.Book.Approve(server, tool.Tool); err != nil {
				return outcome{}, err
			}
			a.notes = append(a.notes, line(shown)+" is approved as it was shown.")
			continue
		}
		if err := out.Tool(tool.Tool); err != nil {
			return outcome{}, err
		}
		for _, c := range changes {
			fmt.Fprintf(out.W, "changed: %s\n  was: %s\n  now: %s\n", line(c.What), line(c.Before), line(c.After))
		}
		for _, w := range tool.Warnings {
			a.notes = append(a.notes, "Look closely: "+line(w))
		}
		a.notes = append(a.notes, line(shown)+" is not approved yet. To approve what is shown here, enter /approve "+line(words[0])+" again.")
	}
	if a.notes == nil {
		if one {
			return outcome{}, fmt.Errorf("unknown tool %q; /tools lists the tools", words[0])
		}
		a.notes = []string{"No tool of " + line(server) + " has changed."}
	}
	return a, nil
}

// wasShown reports whether this definition of a tool was shown before, and
// records that it is now.
func (t *talk) wasShown(tool, digest string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.shown[tool]
	t.shown[tool] = digest
	return before == digest
}

func runForget(_ context.Context, t *talk, words []string, _ *show.Printer) (outcome, error) {
	if len(words) != 1 {
		return outcome{}, errors.New("name what to forget: server/tool, or server for all its tools")
	}
	server, tool, _ := strings.Cut(words[0], "/")
	if err := t.w.Book.Forget(server, tool); err != nil {
		return outcome{}, err
	}
	return outcome{notes: []string{"Your decisions about " + line(words[0]) + " are forgotten."}}, nil
}

// A listItem is an item of a list to choose from.
type listItem struct {
	value string
	text  string
	about string
	group string // the heading above it, if it differs from that of the item before
	off   bool   // cannot be chosen; about says why
	rank  int    // of a model: those with a lower rank come first
}

func runModel(ctx context.Context, t *talk, words []string, _ *show.Printer) (outcome, error) {
	if t.o.Choose == nil {
		return outcome{}, errors.New("the model cannot be changed here")
	}
	if len(words) == 0 {
		return t.offered(ctx), nil
	}
	m, why, err := t.o.Choose(ctx, words[0])
	if err != nil {
		return outcome{}, err
	}
	t.w.Host.SetModel(m)
	return outcome{notes: []string{"Model: " + modelLabel(m) + ": " + why}}, nil
}

func runEffort(_ context.Context, t *talk, words []string, _ *show.Printer) (outcome, error) {
	var info llm.Info
	if m := t.w.Host.Model(); m != nil {
		info = m.Info()
	}
	takes := "it is not known whether " + line(info.String()) + " thinks"
	switch {
	case !t.hasModel():
		takes = "no model is connected"
	case len(info.Efforts) > 0:
		takes = line(info.String()) + " takes " + line(strings.Join(info.Efforts, ", "))
	}
	if len(words) == 0 {
		return outcome{notes: []string{"Effort: " + t.w.Host.Effort() + "; " + takes}}, nil
	}
	effort, err := config.ParseEffort(words[0])
	if err != nil {
		return outcome{}, fmt.Errorf("the effort %w", err)
	}
	t.w.Host.SetEffort(effort)
	note := "Effort: " + effort
	if effort != config.EffortAuto && effort != config.EffortNone && !slices.Contains(info.Efforts, effort) {
		note += "; " + takes
	}
	return outcome{notes: []string{note}}, nil
}

// offered returns the list of models.
func (t *talk) offered(ctx context.Context) outcome {
	a := outcome{list: "models"}
	t.eachOffer(ctx, func(some []listItem) { a.items = append(a.items, some...) })
	sortModels(a.items)
	return a
}

// eachOffer calls found with models as soon as they are known.
func (t *talk) eachOffer(ctx context.Context, found func([]listItem)) {
	current := ""
	if m := t.w.Host.Model(); m != nil {
		current = m.Info().String()
	}
	item := func(o ModelOffer) listItem {
		i := listItem{value: o.Name, text: line(o.Name), about: line(o.About), rank: 1}
		switch {
		case o.Why != "":
			i = listItem{text: line(o.Name), about: line(o.Why), off: true, rank: 3}
		case o.Name == current:
			i.rank, i.about = 0, strings.TrimSuffix("current · "+i.about, " · ")
		case o.Name == "none":
			i.rank = 2
		}
		return i
	}
	switch {
	case t.o.Offers != nil:
		t.o.Offers(ctx, func(some []ModelOffer) {
			var items []listItem
			for _, o := range some {
				items = append(items, item(o))
			}
			found(items)
		})
	case t.o.Models != nil:
		for _, n := range t.o.Models(ctx) {
			found([]listItem{item(ModelOffer{Name: n})})
		}
	}
}

// sortModels puts the current model first, then the others by provider, and then the
// providers that cannot be used.
func sortModels(items []listItem) {
	slices.SortStableFunc(items, func(x, y listItem) int {
		a, _, _ := strings.Cut(x.text, "/")
		b, _, _ := strings.Cut(y.text, "/")
		return cmp.Or(x.rank-y.rank, strings.Compare(a, b))
	})
}

// modelLabel returns a model's name and its warning.
func modelLabel(m llm.Model) string {
	if m == nil {
		return "No model connected"
	}
	info := m.Info()
	if info.Provider == "none" {
		return line(info.Label)
	}
	if info.Label != "" {
		return line(info.String()) + " (" + line(info.Label) + ")"
	}
	return line(info.String())
}

// open continues a session: /resume ID [take-over|copy].
func (t *talk) open(words []string) (*host.Session, error) {
	how := strings.Join(words[1:], " ")
	switch how {
	case "copy":
		return t.w.Host.CopySession(words[0])
	case "", "take-over":
	default:
		return nil, fmt.Errorf("unexpected argument %q; write /resume %s, followed by take-over or copy if another process has the session open", how, words[0])
	}
	s, err := t.w.Host.Session(words[0])
	if err != nil {
		return nil, err
	}
	err = s.Claim(how == "take-over")
	if elsewhere, ok := errors.AsType[*host.OpenElsewhereError](err); ok {
		return nil, fmt.Errorf("session %s is open in %s. /resume %s take-over continues it here, /resume %s copy continues in a copy", words[0], elsewhere.Owner, words[0], words[0])
	}
	return s, err
}

// runUndo removes the last turn from the conversation.
func runUndo(_ context.Context, t *talk, _ []string, _ *show.Printer) (outcome, error) {
	u, err := t.now().Undo()
	if err != nil {
		return outcome{}, err
	}
	return outcome{session: true, notes: append([]string{"Removed the last turn: " + clip(line(u.Text), 200) + ". /redo brings it back."}, left(u)...)}, nil
}

// left says what a turn that was removed leaves behind.
func left(u *host.Undone) []string {
	lines := u.Left()
	if lines == nil {
		return nil
	}
	return []string{strings.Join(lines, "\n")}
}

// runRedo brings back the turn that /undo removed.
func runRedo(_ context.Context, t *talk, _ []string, _ *show.Printer) (outcome, error) {
	u, err := t.now().Redo()
	if err != nil {
		return outcome{}, err
	}
	notes := []string{"The turn is back: " + clip(line(u.Text), 200)}
	if len(u.Calls) > 0 {
		notes[0] += ". Its calls were not made again."
	}
	return outcome{session: true, notes: notes}, nil
}
