// Package page tests the page in a real browser: what a person sees and does,
// with mouse, with keys only, on a phone, and with servers that mean harm.
package page

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/tenon-mcp/tenon/internal/needtest"
)

var (
	update = flag.Bool("update", false, "write the pictures in docs/images")
	bars   = flag.Bool("bars", false, "judge how quick the page is exactly, and print the figures")
)

// A chromium is a Chromium that is started once, when the first test needs it.
type chromium struct {
	flags  []string // beside those that all have
	netLog string   // the file that the network stack logs to, if logs is set
	logs   bool

	once sync.Once
	ctx  context.Context
	end  func()
	why  string
}

var (
	browser = &chromium{}           // of most tests
	logging = &chromium{logs: true} // of tests that look at the network
	// One that obeys the header Connection-Allowlist, which Chromium 148 has behind a switch.
	allowlisting = &chromium{logs: true, flags: []string{"enable-features=ConnectionAllowlists,OverrideConnectionAllowlistOriginTrial"}}
)

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "3"); err != nil { // tabs at a time, each in its window
		panic(err)
	}
	code := m.Run()
	if *bars {
		fmt.Println(strings.Join(figures, "\n"))
	}
	for _, b := range []*chromium{browser, logging, allowlisting} {
		if b.end != nil {
			b.end()
		}
	}
	if program.file != "" {
		_ = os.RemoveAll(filepath.Dir(program.file))
	}
	os.Exit(code)
}

func (b *chromium) start() {
	program := ""
	for _, candidate := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(candidate); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		b.why = "chromium is not installed: test/page/install.sh brings it"
		return
	}
	profile, err := os.MkdirTemp("", "tenon-page-")
	if err != nil {
		b.why = err.Error()
		return
	}
	flags := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(program), chromedp.UserDataDir(profile),
		chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.WindowSize(1280, 800),
		chromedp.WSURLReadTimeout(60 * time.Second),
	}
	more := slices.Clone(b.flags)
	if b.logs {
		b.netLog = filepath.Join(profile, "net.json")
		more = append(more, "log-net-log="+b.netLog)
	}
	for _, f := range append(more, "disable-quic", "disable-background-networking", "disable-component-update", "disable-sync", "disable-dev-shm-usage", "force-color-profile=srgb", "hide-scrollbars", "font-render-hinting=none") {
		name, value, has := strings.Cut(f, "=")
		if has {
			flags = append(flags, chromedp.Flag(name, value))
		} else {
			flags = append(flags, chromedp.Flag(name, true))
		}
	}
	ctx, stop := chromedp.NewExecAllocator(context.Background(), flags...)
	ctx, closeBrowser := chromedp.NewContext(ctx)
	b.ctx = ctx
	b.end = func() {
		_ = chromedp.Cancel(ctx)
		closeBrowser()
		stop()
		for range 50 { // the last of its processes may still write to it
			if os.RemoveAll(profile) == nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	if err := chromedp.Do(ctx); err != nil {
		b.why = "the browser did not start: " + err.Error()
	}
}

// A tab is one page in the browser, and the person before it.
type tab struct {
	t   *testing.T
	ctx context.Context

	judged map[string]bool // by axe, in full: what, and how large

	probing bool // what is evaluated is marked in the trace, see spans

	mu      sync.Mutex
	asked   []string // every address that was asked for
	printed []string // errors of the console
}

// A screen is how large and how dark the page is.
type screen struct {
	width, height int64
	dark          bool
}

var (
	desk  = screen{width: 1280, height: 800}
	night = screen{width: 1280, height: 800, dark: true}
	phone = screen{width: 380, height: 760}
)

// open opens an address in a tab of its own.
func open(t *testing.T, url string, l screen) *tab {
	t.Helper()
	p := newTab(t, browser, l)
	p.navigate(url)
	return p
}

// openIn opens an address in a tab of a browser. The address may be of any page.
func openIn(t *testing.T, b *chromium, url string, l screen) *tab {
	t.Helper()
	p := newTab(t, b, l)
	p.must(chromedp.Do(p.ctx, chromedp.Navigate(url)))
	return p
}

func (p *tab) navigate(url string) {
	p.t.Helper()
	p.must(chromedp.Do(p.ctx, chromedp.Navigate(url)))
	p.until(`document.querySelector('#top .side > *') !== null || document.querySelector('.closed') !== null`)
}

// newTab returns a tab of a browser without a page.
func newTab(t *testing.T, b *chromium, l screen) *tab {
	t.Helper()
	b.once.Do(b.start)
	if b.why != "" {
		needtest.Missing(t, b.why)
	}
	ctx, stop := chromedp.NewContext(b.ctx)
	t.Cleanup(stop)
	p := &tab{t: t, ctx: ctx, judged: map[string]bool{}}
	p.must(chromedp.Do(ctx))
	requests := chromedp.Events(ctx, network.RequestWillBeSent)
	console := chromedp.Console(ctx)
	go func() {
		for e, err := range requests {
			if err != nil {
				return
			}
			p.mu.Lock()
			p.asked = append(p.asked, e.Request.URL)
			p.mu.Unlock()
		}
	}()
	go func() {
		for m, err := range console {
			if err != nil {
				return
			}
			p.mu.Lock()
			p.printed = append(p.printed, fmt.Sprint(m))
			p.mu.Unlock()
		}
	}()
	p.resize(l)
	return p
}

func (p *tab) resize(l screen) {
	p.t.Helper()
	scheme := "light"
	if l.dark {
		scheme = "dark"
	}
	p.must(chromedp.Do(p.ctx, chromedp.EmulateViewport(l.width, l.height)))
	_, err := chromedp.Call(p.ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}) // others have windows too
	p.must(err)
	_, err = chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	p.must(err)
}

func (p *tab) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// waitLimit is how long anything in the page may take on a busy machine.
const waitLimit = time.Minute

// eval evaluates an expression in the page.
func eval[T any](p *tab, expression string) T {
	p.t.Helper()
	v, err := tryEval[T](p, expression)
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

func tryEval[T any](p *tab, expression string) (T, error) {
	ctx, stop := context.WithTimeout(p.ctx, waitLimit)
	defer stop()
	if p.probing {
		expression = "(performance.mark('" + probe + "'), " + expression + ")"
	}
	return chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// replaced reports whether an evaluation failed because the page is being replaced.
func replaced(err error) bool {
	for _, text := range []string{"navigated or closed", "context was destroyed", "Cannot find context"} {
		if strings.Contains(err.Error(), text) {
			return true
		}
	}
	return false
}

// until waits until an expression is true.
func (p *tab) until(condition string) {
	p.t.Helper()
	pause := 10 * time.Millisecond
	for end := time.Now().Add(waitLimit); time.Now().Before(end); time.Sleep(pause) {
		pause = min(pause+pause/2, 100*time.Millisecond)
		// What is not there yet is not true yet.
		ok, err := tryEval[bool](p, "(() => { try { return !!("+condition+"); } catch { return false; } })()")
		if err != nil && !replaced(err) {
			p.t.Fatalf("%s: %v", condition, err)
		}
		if ok && err == nil {
			return
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.picture(filepath.Join(os.TempDir(), "tenon-page-failed.png"))
	p.t.Fatalf("this did not become true: %s\nthe page shows: %.1500s\nthe console says: %q", condition, eval[string](p, "document.body.innerText"), p.printed)
}

// sees waits for a text on the page.
func (p *tab) sees(text string) {
	p.t.Helper()
	p.until(fmt.Sprintf("document.body.innerText.includes(%s)", quote(text)))
}

func quote(s string) string {
	raw, _ := json.Marshal(s)
	return string(raw)
}

// click clicks with the mouse where an element is. It fails if something else
// is on top.
func (p *tab) click(selector string) {
	p.t.Helper()
	p.clickOn("document.querySelector("+quote(selector)+")", selector)
}

// clickText clicks the button or link with a text.
func (p *tab) clickText(text string) {
	p.t.Helper()
	p.clickOn(fmt.Sprintf(`[...document.querySelectorAll('button,a,summary,label')].find((e) => e.innerText.trim() === %[1]s && e.checkVisibility()) ?? [...document.querySelectorAll('button,a')].find((e) => e.getAttribute('aria-label') === %[1]s)`, quote(text)), text)
}

func (p *tab) clickOn(expression, name string) {
	p.t.Helper()
	type place struct {
		X, Y float64
		On   string
	}
	var at, before place
	// What was just drawn may still move, or lie under what is about to go.
	for end := time.Now().Add(waitLimit); ; {
		p.until("(" + expression + ")")
		before, at = at, eval[place](p, fmt.Sprintf(`(() => { const e = %s; if (!e) return {On: 'nothing, for it is gone,'}; if (e.closest('[inert]')) return {On: 'something inert'}; e.scrollIntoView({block: 'nearest'}); const r = e.getBoundingClientRect(); const x = r.x + r.width / 2, y = r.y + r.height / 2; const top = document.elementFromPoint(x, y); return {X: x, Y: y, On: e.contains(top) || top?.contains(e) ? '' : String(top?.outerHTML).slice(0, 200)}; })()`, expression))
		if at.On == "" && at == before {
			break
		}
		if time.Now().After(end) {
			if at.On == "" {
				p.t.Fatalf("%s does not come to rest", name)
			}
			p.t.Fatalf("%s cannot be clicked: %s lies on it", name, at.On)
		}
		time.Sleep(20 * time.Millisecond)
	}
	p.must(chromedp.Do(p.ctx, chromedp.MouseClickXY(at.X, at.Y)))
}

// settles waits until an expression is the empty string, and returns what it
// still is when that takes too long: what is drawn is not always drawn at once.
func (p *tab) settles(expression string) (left string) {
	p.t.Helper()
	for end := time.Now().Add(waitLimit); time.Now().Before(end); time.Sleep(30 * time.Millisecond) {
		if left = eval[string](p, expression); left == "" {
			return ""
		}
	}
	return left
}

// press presses keys, each by itself.
func (p *tab) press(keys ...string) {
	p.t.Helper()
	for _, k := range keys {
		p.must(chromedp.Do(p.ctx, chromedp.KeyEvent(k)))
	}
}

func (p *tab) picture(file string) []byte {
	png, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err == nil && file != "" {
		_ = os.WriteFile(file, png, 0o600)
	}
	return png
}

// foreign lists addresses that were asked for and are not the page's own.
func (p *tab) foreign(own string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []string
	for _, a := range p.asked {
		if !strings.HasPrefix(a, own) && !strings.HasPrefix(a, "data:") && !strings.HasPrefix(a, "blob:") {
			all = append(all, a)
		}
	}
	return all
}
