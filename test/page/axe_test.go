package page

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/web"
	"github.com/tenon-mcp/tenon/internal/needtest"
)

// axe judges every view, in both themes, on a desk and on a phone.
func TestAccessible(t *testing.T) {
	t.Parallel()
	code := axe(t)
	h := newFixture(t, setup{
		servers: append(samples(t), config.Server{Name: "broken", Kind: config.Stdio, Command: "/nonexistent/server"}),
		pending: []web.Pending{{Name: "wanted", File: ".mcp.json", Command: "npx -y some-server --root .", Pin: "x", Warnings: []string{"it runs a package from the network"}}}, eras: true,
	})
	p := open(t, h.address(), desk)
	p.until(`document.querySelectorAll('.counts').length === 4`)
	talk(p)
	for _, l := range []screen{desk, night, phone} {
		p.resize(l)
		for _, hash := range []string{"#/", "#/host", "#/server/calc", "#/connection/calc", "#/server/broken", "#/pending/wanted", "#/drive/shop/tools/run_query", "#/drive/notes/resources", "#/drive/shop/prompts", "#/drive/calc/logs", "#/wire", "#/wire/2", "#/chat", "last"} {
			if hash == "last" {
				p.until(`document.querySelector('.sessions li a')`)
				p.must(chromedp.Do(p.ctx, chromedp.Evaluate[chromedp.Void](`document.querySelector('.sessions li a').click()`)))
				p.until(`document.querySelector('.card')`)
			} else {
				eval[string](p, "location.hash = "+quote(hash))
				p.until(`document.querySelector('main').innerText.length > 40`)
			}
			p.until(`document.querySelector('.loading') === null`)
			p.accessible(code, hash, l)
		}
	}
}

// axe judges what lies over the views: a question in the tray, a dialog, notices;
// and a view of a tool, of which it sees all but the frame.
func TestAccessibleAbove(t *testing.T) {
	t.Parallel()
	code := axe(t)
	h := newFixture(t, setup{servers: samples(t)})
	h.ready(t, "calc", "shop")
	p := open(t, h.address(), desk)
	p.until(`document.querySelectorAll('.counts').length === 4`)
	p.query(dearest)
	p.until(viewShown)
	p.run("calc", "average")
	p.until(`document.querySelector('#tray .ask:not([inert])')`)
	for _, l := range []screen{desk, night, phone} {
		p.resize(l)
		p.accessible(code, "a question in the tray", l)
		p.at("#/drive/shop/tools/run_query", viewShown)
		p.accessible(code, "a view of a tool", l)
		eval[bool](p, `document.querySelector('#top .help').click() ?? true`)
		p.until(`document.querySelector('dialog[open]')`)
		p.accessible(code, "a dialog", l)
		eval[bool](p, `document.querySelector('dialog[open]').close() ?? true`)
	}
}

// axe is the program that judges.
func axe(t *testing.T) string {
	t.Helper()
	code, err := os.ReadFile(filepath.Join("node", "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		needtest.Missing(t, "axe-core is not installed: test/page/install.sh brings it")
	}
	return string(code)
}

// accessible lets axe judge what is shown now.
func (p *tab) accessible(code, what string, l screen) {
	p.t.Helper()
	if !eval[bool](p, "!!window.axe") {
		p.must(chromedp.Do(p.ctx, chromedp.Evaluate[chromedp.Void](code+";void 0")))
	}
	only := ""
	if key := fmt.Sprint(what, l.width, l.height); l.dark && p.judged[key] {
		only = ", runOnly: ['color-contrast']" // the other rules have judged the same elements in the light theme
	} else {
		p.judged[key] = true
	}
	judge := `axe.run(document, {resultTypes: ['violations'], iframes: false` + only + `}).then((r) => r.violations.map((v) => v.id + ' (' + v.impact + '): ' + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160) + ' ' + (n.any[0]?.message ?? n.failureSummary ?? '')).join(' | ')))`
	found := eval[[]string](p, judge)
	for tries := 0; len(found) > 0 && tries < 3; tries++ { // what is being drawn is not what a person gets
		time.Sleep(time.Second)
		found = eval[[]string](p, judge)
	}
	if len(found) > 0 {
		p.t.Errorf("%s at %d pixels, dark %v:\n%s", what, l.width, l.dark, strings.Join(found, "\n"))
	}
}

// talk has a short conversation, so that there is one to look at.
func talk(p *tab) {
	p.t.Helper()
	eval[string](p, `location.hash = '#/chat'`)
	p.until(`document.querySelector('.composer textarea')`)
	p.click(".composer textarea")
	p.press(strings.Split("add 20 and 22", "")...)
	p.press("\r")
	p.sees("Allow this call?")
	p.clickText("Allow once")
	p.until(`[...document.querySelectorAll('.card .pairs dd')].some((e) => e.innerText === '42')`)
	p.until(`document.querySelector('.sessions li strong')`)
}
