package login

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	authlogin "github.com/tenon-mcp/tenon/auth/login"
)

// A person has a name and a browser, which remembers who they are between two
// logins as browsers do.
type person struct {
	name  string
	ctx   context.Context
	shots string // where pictures of the pages go
	work  sync.WaitGroup

	declines bool          // does not agree to anything
	thinks   time.Duration // before they do anything

	mu     sync.Mutex
	visits []visit
}

// A visit is what a person saw between the page that was opened and the end.
type visit struct {
	askedWho bool   // they had to say who they are
	consent  string // what the page for consent said; empty if there was none
	gateway  string // what the page of a gateway said; empty if there was none
	end      string // what the last page said
	err      error
}

// newPerson starts a headless browser until the test ends. LOGIN_SHOTS in the
// environment names a directory for pictures; otherwise they go with the test.
func newPerson(t *testing.T, name string) *person {
	t.Helper()
	program := ""
	for _, candidate := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(candidate); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		absent(t, "chromium is not installed")
	}
	shots := os.Getenv("LOGIN_SHOTS")
	if shots == "" {
		shots = t.TempDir()
	}
	profile, err := os.MkdirTemp("", "tenon-browser-")
	if err != nil {
		t.Fatal(err)
	}
	flags := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(program), chromedp.UserDataDir(profile),
		chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.WindowSize(900, 700),
		chromedp.WSURLReadTimeout(60 * time.Second),
	}
	for _, flag := range []string{"disable-quic", "disable-background-networking", "disable-component-update", "disable-sync", "disable-dev-shm-usage"} {
		flags = append(flags, chromedp.Flag(flag, true))
	}
	ctx, stop, closeBrowser := startBrowser(t, flags)
	p := &person{name: name, ctx: ctx, shots: shots}
	t.Cleanup(func() {
		p.work.Wait()
		_ = chromedp.Cancel(ctx)
		closeBrowser()
		stop()
		for range 50 { // the last of its processes may still write to it
			if os.RemoveAll(profile) == nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	})
	return p
}

// loopback is how Tenon reaches the person: by opening a page in their browser.
func (p *person) loopback() *authlogin.Loopback {
	return &authlogin.Loopback{Open: func(page string) error {
		p.work.Go(func() { p.visit(page) })
		return nil
	}}
}

// visit goes through the pages of a login and remembers what the person saw.
func (p *person) visit(page string) error {
	v := p.logIn(page)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.visits = append(p.visits, v)
	return v.err
}

// seen waits until all visits are over and returns them.
func (p *person) seen(t *testing.T, want int) []visit {
	t.Helper()
	p.work.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, v := range p.visits {
		if v.err != nil {
			t.Errorf("%s, visit %d: %v", p.name, i, v.err)
		}
	}
	if len(p.visits) != want {
		t.Fatalf("%s was sent to a page %d times instead of %d: %+v", p.name, len(p.visits), want, p.visits)
	}
	return p.visits
}

// A seenPage is what matters of a page; Kind is empty if it is not one of the
// provider.
type seenPage struct{ Where, Kind, Text string }

const lookAtPage = `({
	Where: location.href,
	Kind: document.querySelector("input[name=prompt]")?.value ?? "",
	Text: document.body.innerText,
})`

// logIn goes through the pages like a person: it types a name, a password, and
// agrees to whatever is asked.
func (p *person) logIn(page string) (v visit) {
	ctx, cancel := context.WithTimeout(p.ctx, 2*time.Minute)
	defer cancel()
	ctx, closeTab := chromedp.NewContext(ctx)
	defer closeTab()
	time.Sleep(p.thinks)
	step := chromedp.Navigate(page)
	for range 8 {
		var now seenPage
		_, err := chromedp.RunResponse(ctx, step)
		if err == nil {
			now, err = chromedp.Run(ctx, chromedp.Evaluate[seenPage](lookAtPage))
		}
		if err != nil {
			return visit{err: err}
		}
		at, err := url.Parse(now.Where)
		if err != nil {
			return visit{err: err}
		}
		switch {
		case now.Kind == "login":
			v.askedWho = true
			err = chromedp.Do(ctx, chromedp.SendKeys("input[name=login]", p.name), chromedp.SendKeys("input[name=password]", "any"))
			p.picture(ctx, "login")
			step = chromedp.Click("button[type=submit]")
		case now.Kind == "consent":
			v.consent = now.Text
			p.picture(ctx, "consent")
			step = chromedp.Click("button[type=submit]")
			if p.declines {
				step = chromedp.Click("a[href$=abort]")
			}
		case at.Path == "/login" && at.Query().Has("ticket"):
			v.gateway = now.Text
			p.picture(ctx, "gateway")
			step = chromedp.Click("main form > button") // "button" alone is also found in the style sheet
		case at.Path == "/callback", at.Path == "/login/callback":
			p.picture(ctx, "end")
			v.end = now.Text
			return v
		default:
			return visit{err: fmt.Errorf("an unknown page at %s: %s", now.Where, now.Text)}
		}
		if err != nil {
			return visit{err: err}
		}
	}
	return visit{err: errors.New("the pages do not come to an end")}
}

// picture keeps what the page looks like.
func (p *person) picture(ctx context.Context, page string) {
	if png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot()); err == nil {
		_ = os.WriteFile(filepath.Join(p.shots, p.name+"-"+page+".png"), png, 0o600)
	}
}

// startBrowser starts Chromium, which crashes at its start now and then on a busy
// machine; it is started up to three times.
func startBrowser(t *testing.T, flags []chromedp.ExecAllocatorOption) (ctx context.Context, stop, closeBrowser context.CancelFunc) {
	t.Helper()
	for try := 1; ; try++ {
		ctx, stop = chromedp.NewExecAllocator(context.Background(), flags...)
		ctx, closeBrowser = chromedp.NewContext(ctx)
		err := chromedp.Do(ctx)
		if err == nil {
			return ctx, stop, closeBrowser
		}
		closeBrowser()
		stop()
		if try == 3 {
			t.Fatalf("the browser did not start: %v", err)
		}
	}
}
