package page

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	downloads "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/tenon-mcp/tenon/app/recording"
)

// A conversation that is saved is a recording of the command line, and can be
// loaded again.
func TestSaveAndLoad(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{servers: samples(t)})
	h.ready(t)
	p := open(t, h.address(), desk)
	p.until(`document.querySelectorAll('.counts').length === 4`)
	folder := t.TempDir()
	_, err := chromedp.Call(p.ctx, downloads.SetDownloadBehavior, downloads.SetDownloadBehaviorParams{Behavior: downloads.SetDownloadBehaviorBehaviorAllow, DownloadPath: folder})
	p.must(err)
	p.clickText("Wire")
	p.clickText("Save")
	p.sees("Save the messages of which server?")
	p.clickOn(`[...document.querySelectorAll('dialog .choices button')].find((b) => b.innerText === 'calc')`, "calc")
	file := filepath.Join(folder, "calc.txtar")
	var rec *recording.Recording
	for end := time.Now().Add(waitLimit); rec == nil; time.Sleep(20 * time.Millisecond) {
		if f, err := os.Open(file); err == nil {
			rec, _ = recording.Read(f) // it may still be on its way
			f.Close()
		}
		if time.Now().After(end) {
			t.Fatal("nothing was saved")
		}
	}
	if rec.Server != "calc" || len(rec.Messages) < 4 {
		t.Fatalf("saved were %d messages of %q", len(rec.Messages), rec.Server)
	}

	load := func(file string) {
		t.Helper()
		chosen := chromedp.Events(p.ctx, page.FileChooserOpened)
		_, err := chromedp.Call(p.ctx, page.SetInterceptFileChooserDialog, page.SetInterceptFileChooserDialogParams{Enabled: true})
		p.must(err)
		p.clickText("Load")
		for e, err := range chosen {
			p.must(err)
			_, err = chromedp.Call(p.ctx, dom.SetFileInputFiles, dom.SetFileInputFilesParams{Files: []string{file}, BackendNodeID: e.BackendNodeID})
			p.must(err)
			break
		}
	}
	load(file)
	p.until(fmt.Sprintf(`document.querySelector('.bar .count').innerText.startsWith('%d rows of ')`, len(rec.Messages)))
	p.until(`[...document.querySelectorAll('.spacer .wrow:not([hidden]) .srv')].every((e) => e.innerText === 'recording calc')`)
	p.until(`document.querySelector('.bar select[aria-label=Server]').value === 'recording calc'`)
	p.until(`[...document.querySelectorAll('.spacer .wrow:not([hidden]) .method')].some((e) => e.innerText.includes('tools/list'))`)

	wrong := filepath.Join(folder, "wrong.txtar")
	if err := os.WriteFile(wrong, []byte("this is no recording"), 0o600); err != nil {
		t.Fatal(err)
	}
	load(wrong)
	p.until(`document.querySelector('.wiretable .empty .state.bad')?.checkVisibility()`)
}

// What a real host and a real server say to each other through tenon tap is
// shown by tenon up --tap.
func TestTap(t *testing.T) {
	t.Parallel()
	config := t.TempDir()
	p := open(t, upWith(t, t.TempDir(), config, "--tap"), desk)
	p.until(`document.querySelectorAll('.counts').length === 5`)
	for end := time.Now().Add(waitLimit); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(config, "tap.sock")); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("tenon up does not listen for taps")
		}
	}
	c := exec.CommandContext(t.Context(), tenon(t), "tap", "--name", "tapped", "--", tenon(t), "serve", "calc")
	c.Env = append(os.Environ(), "TENON_CONFIG_DIR="+config)
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	p.must(err)
	out, err := c.StdoutPipe()
	p.must(err)
	p.must(c.Start())
	answers := bufio.NewScanner(out)
	say := func(line, want string) {
		t.Helper()
		_, err := fmt.Fprintln(in, line)
		p.must(err)
		for want != "" {
			if !answers.Scan() {
				t.Fatal("the server has ended")
			}
			if strings.Contains(answers.Text(), want) {
				return
			}
		}
	}
	say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"some host","version":"1"}}}`, `"id":1`)
	say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, "")
	say(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","arguments":{"a":20,"b":22}}}`, `42`)
	eval[string](p, `location.hash = '#/wire/all?flat=1&all=1'`)
	const rows = `[...document.querySelectorAll('.spacer .wrow:not([hidden], .event)')].filter((r) => r.querySelector('.srv').innerText === 'tapped')`
	p.until(rows + `.length === 5`)
	p.until(rows + `.some((r) => r.querySelector('.method').innerText.includes('initialize') && r.querySelector('.status').innerText.startsWith('ok'))`)
	p.clickOn(rows+`.find((r) => r.querySelector('.method').innerText.startsWith('tools/call'))`, "the call")
	p.until(`document.querySelector('.message')?.innerText.includes('"b": 22')`)
	p.must(in.Close())
	if err := c.Wait(); err != nil {
		t.Errorf("tenon tap ended with %v", err)
	}
}
