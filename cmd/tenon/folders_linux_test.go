package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/app/audit"
)

// binaryAt is the program of one person, whose files are in home. They have
// chosen no configuration folder.
func binaryAt(t *testing.T, home string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := binary(t, args...)
	cmd.Dir = home
	set(cmd, "HOME", home)
	set(cmd, "XDG_DATA_HOME", filepath.Join(home, "data"))
	set(cmd, "TENON_CONFIG_DIR", "")
	return cmd
}

// A browser drives the API of a page.
type browser struct {
	t    *testing.T
	base string
	http *http.Client
}

// visit starts tenon up and logs in to its page.
func visit(t *testing.T, cmd *exec.Cmd) *browser {
	t.Helper()
	at, err := url.Parse(startPage(t, cmd).addresses[0])
	if err != nil {
		t.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	b := &browser{t, "http://" + at.Host + "/api/v1/", &http.Client{Jar: jar, Timeout: hangs}}
	t.Cleanup(b.http.CloseIdleConnections)
	b.post("login", map[string]string{"token": strings.TrimPrefix(at.Fragment, "token=")}, nil)
	return b
}

func (b *browser) get(path string, into any) {
	b.t.Helper()
	r, err := b.http.Get(b.base + path)
	if err != nil {
		b.t.Fatal(err)
	}
	b.read(path, r, into)
}

func (b *browser) post(path string, body, into any) {
	b.t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		b.t.Fatal(err)
	}
	q, err := http.NewRequest(http.MethodPost, b.base+path, bytes.NewReader(raw))
	if err != nil {
		b.t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Origin", "http://"+q.URL.Host)
	r, err := b.http.Do(q)
	if err != nil {
		b.t.Fatal(err)
	}
	b.read(path, r, into)
}

func (b *browser) read(path string, r *http.Response, into any) {
	b.t.Helper()
	defer r.Body.Close()
	raw, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		b.t.Fatalf("%s: %s, %s, %v", path, r.Status, raw, err)
	}
	if into != nil {
		if err := json.Unmarshal(raw, into); err != nil {
			b.t.Fatalf("%s: %v", path, err)
		}
	}
}

// say sends a sentence and returns the session when the turn has ended.
func (b *browser) say(session, text string) (messages string) {
	b.t.Helper()
	b.post("sessions/"+session+"/send", map[string]string{"text": text}, nil)
	var got struct {
		Busy     bool            `json:"busy"`
		Messages json.RawMessage `json:"messages"`
	}
	eventually(b.t, func() bool {
		var asks struct {
			Asks []json.RawMessage `json:"asks"`
		}
		b.get("state", &asks)
		if len(asks.Asks) > 0 {
			b.t.Fatalf("the person is asked: %s", asks.Asks)
		}
		b.get("sessions/"+session, &got)
		return !got.Busy
	})
	return string(got.Messages)
}

func (b *browser) sessions() (ids []string) {
	b.t.Helper()
	var got struct {
		Sessions []struct {
			ID    string `json:"id"`
			Title string `json:"title"`
		} `json:"sessions"`
	}
	b.get("sessions", &got)
	for _, s := range got.Sessions {
		ids = append(ids, s.ID)
	}
	return ids
}

// H15: a login of tenon auth login counts in the page.
func TestUpFindsTheLogin(t *testing.T) {
	home, address := t.TempDir(), guarded(t)
	login := binaryAt(t, home, "auth", "login", address)
	errs, err := login.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := login.Start(); err != nil {
		t.Fatal(err)
	}
	guard := time.AfterFunc(hangs, func() { login.Process.Kill() })
	defer guard.Stop()
	var told strings.Builder
	for in := bufio.NewScanner(errs); in.Scan(); {
		told.WriteString(in.Text() + "\n")
		if page := regexp.MustCompile(`http://\S+/authorize\?\S+`).FindString(in.Text()); page != "" {
			loads(t, page) // as the browser of the person would
		}
	}
	if err := login.Wait(); err != nil || !strings.Contains(told.String(), "Logged in to") {
		t.Fatalf("auth login: %v\n%s", err, &told)
	}

	b := visit(t, binaryAt(t, home, "up", "--model", "none", "--no-browser", "-s", address))
	var now struct {
		Servers []struct{ Name, Phase, Why string } `json:"servers"`
	}
	eventually(t, func() bool {
		b.get("state", &now)
		return now.Servers[0].Phase != "starting"
	})
	if now.Servers[0].Phase != "ready" {
		t.Errorf("the page says %+v", now.Servers)
	}
}

// always is a conversation in tenon chat in which calc/add is always allowed.
func always(t *testing.T, home, sum string) {
	t.Helper()
	cmd := binaryAt(t, home, "chat", "--model", "none", "-s", "builtin:calc")
	cmd.Stdin = strings.NewReader(sum + "\nalways\n")
	if code, out, errs := output(t, cmd); code != 0 || !strings.Contains(out, "Always allowed") {
		t.Fatalf("chat: %d\n%s\n%s", code, out, errs)
	}
}

// H15: what was approved in chat counts in the page, and a session of chat goes on
// there; the audit log is one.
func TestUpGoesOnWithChat(t *testing.T) {
	home := t.TempDir()
	always(t, home, "add 2 and 3")
	b := visit(t, binaryAt(t, home, "up", "--model", "none", "--no-browser", "-s", "builtin:calc"))
	ids := b.sessions()
	if len(ids) != 1 {
		t.Fatalf("the page has the sessions %q", ids)
	}
	if got := b.say(ids[0], "add 20 and 22"); !strings.Contains(got, "add 2 and 3") || !strings.Contains(got, "42") {
		t.Errorf("the session is %s", got)
	}
	if r, err := audit.Verify(filepath.Join(home, ".config", "tenon", "host", "audit.jsonl"), nil); r.Lines != 4 || err != nil {
		t.Errorf("the audit log has %d lines, %v", r.Lines, err)
	}
}

// oldPlace makes what older versions of tenon up have left: everything of home's
// host and logins in the data folder.
func oldPlace(t *testing.T, home string) (host, tokens string) {
	t.Helper()
	config, data := filepath.Join(home, ".config", "tenon"), filepath.Join(home, "data", "tenon")
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"host", "tokens"} {
		if err := os.Rename(filepath.Join(config, name), filepath.Join(data, name)); err != nil && name == "host" {
			t.Fatal(err)
		}
	}
	return filepath.Join(data, "host"), filepath.Join(data, "tokens")
}

// H15: files in the old place are moved once, and nothing of both places is lost.
func TestFilesOfTheOldPlaceAreMoved(t *testing.T) {
	home := t.TempDir()
	always(t, home, "add 2 and 3")
	host, tokens := oldPlace(t, home)
	if err := os.MkdirAll(tokens, 0o700); err != nil {
		t.Fatal(err)
	}
	login := strings.Repeat("ab", 32)
	if err := os.WriteFile(filepath.Join(tokens, login), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(home, ".config", "tenon")
	// Another conversation is in the new place.
	other := binaryAt(t, home, "chat", "--model", "none", "-s", "builtin:calc")
	set(other, "TENON_CONFIG_DIR", config)
	other.Stdin = strings.NewReader("multiply 6 and 7\nalways\n")
	if code, out, errs := output(t, other); code != 0 || strings.Contains(errs, "Moved") {
		t.Fatalf("chat: %d\n%s\n%s", code, out, errs)
	}
	if _, err := os.Stat(filepath.Join(host, "sessions.db")); err != nil {
		t.Fatalf("files were moved to a folder that was chosen for one run: %v", err)
	}

	for i := range 2 {
		cmd := binaryAt(t, home, "chat", "--model", "none", "-s", "builtin:calc")
		cmd.Stdin = strings.NewReader("/sessions\nadd 4 and 5\nmultiply 4 and 5\n")
		code, out, errs := output(t, cmd)
		if code != 0 || strings.Contains(out, "May calc") || !strings.Contains(out, "20") || !strings.Contains(out, "add 2 and 3") || !strings.Contains(out, "multiply 6 and 7") {
			t.Errorf("chat: %d\n%s\n%s", code, out, errs)
		}
		if told := strings.Count(errs, "Moved from"); told != 1-i {
			t.Errorf("run %d tells of it %d times: %s", i, told, errs)
		}
		for _, what := range []string{"1 session", "1 approval", "audit-2.jsonl", "logins"} {
			if i == 0 && !strings.Contains(errs, what) {
				t.Errorf("%q is not told of: %s", what, errs)
			}
		}
	}
	for _, log := range []string{"audit.jsonl", "audit-2.jsonl"} {
		cmd := binaryAt(t, home, "audit", "verify", filepath.Join(config, "host", log))
		if code, out, errs := output(t, cmd); code != 0 {
			t.Errorf("%s: %d %s %s", log, code, out, errs)
		}
	}
	if raw, err := os.ReadFile(filepath.Join(config, "tokens", login)); string(raw) != "secret" || err != nil {
		t.Errorf("the login is %q, %v", raw, err)
	}
	left, err := filepath.Glob(filepath.Join(host, "*"))
	if more, _ := filepath.Glob(filepath.Join(tokens, "*")); err != nil || len(left)+len(more) > 0 {
		t.Errorf("left behind are %q %q, %v", left, more, err)
	}
}

// While a program of the old version works in the old place, nothing is taken
// away from it.
func TestOldPlaceThatIsInUseStays(t *testing.T) {
	home := t.TempDir()
	always(t, home, "add 2 and 3")
	host, _ := oldPlace(t, home)
	old := binaryAt(t, home, "up", "--model", "none", "--no-browser", "-s", "builtin:calc", "--workspace", filepath.Dir(host))
	set(old, "TENON_CONFIG_DIR", filepath.Join(home, "elsewhere")) // so that it works in the old place, as the old version did
	b := visit(t, old)
	cmd := binaryAt(t, home, "tools", "forget", "nobody")
	if code, _, errs := output(t, cmd); code != 0 || !strings.Contains(errs, "Another tenon process has the sessions in") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	if got := b.say(b.sessions()[0], "add 20 and 22"); !strings.Contains(got, "42") {
		t.Errorf("the old session is %s", got)
	}
	old.Process.Signal(os.Interrupt)
	old.Wait()
	page := visit(t, binaryAt(t, home, "up", "--model", "none", "--no-browser", "-s", "builtin:calc"))
	if ids := page.sessions(); len(ids) != 1 {
		t.Errorf("the page has the sessions %q", ids)
	} else if got := page.say(ids[0], "add 1 and 1"); strings.Count(got, fmt.Sprint(42)) == 0 {
		t.Errorf("the session is %s", got)
	}
}
