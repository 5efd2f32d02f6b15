package term

import (
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/internal/visible"
)

// A block is one item of the conversation on the screen.
type block interface {
	lines(width int, th *theme) []string
}

// A folding block can be shown short or in full.
type folding interface {
	block
	fold() // toggles
}

// mostBlocks bounds the blocks of a long conversation.
const mostBlocks = 4000

// A transcript is the blocks of a conversation, with their lines as last laid
// out.
type transcript struct {
	all []*entry
}

type entry struct {
	block
	laid  []string
	width int // that laid was made for; 0: lay out again
}

func (t *transcript) add(b block) *entry {
	e := &entry{block: b}
	t.all = append(t.all, e)
	if len(t.all) > mostBlocks {
		t.all = append([]*entry(nil), t.all[len(t.all)-mostBlocks*3/4:]...)
	}
	return e
}

// last returns the last block; nil if there is none.
func (t *transcript) last() *entry {
	if len(t.all) == 0 {
		return nil
	}
	return t.all[len(t.all)-1]
}

// retract removes the text and thinking of the running step: the request is sent
// again. Notes stay; they say why.
func (t *transcript) retract() {
	begin := len(t.all)
	for ; begin > 0; begin-- {
		switch t.all[begin-1].block.(type) {
		case *streamed, *thinking, note:
			continue
		}
		break
	}
	step := slices.DeleteFunc(t.all[begin:], func(e *entry) bool {
		_, isNote := e.block.(note)
		return !isNote
	})
	t.all = t.all[:begin+len(step)]
}

// stale makes all blocks be laid out again.
func (t *transcript) stale() {
	for _, e := range t.all {
		e.width = 0
	}
}

func (e *entry) lay(width int, th *theme) []string {
	if e.width != width {
		e.laid, e.width = e.block.lines(width, th), width
	}
	return e.laid
}

// window returns height lines that end above lines before the last, and the total
// number of lines. The lines of the chosen block are marked.
func (t *transcript) window(width, height, above int, chosen *entry, th *theme) (lines []string, total int) {
	for _, e := range t.all {
		total += len(e.lay(width, th))
	}
	from := max(0, total-height-above)
	to := min(total, from+height)
	at := 0
	for _, e := range t.all {
		for i := max(0, from-at); i < min(len(e.laid), to-at); i++ {
			l := e.laid[i]
			if e == chosen && i == e.first() {
				l = th.pick.Render("▶") + strings.TrimPrefix(l, " ")
			}
			lines = append(lines, l)
		}
		at += len(e.laid)
	}
	return lines, total
}

// first returns the first line of a block that is not empty.
func (e *entry) first() int {
	for i, l := range e.laid {
		if strings.TrimSpace(l) != "" {
			return i
		}
	}
	return 0
}

// userMessage is a message of the user.
type userMessage struct {
	text   string
	images [][]byte // of a saved message
}

func (b userMessage) lines(width int, th *theme) []string {
	body := wrap(visible.Text(b.text), width-2)
	for i, l := range body {
		body[i] = th.accent.Render(l)
	}
	out := append([]string{""}, indented(body, th.accent.Render("› "), "  ")...)
	return append(out, th.pictures.lines(b.pictures(), 2, width)...)
}

// note is a message of the program.
type note struct {
	text string
	mark string // ! for a problem
}

func (b note) lines(width int, th *theme) []string {
	style, mark := th.dim, "· "
	switch b.mark {
	case "!":
		style, mark = th.bad, "! "
	case "?":
		style, mark = th.warn, "! "
	}
	body := wrap(visible.Text(b.text), width-2)
	for i, l := range body {
		body[i] = style.Render(l)
	}
	return indented(body, style.Render(mark), "  ")
}

// promptSays is the text of a server's prompt that the user chose.
type promptSays struct{ server, text string }

func (b promptSays) lines(width int, th *theme) []string {
	out := []string{th.dim.Render(cut("· Prompt from "+line(b.server)+" says:", width))}
	return append(out, indented(wrap(visible.Terminal(b.text), width-4), "  │ ", "  │ ")...)
}

// output is the output of a command: lines that are already safe and styled.
type output struct {
	write func(width int, color bool) []string
}

func (b output) lines(width int, th *theme) []string {
	return append([]string{""}, b.write(width, th.color)...)
}

// thinking is the model's thinking, folded to its size.
type thinking struct {
	text  strings.Builder
	began time.Time // zero for an earlier run
	took  time.Duration
	open  bool
	over  bool
}

// end records that the model has stopped thinking.
func (b *thinking) end(at time.Time) {
	if b.over {
		return
	}
	if b.over = true; !b.began.IsZero() {
		b.took = max(at.Sub(b.began), time.Millisecond)
	}
}

func (b *thinking) fold() { b.open = !b.open }

func (b *thinking) lines(width int, th *theme) []string {
	head := "thinking…"
	if b.over {
		head = "thought: " + count(len(strings.Fields(b.text.String())), "word", "words")
		if b.took > 0 {
			head = "thought for " + elapsed(b.took)
		}
	}
	if !b.open {
		return []string{"", " " + th.dim.Render("▸ "+head)}
	}
	out := []string{"", " " + th.dim.Render("▾ "+head)}
	text := b.text.String()
	if !b.over && len(text) > mostOpen { // the end, while more arrives
		text = text[len(text)-mostOpen:]
		text = "…" + text[strings.IndexAny(text, " \n")+1:]
	}
	for _, l := range wrap(visible.Terminal(text), width-3) {
		out = append(out, "   "+th.dim.Render(l))
	}
	return out
}

// savedBlocks returns the blocks of a saved conversation.
func savedBlocks(messages []llm.Message) []block {
	var all []block
	calls := map[string]*card{}
	for _, m := range messages {
		for _, p := range m.Parts {
			switch {
			case p.Kind == llm.PartText && m.Role == llm.RoleUser:
				all = append(all, userMessage{text: p.Text})
			case p.Kind == llm.PartImage && m.Role == llm.RoleUser:
				if u, ok := lastUser(all); ok { // the one that attaches it
					u.images = append(u.images, p.Data)
					all[len(all)-1] = u
				}
			case p.Kind == llm.PartText && m.Role == llm.RoleAssistant:
				s := &streamed{}
				s.add(p.Text)
				all = append(all, s)
				if m.Stopped {
					all = append(all, note{text: stoppedNote})
				}
			case p.Kind == llm.PartThinking:
				t := &thinking{over: true}
				t.text.WriteString(p.Text)
				all = append(all, t)
			case p.Call != nil:
				server, tool, ok := strings.Cut(p.Call.Name, "__")
				if !ok {
					server, tool = "", p.Call.Name
				}
				c := &card{call: host.ToolCall{ID: p.Call.ID, Server: server, Tool: tool, Name: p.Call.Name, Arguments: p.Call.Arguments, Phase: host.CallDone, Rule: "in an earlier run"}}
				calls[p.Call.ID] = c
				all = append(all, c)
			case p.Result != nil:
				if c := calls[p.Result.CallID]; c != nil {
					c.call.ForModel = llm.Results(*p.Result).Text()
					if p.Result.IsError {
						c.call.Phase = host.CallFailed
					}
				}
			}
		}
	}
	return all
}

// lastUser returns the last block if it is a message of the user.
func lastUser(all []block) (u userMessage, ok bool) {
	if len(all) > 0 {
		u, ok = all[len(all)-1].(userMessage)
	}
	return u, ok
}
