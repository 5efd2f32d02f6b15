package login

import (
	"context"
	"errors"
	"fmt"
	"github.com/tenon-mcp/tenon/internal/needtest"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// browse plays the browser: it follows the page to the callback.
func browse(t *testing.T, change func(*http.Request)) func(string) error {
	return func(page string) error {
		resp, err := (&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, Transport: &http.Transport{DisableKeepAlives: true}}).Get(page)
		if err != nil {
			return err
		}
		resp.Body.Close()
		at := resp.Header.Get("Location")
		var visiting sync.WaitGroup
		t.Cleanup(visiting.Wait) // or it may be told of an error when it has ended
		visiting.Go(func() {
			status, body := visit(t, at, change)
			if change == nil && (status != 200 || !strings.Contains(body, "Login finished")) {
				t.Errorf("the browser shows %d %q", status, body)
			}
		})
		return nil
	}
}

func visit(t *testing.T, at string, change func(*http.Request)) (int, string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, at, nil)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	if change != nil {
		change(req)
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	if csp := resp.Header.Get("Content-Security-Policy"); resp.StatusCode == 200 && !strings.Contains(csp, "default-src 'none'") {
		t.Errorf("Content-Security-Policy %q", csp)
	}
	return resp.StatusCode, string(body)
}

func TestLoopbackLogin(t *testing.T) {
	w := newWorld(t)
	c := w.client(func(o *Options) {
		o.Authorize, o.RedirectURI, o.Loopback = nil, "", &Loopback{Open: browse(t, nil)}
	})
	w.wantOK(c)
	first := w.lastPage().Get("redirect_uri")
	if !strings.HasPrefix(first, "http://127.0.0.1:") || !strings.HasSuffix(first, "/callback") {
		t.Errorf("redirect URI %q", first)
	}
	// The next login uses the port that is registered, so nobody registers twice.
	w.tokens = func(form url.Values, _ http.Header) (int, any) {
		if form.Get("grant_type") == "refresh_token" {
			return 400, map[string]any{"error": "invalid_grant"}
		}
		return 0, nil
	}
	w.revoke()
	w.wantOK(c)
	if again := w.lastPage().Get("redirect_uri"); again != first {
		t.Logf("the port was taken meanwhile: %s, then %s", first, again)
	} else {
		w.wantCount(1, "issuer POST /register")
	}
}

// A22: the listener takes one request, for its own name, with the right state;
// it is not kept from it by others, and it takes no second one.
func TestLoopbackListener(t *testing.T) {
	var mu sync.Mutex
	shown := ""
	visited := make(chan struct{})
	l := &Loopback{Open: func(string) error { return errors.New("no browser here") }}
	d, err := l.open("", "")
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	good := d.redirect + "?code=c&state=right"
	l.Show = func(page string) {
		mu.Lock()
		shown = page
		mu.Unlock()
		go func() {
			for name, try := range map[string]struct {
				at     string
				change func(*http.Request)
			}{
				"evil host":   {good, func(r *http.Request) { r.Host = "evil.example" }},
				"host only":   {good, func(r *http.Request) { r.Host = "127.0.0.1" }},
				"rebinding":   {good, func(r *http.Request) { r.Host = "127.0.0.1.evil.example:" + r.URL.Port() }},
				"wrong state": {d.redirect + "?code=c&state=wrong", nil},
				"no state":    {d.redirect + "?code=c", nil},
				"two states":  {good + "&state=right", nil},
				"other path":  {strings.Replace(good, "/callback", "/other", 1), nil},
				"POST":        {good, func(r *http.Request) { r.Method = http.MethodPost }},
				"huge":        {good + "&x=" + strings.Repeat("x", maxCallback), nil},
				"enormous":    {good + "&x=" + strings.Repeat("x", 1<<20), nil},
			} {
				status, body := visit(t, try.at, try.change)
				if status != http.StatusBadRequest && status != http.StatusRequestHeaderFieldsTooLarge && (status != 0 || name != "enormous") {
					t.Errorf("%s: %d %q", name, status, body)
				}
			}
			if status, _ := visit(t, good, nil); status != 200 {
				t.Errorf("the right one: %d", status)
			}
			if status, _ := visit(t, good, nil); status == 200 {
				t.Error("a second one was taken")
			}
			close(visited)
		}()
	}
	callback, err := d.authorize(t.Context(), "https://as.example/authorize?state=right")
	<-visited
	if err != nil || callback.String() != good {
		t.Errorf("%v, %v", callback, err)
	}
	mu.Lock()
	defer mu.Unlock()
	if shown == "" {
		t.Error("without a browser the page was not shown")
	}
	if conn, err := net.Dial("tcp", d.listener.Addr().String()); err == nil {
		conn.Close()
		t.Error("the listener is still open")
	}
}

// silent is a listener that nobody calls.
type silent struct{ closed chan struct{} }

func (s *silent) Accept() (net.Conn, error) { <-s.closed; return nil, net.ErrClosed }
func (s *silent) Addr() net.Addr            { return &net.TCPAddr{} }
func (s *silent) Close() error {
	select {
	case <-s.closed:
	default:
		close(s.closed)
	}
	return nil
}

// A22: after five minutes nobody is waited for.
func TestLoopbackEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Loopback{Open: func(string) error { return nil }}
		at, _ := url.Parse("http://127.0.0.1:1/callback")
		s := &silent{closed: make(chan struct{})}
		begun := time.Now()
		_, err := l.listenFor(s, at).authorize(context.Background(), "https://as.example/?state=s")
		if err == nil || !strings.Contains(err.Error(), "no login") || time.Since(begun) != 5*time.Minute {
			t.Errorf("after %s: %v", time.Since(begun), err)
		}
		<-s.closed
	})
}

func TestRedirectURIs(t *testing.T) {
	for uri, ok := range map[string]bool{
		"http://127.0.0.1:0/x": true, "http://localhost:0/x": true,
		"https://127.0.0.1:3000/x": false, "http://example.com:3000/x": false, "http://127.0.0.1/x": false,
		"http://127.0.0.1:3000/x?y": false, "http://0.0.0.0:3000/x": false, "app:/x": false,
	} {
		d, err := (&Loopback{}).open(uri, "")
		if (err == nil) != ok {
			t.Errorf("%s: %v", uri, err)
		}
		if d != nil {
			d.close()
		}
	}
	for uri, ok := range map[string]bool{"https://app.example/cb": true, "http://localhost:1/cb": true, "http://app.example/cb": false, "": false, "app:/cb": false} {
		o := &Options{RedirectURI: uri, Authorize: nobody(t)}
		if _, err := o.openReceiver(""); (err == nil) != ok {
			t.Errorf("%q: %v", uri, err)
		}
	}
}

// A10: whatever the page, it is one argument, the last one, of a fixed program.
func TestLauncher(t *testing.T) {
	const page = "https://x/?a=b&c=d"
	for system, want := range map[string][]string{
		"windows": {"rundll32", "url.dll,FileProtocolHandler", page}, "darwin": {"open", page}, "linux": {"xdg-open", page}, "freebsd": {"xdg-open", page},
	} {
		name, args := launcher(system, page)
		if got := append([]string{name}, args...); !slices.Equal(got, want) {
			t.Errorf("%s: %q", system, got)
		}
	}
}

// A10, CVE-2025-6514: nothing of a page is executed.
func TestOpenBrowser(t *testing.T) {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		t.Skip("the launcher is replaced by a script here")
	}
	sh := needtest.Program(t, "sh")
	dir := t.TempDir()
	told, marker := filepath.Join(dir, "told"), filepath.Join(dir, "marker")
	script := fmt.Sprintf("#!%s\nprintf '%%s\\n' \"$#\" \"$1\" > %s.tmp && /bin/mv %s.tmp %s\n", sh, told, told, told)
	if err := os.WriteFile(filepath.Join(dir, "xdg-open"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	defer func(wait time.Duration) { launchWait = wait }(launchWait)
	launchWait = time.Minute // the launchers here end by themselves, on a busy machine too
	for _, page := range []string{
		"https://x/$(touch " + marker + ")", "https://x/`touch " + marker + "`", "https://x/&touch " + marker, "https://x/';touch " + marker + " #",
		"https://x/#;touch " + marker, "https://x/#a#b", "https://x/#$(id)",
		"--help", "file://" + marker, "javascript:x", "",
	} {
		if OpenBrowser(page) == nil {
			t.Errorf("%q was opened", page)
		}
	}
	const page = "https://as.example/authorize?state=a&x=%24%28touch%20y%29#token=A&b=c"
	if err := OpenBrowser(page); err != nil {
		t.Fatal(err)
	}
	var got []byte
	for range 3000 {
		var err error
		if got, err = os.ReadFile(told); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond) // the launcher is another process
	}
	if string(got) != "1\n"+page+"\n" {
		t.Errorf("the launcher got %q", got)
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("something was executed")
	}
	if err := os.WriteFile(filepath.Join(dir, "xdg-open"), []byte("#!"+sh+"\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if OpenBrowser(page) == nil {
		t.Error("the launcher found no browser, and nobody was told")
	}
	t.Setenv("PATH", t.TempDir())
	if OpenBrowser(page) == nil {
		t.Error("a browser was opened where there is none")
	}
}

// A22: of two answers with the right state the second one is refused even if
// it comes before the listener is closed.
func TestOneShot(t *testing.T) {
	at, _ := url.Parse("http://127.0.0.1:3000/callback")
	d := (&Loopback{}).listenFor(nil, at)
	d.state = "right"
	for _, want := range []int{200, 400, 400} {
		rec := httptest.NewRecorder()
		d.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "http://127.0.0.1:3000/callback?code=c&state=right", nil))
		if rec.Code != want {
			t.Errorf("status %d, want %d", rec.Code, want)
		}
	}
}

// Where no browser can be opened and nothing else is set, the page is written to
// standard error.
func TestPageIsWrittenToStandardError(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	before := os.Stderr
	os.Stderr = w
	(&Loopback{Open: func(string) error { return errors.New("there is no browser") }}).show("https://as.example/authorize?state=s")
	os.Stderr = before
	_ = w.Close()
	text, err := io.ReadAll(r)
	_ = r.Close()
	if err != nil || !strings.Contains(string(text), "  https://as.example/authorize?state=s\n") {
		t.Errorf("%q, %v", text, err)
	}
}
