package page

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/web"
)

// The pictures of the documentation. They are made, and looked at for being
// pictures of something, with every run; -update writes them to docs/images.
func TestPictures(t *testing.T) {
	h := build(t, plan{
		servers: append(samples(t), config.Server{Name: "weather", Kind: config.Stdio, Command: "/nonexistent/weather-server"}),
		pending: []web.Pending{{Name: "tickets", File: ".mcp.json", Command: "npx -y ticket-server --project tenon", Pin: "x", Warnings: []string{"it runs a package from the network"}}}, eras: true,
	})
	p := open(t, h.visit(), desk)
	p.until(`document.querySelectorAll('.counts').length === 4`)
	p.until(`document.querySelector('[data-part="server/weather"] .state.bad')`)
	talk(p)
	chat := eval[string](p, "location.hash")
	eval[string](p, `location.hash = '#/drive/shop/tools/list_tables'`)
	p.until(`document.querySelector('.raw')`)
	p.clickText("Run")
	p.until(`document.querySelector('.outcome')?.childElementCount > 0`)
	call := eval[string](p, `(async () => { const r = await (await fetch('/api/v1/wire?method=tools/call&kind=request&server=calc')).json(); return '#/wire/' + r.messages[0].seq; })()`)

	views := []struct{ name, hash, ready string }{
		{"anatomy", "#/", `document.querySelectorAll('.counts').length === 4`},
		{"panel", "#/joint/notes", `document.querySelector('.handshake')`},
		{"server", "", ``},
		{"wire", call, `document.querySelector('.message .json')`},
		{"chat", chat, `document.querySelector('.card')`},
	}
	for _, l := range []struct {
		look
		suffix string
	}{{desk, ""}, {night, "-dark"}, {phone, "-phone"}} {
		p.look(l.look)
		for _, v := range views {
			if v.name == "server" {
				eval[string](p, `location.hash = '#/drive/shop/tools/list_tables'`)
				p.until(`document.querySelector('.raw')`)
				p.clickText("Run")
				p.until(`document.querySelector('.outcome')?.childElementCount > 0`)
				eval[bool](p, `document.querySelector('.detail').scrollTo(0, 0) ?? true`)
			} else {
				eval[string](p, "location.hash = "+quote(v.hash))
				p.until(v.ready)
			}
			p.must(chromedp.Do(p.ctx, chromedp.Evaluate[chromedp.Void](`new Promise((r) => setTimeout(r, 900))`, chromedp.EvalAwaitPromise))) // dots have arrived
			keep(t, v.name+l.suffix, p)
		}
	}
	p.look(desk)
	eval[string](p, "location.hash = "+quote(call))
	p.clickText("Compare protocol versions")
	p.clickText("Call both")
	p.until(`document.querySelectorAll('.sides > div').length === 2`)
	keep(t, "eras", p)
	eval[string](p, `location.hash = '#/chat'`)
	p.click(".composer textarea")
	p.press(strings.Split("Search the notes for garden", "")...)
	p.press("\r")
	p.sees("Allow this call?")
	p.must(chromedp.Do(p.ctx, chromedp.Evaluate[chromedp.Void](`new Promise((r) => setTimeout(r, 300))`, chromedp.EvalAwaitPromise)))
	keep(t, "approval", p)
}

// keep makes a picture, and writes it where the documentation has it.
func keep(t *testing.T, name string, p *tab) {
	t.Helper()
	small := shrink(t, p.picture(""))
	if !*update {
		return
	}
	dir := filepath.Join("..", "..", "docs", "images")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), small, 0o644); err != nil {
		t.Fatal(err)
	}
}

// shrink writes a picture with 256 colours: text and lines need no more. It
// fails if the picture is of one colour.
func shrink(t *testing.T, data []byte) []byte {
	t.Helper()
	full, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	counts := map[[3]uint8]int{}
	b := full.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			r, g, bl, _ := full.At(x, y).RGBA()
			counts[[3]uint8{uint8(r >> 8), uint8(g >> 8), uint8(bl >> 8)}]++
		}
	}
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
