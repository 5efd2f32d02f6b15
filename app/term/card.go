package term

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/show"
	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/mcp"
)

// A card is a tool call: one line if folded, else everything about the call.
type card struct {
	call host.ToolCall
	open bool
}

func (c *card) fold() { c.open = !c.open }

func (c *card) lines(width int, th *theme) []string {
	mark := "▸"
	if c.open {
		mark = "▾"
	}
	sign, style := sign(c.call.Phase, th)
	head := " " + th.dim.Render(mark) + " " + style.Render(sign) + " " + th.bold.Render(callName(&c.call))
	out := []string{""}
	if !c.open {
		head += " " + th.dim.Render(line(compact(c.call.Arguments)))
		out = append(out, cut(head, width))
		out = append(out, c.short(width, th)...)
	} else {
		out = append(out, cut(head, width))
		out = append(out, c.full(width, th)...)
	}
	return append(out, th.pictures.lines(c.pictures(), 3, width)...)
}

// sign returns the mark of a phase and its style.
func sign(p host.CallPhase, th *theme) (string, lipgloss.Style) {
	switch p {
	case host.CallDone:
		return "✓", th.good
	case host.CallFailed:
		return "✗", th.bad
	case host.CallDenied:
		return "⊘", th.bad
	case host.CallCancelled:
		return "◌", th.warn
	case host.CallWaiting:
		return "?", th.warn
	case host.CallRunning:
		return "●", th.accent
	}
	return "○", th.dim
}

// callName returns the server and tool of a call; the host's own tools have no
// server.
func callName(c *host.ToolCall) string {
	if c.Server == "" {
		return line(c.Tool)
	}
	return line(c.Server) + "/" + line(c.Tool)
}

func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// short returns the line below a folded card.
func (c *card) short(width int, th *theme) []string {
	text := ""
	switch c.call.Phase {
	case host.CallRunning:
		text = c.progress()
	case host.CallWaiting:
		text = "waiting for your answer"
	case host.CallDenied:
		return []string{"   " + th.bad.Render(cut(line(c.call.Rule), width-3))}
	case host.CallCancelled:
		text = "stopped"
		if !c.call.Sent.IsZero() {
			text = "stopped; it may have taken effect"
		}
	case host.CallFailed:
		if c.call.Result == nil {
			return []string{"   " + th.bad.Render(cut(line(c.why()), width-3))}
		}
		fallthrough
	case host.CallDone:
		text = firstLine(c.result(width-3, false, 4<<10)) + "  " + th.dim.Render(c.measured())
	default:
		return nil
	}
	return []string{cut("   "+text, width)}
}

func (c *card) why() string {
	if c.call.Problem != "" {
		return c.call.Problem
	}
	return c.call.ForModel
}

func firstLine(lines []string) string {
	rest := 0
	text := ""
	for _, l := range lines {
		if strings.TrimSpace(l) == "" {
			continue
		}
		if text == "" {
			text = strings.TrimSpace(l)
		} else {
			rest++
		}
	}
	if rest > 0 {
		text += fmt.Sprintf(" (+%s)", count(rest, "line", "lines"))
	}
	return text
}

// measured returns how long the call took and what allowed it.
func (c *card) measured() string {
	var parts []string
	if c.call.Duration > 0 {
		parts = append(parts, elapsed(time.Duration(c.call.Duration)))
	}
	if c.call.Rule != "" {
		parts = append(parts, line(c.call.Rule))
	}
	return strings.Join(parts, " · ")
}

// progress returns a bar if the total is known.
func (c *card) progress() string {
	if c.call.Task != nil {
		return "task " + taskText(c.call.Task, c.call.Message)
	}
	text := "running"
	switch {
	case c.call.Total > 0:
		share := max(0, min(1, c.call.Progress/c.call.Total))
		const cells = 20
		full := int(share * cells)
		text = fmt.Sprintf("%s%s %3.0f %%", strings.Repeat("█", full), strings.Repeat("░", cells-full), share*100)
	case c.call.Progress > 0:
		text = fmt.Sprintf("running, at %g", c.call.Progress)
	}
	if c.call.Message != "" {
		text += "  " + line(c.call.Message)
	}
	return text
}

// full returns everything about a call.
func (c *card) full(width int, th *theme) []string {
	var out []string
	add := func(label string, lines []string) {
		out = append(out, "   "+th.dim.Render(label))
		for _, l := range lines {
			out = append(out, "     "+l)
		}
	}
	room := max(width-5, 8)
	about := string(c.call.Phase)
	if m := c.measured(); m != "" {
		about += " · " + m
	}
	if c.call.Title != "" && c.call.Title != c.call.Tool {
		about = line(c.call.Title) + " · " + about
	}
	out = append(out, indented(wrap(about, width-3), "   ", "   ")...)
	for _, w := range c.call.Warnings {
		out = append(out, indented(wrap("! "+line(w), width-3), "   ", "   ")...)
	}
	if args := compact(c.call.Arguments); args != "" && args != "{}" {
		add("arguments", structured(c.call.Arguments, room, th.color))
	}
	if c.call.Proposed != nil {
		add("arguments that the model wanted", structured(c.call.Proposed, room, th.color))
	}
	switch {
	case c.call.Phase == host.CallRunning:
		add("progress", []string{c.progress()})
	case c.call.Problem != "":
		add("problem", wrap(visible.Text(c.call.Problem), room))
	}
	if lines := c.result(room, th.color, mostResult); len(lines) > 0 {
		add("result", lines)
	}
	if c.call.Handle != "" {
		out = append(out, "   "+th.dim.Render(cut("shortened for the model; the whole result has the handle "+line(c.call.Handle), width-3)))
	}
	return out
}

// mostResult is the number of bytes of a text that are shown; laying out more
// takes time.
const mostResult = 200 << 10

// result returns the result; for an earlier run, the text that the model got.
func (c *card) result(width int, color bool, most int) []string {
	if c.call.Result == nil {
		if c.call.Phase == host.CallDone && c.call.ForModel != "" {
			return wrap(visible.Terminal(clip(unfenced(c.call.ForModel), most)), width)
		}
		return nil
	}
	r := *c.call.Result
	r.Content = slices.Clone(r.Content)
	for i, one := range r.Content {
		if text, ok := one.(*mcp.TextContent); ok && len(text.Text) > most {
			short := *text
			short.Text = clip(text.Text, most)
			r.Content[i] = &short
		}
	}
	return printed(width, color, func(p *show.Printer) {
		p.Quiet = true
		if err := p.Result(&r); err != nil {
			fmt.Fprintln(p.W, line(err.Error()))
		}
	})
}

// clip shortens a text to most bytes and says so.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + fmt.Sprintf("\n… %d more bytes", len(s)-most)
}

// unfenced removes the lines that the host put around a result for the model.
func unfenced(s string) string {
	head, rest, ok := strings.Cut(s, "\n")
	if !ok || !strings.HasPrefix(head, "<result from=") {
		return s
	}
	if i := strings.LastIndex(rest, "\n</result id="); i >= 0 {
		return rest[:i]
	}
	return s
}

// structured formats a JSON value for people.
func structured(raw json.RawMessage, width int, color bool) []string {
	if len(raw) == 0 {
		return nil
	}
	return printed(width, color, func(p *show.Printer) { p.Structured(raw) })
}

// pretty formats JSON with its own punctuation.
func pretty(raw []byte, width int) []string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return wrap(visible.Text(string(raw)), width)
	}
	return lay(visible.Text(b.String()), width)
}

// toolLines returns a tool's definition in full.
func toolLines(t *mcp.Tool, width int, color bool) []string {
	return printed(width, color, func(p *show.Printer) {
		if err := p.Tool(t); err != nil {
			fmt.Fprintln(p.W, line(err.Error()))
		}
	})
}
