package page

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/web"
)

// A guide is a model that knows two questions, for the pictures of the chat.
type guide struct{}

func (guide) Info() llm.Info { return llm.Info{Provider: "test", Name: "guide"} }

func (guide) Stream(_ context.Context, r *llm.Request) iter.Seq2[llm.Event, error] {
	last := r.Messages[len(r.Messages)-1]
	message := llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text("These are the six products with the highest prices. The chart has their prices in cents.")}}
	call := func(tool, args string) {
		message.Parts = []llm.Part{{Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: fmt.Sprintf("c%d", len(r.Messages)), Name: tool, Arguments: llm.RawMessage(args)}}}
	}
	switch {
	case last.Role != llm.RoleUser:
	case strings.Contains(last.Text(), "garden"):
		call("notes__search_notes", `{"query":"garden"}`)
	default:
		call("shop__run_query", `{"sql":`+quote(dearest)+`}`)
	}
	return func(yield func(llm.Event, error) bool) { yield(llm.Event{Kind: llm.EventDone, Message: &message}, nil) }
}

const dearest = "select name, price_cents from product order by price_cents desc limit 6"

// viewShown is true when the view of a tool is in sight and has told its height.
// Browsers do not draw frames of other origins that are out of sight.
const viewShown = `(() => { const f = [...document.querySelectorAll('.app-frame')].find((f) => f.checkVisibility()); f?.closest('.app-view').scrollIntoView({block: 'center'}); return parseInt(f?.style.height) > 100; })()`

var (
	wideDesk  = screen{width: 1440, height: 900}
	wideNight = screen{width: 1440, height: 900, dark: true}
	pocket    = screen{width: 390, height: 844}
	night2    = []picture{{wideDesk, ""}, {wideNight, "-dark"}}
	all3      = []picture{{wideDesk, ""}, {wideNight, "-dark"}, {pocket, "-phone"}}
	all4      = append(all3, picture{laptop, "-1024"})
)

// A picture is how a view is looked at, and what is added to the name of its file.
type picture struct {
	screen
	suffix string
}

// The pictures of the documentation. They are made, and looked at for being
// pictures of something, with every run; -update writes them to docs/images.
func TestPictures(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{
		servers: append(samples(t), config.Server{Name: "weather", Kind: config.Stdio, Command: "/nonexistent/weather-server"}),
		pending: []web.Pending{{Name: "tickets", File: ".mcp.json", Command: "npx -y ticket-server --project tenon", Pin: "x", Warnings: []string{"it runs a package from the network"}}},
		eras:    true, model: guide{}, rules: []config.Rule{{Effect: config.Allow, Server: "shop", Tool: "*"}},
	})
	p := open(t, h.address(), wideDesk)
	p.until(`document.querySelectorAll('.counts').length === 4`)
	p.until(`document.querySelector('[data-part="server/weather"] .state.bad')`)
	p.at("#/chat", `document.querySelector('.composer textarea')`)
	p.say("Which products cost the most?")
	p.until(`document.querySelector('.chat-log').innerText.includes('highest prices')`)
	chat := eval[string](p, "location.hash")
	p.query(dearest)
	call := eval[string](p, `(async () => { const r = await (await fetch('/api/v1/wire?method=tools/call&kind=request&server=shop')).json(); return '#/wire/' + r.messages[0].seq; })()`)
	p.at(call, `document.querySelector('.message .json')`)
	p.clickText("Compare protocol versions")
	p.clickText("Call both")
	p.until(`document.querySelectorAll('.sides > div').length === 2`)
	p.rest()
	keep(t, "eras", p)
	for _, l := range all4 {
		p.resize(l.screen)
		for _, v := range []struct{ name, hash, ready string }{
			{"server", "#/drive/shop/tools/run_query", viewShown},
			{"wire", call, `document.querySelector('.message .json')`},
			{"chat", chat, viewShown},
		} {
			p.at(v.hash, v.ready)
			p.rest()
			keep(t, v.name+l.suffix, p)
		}
	}
	for _, l := range night2 {
		p.resize(l.screen)
		p.at("#/drive/shop/tools/run_query", viewShown)
		p.clickText("Full screen")
		p.until(`document.querySelector('.app-view.whole')`)
		p.rest()
		keep(t, "view-full"+l.suffix, p)
		p.clickText("Leave full screen")
		p.until(`!document.querySelector('.app-view.whole')`)
	}
	p.resize(wideDesk)
	p.at(chat, viewShown)
	p.say("Search the notes for garden")
	p.sees("Allow this call?")
	for _, l := range night2 {
		p.resize(l.screen)
		p.rest()
		keep(t, "approval"+l.suffix, p)
	}
}

// rest waits until nothing has changed for a moment: what travels has arrived,
// frames of views have been drawn.
func (p *tab) rest() {
	p.t.Helper()
	if !*update {
		return
	}
	eval[bool](p, `new Promise((done) => { let due; const o = new MutationObserver(() => again()); const again = () => { clearTimeout(due); due = setTimeout(() => { o.disconnect(); done(true); }, 500); }; o.observe(document.querySelector('main'), {subtree: true, childList: true, attributes: true}); again(); setTimeout(() => done(true), 3000); })`)
}

// Every picture is in the documentation, which has no other.
func TestPicturesAreUsed(t *testing.T) {
	t.Parallel()
	docs, err := filepath.Glob(filepath.Join("..", "..", "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, file := range append(docs, filepath.Join("..", "..", "README.md")) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`images/([a-z0-9-]+\.png)`).FindAllStringSubmatch(string(data), -1) {
			used[m[1]] = true
		}
	}
	have, err := filepath.Glob(filepath.Join("..", "..", "docs", "images", "*.png"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range have {
		if !used[filepath.Base(file)] {
			t.Errorf("nothing refers to %s", file)
		}
		delete(used, filepath.Base(file))
	}
	for name := range used {
		t.Errorf("there is no picture %s", name)
	}
}

// keep makes a picture, and writes it where the documentation has it.
func keep(t *testing.T, name string, p *tab) {
	t.Helper()
	_, err := chromedp.Call(p.ctx, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseMoved, X: 1, Y: 1}) // points at nothing
	p.must(err)
	full, err := png.Decode(bytes.NewReader(p.picture("")))
	p.must(err)
	if !*update {
		if len(colours(full, 5)) < 10 {
			t.Errorf("%s shows nothing", name)
		}
		return
	}
	small := shrink(t, full)
	dir := filepath.Join("..", "..", "docs", "images")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), small, 0o644); err != nil {
		t.Fatal(err)
	}
}

// colours counts the colours of a picture, looking at every nth row and column.
func colours(full image.Image, n int) map[[3]uint8]int {
	counts := map[[3]uint8]int{}
	b := full.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y += n {
		for x := b.Min.X; x < b.Max.X; x += n {
			r, g, bl, _ := full.At(x, y).RGBA()
			counts[[3]uint8{uint8(r >> 8), uint8(g >> 8), uint8(bl >> 8)}]++
		}
	}
	return counts
}

// shrink writes a picture with 256 colours: text and lines need no more. It
// fails if the picture is of one colour.
func shrink(t *testing.T, full image.Image) []byte {
	t.Helper()
	counts := colours(full, 1)
	b := full.Bounds()
	if len(counts) < 10 {
		t.Errorf("the picture has %d colours: it shows nothing", len(counts))
	}
	out := image.NewPaletted(b, common(counts))
	draw.Draw(out, b, full, b.Min, draw.Src)
	var buf bytes.Buffer
	enc := png.Encoder{CompressionLevel: png.BestCompression}
	if err := enc.Encode(&buf, out); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// common is a palette of the colours that are used most.
func common(counts map[[3]uint8]int) color.Palette {
	all := slices.SortedFunc(maps.Keys(counts), func(a, b [3]uint8) int { return counts[b] - counts[a] })
	out := color.Palette{}
	for _, c := range all[:min(256, len(all))] {
		out = append(out, color.RGBA{c[0], c[1], c[2], 255})
	}
	return out
}
