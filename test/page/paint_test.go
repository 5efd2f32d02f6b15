package page

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// watchPaint notes, before anything of the page runs, when something was first
// painted, what the first frame shows, and when the servers were drawn.
const watchPaint = `
window.paint = {};
new PerformanceObserver((l) => { for (const e of l.getEntriesByName('first-contentful-paint')) paint.first = e.startTime; }).observe({type: 'paint', buffered: true});
requestAnimationFrame(() => { paint.text = document.body.innerText; });
const drawn = () => { if (document.querySelectorAll('.server .counts').length === 4) requestAnimationFrame(() => { paint.servers ??= performance.now(); }); else requestAnimationFrame(drawn); };
requestAnimationFrame(drawn);`

// The page is painted soon after its address is opened, with its own heading. Under
// load that is judged by how long its thread runs until then; -bars judges the
// clock.
func TestFirstPaint(t *testing.T) {
	h := newFixture(t, setup{servers: samples(t)})
	h.ready(t, "calc", "files", "notes", "shop")
	watched := func(t *testing.T) *tab {
		p := newTab(t, browser, desk)
		_, err := chromedp.Call(p.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: watchPaint})
		p.must(err)
		return p
	}
	quickest, servers := time.Hour, time.Hour
	rounds := 1
	if *bars {
		rounds = 7
	}
	for range rounds {
		t.Run("clock", func(t *testing.T) { // its tab is closed: a browser has six connections to a host
			p := watched(t)
			p.navigate(h.address())
			p.until(`paint.first && paint.servers`)
			got := eval[struct {
				First, Servers float64
				Text           string
			}](p, "paint")
			for _, text := range []string{"Tenon", "Servers", "MCP connects a program to tools. Here it is, running.", "The Model Context Protocol: who talks to whom."} {
				if !strings.Contains(got.Text, text) {
					t.Errorf("the first frame does not show %q, but %q", text, got.Text)
				}
			}
			quickest, servers = min(quickest, time.Duration(got.First*1e6)), min(servers, time.Duration(got.Servers*1e6))
			t.Logf("first paint after %.0f ms, the servers after %.0f ms", got.First, got.Servers)
		})
	}
	p := watched(t)
	all := p.spans(func() {
		p.navigate(h.address())
		p.until(`paint.first`)
	})
	paint, cpu := 0.0, time.Duration(0)
	for _, s := range all {
		if s.Name == "firstContentfulPaint" {
			paint = s.At
		}
	}
	for _, k := range longest(all) {
		if k.At < paint {
			cpu += k.CPU
		}
	}
	if cpu == 0 {
		t.Fatal("the trace has no first paint")
	}
	figure("%-44s %.0f ms (at most %v), with the servers %.0f ms; until then the page's thread runs for %.0f ms", "first paint", ms(quickest), firstPaint, ms(servers), ms(cpu))
	if cpu > allowed(firstPaint) || *bars && quickest > firstPaint {
		t.Errorf("first paint after %v, of which the page's thread runs for %v", quickest, cpu)
	}
}

// A link that is followed before the script of the page runs opens its view: the
// token of the address is not lost.
func TestLinkBeforeTheScript(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{servers: samples(t)[:1]})
	p := newTab(t, browser, desk)
	_, err := chromedp.Call(p.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `addEventListener('DOMContentLoaded', () => document.querySelector('nav [data-view=wire]').click());`})
	p.must(err)
	p.navigate(h.address())
	p.until(`document.querySelector('.wiretable')`)
	if at := eval[string](p, "location.hash"); at != "#/wire" {
		t.Errorf("the page is at %s", at)
	}
}
