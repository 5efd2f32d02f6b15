package page

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/ext/apps"
)

func auditLines(t *testing.T, dir string) [][]byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "audit*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no audit log in %s: %v", dir, err)
	}
	var all [][]byte
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, bytes.Split(data, []byte("\n"))...)
	}
	return all
}

// The view of a tool gets the input and the result of the call, calls a tool of
// its server, is resized, and is told before it goes.
func TestView(t *testing.T) {
	t.Parallel()
	st := newViewFixture(t, `run(async () => {
		const r = await init();
		const input = await got('ui/notifications/tool-input'), result = await got('ui/notifications/tool-result');
		note('ui/notifications/size-changed', {height: 333});
		return {r, order: heard.map((m) => m.method).filter(Boolean), input: input.params, result: result.params, origin: origin, cookie: document.cookie};
	});
	onTeardown = async (m) => { await report('bye'); post({id: m.id, result: {}}); };`, apps.ViewUI{}, setup{})
	p := open(t, st.address(), desk)
	st.run(p, "show")
	var got struct {
		Origin, Cookie string
		Order          []string
	}
	if err := json.Unmarshal(st.report(p, 0), &got); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(got.Origin, ".localhost:") || got.Cookie != "" || !slices.Equal(got.Order, []string{"ui/notifications/tool-input", "ui/notifications/tool-result"}) {
		t.Errorf("%+v", got)
	}
	p.until(`document.querySelector('.app-frame').style.height === '333px'`)
	eval[string](p, `location.hash = '#/wire'`)
	if bye := string(st.report(p, 1)); bye != `"bye"` {
		t.Error(bye)
	}
	p.until(`!document.querySelector('.app-frame')`)
}
