package host

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/toolname"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// turnLog is a server that notes when its tools begin and end.
type turnLog struct {
	mu    sync.Mutex
	lines []string
}

func (d *turnLog) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (d *turnLog) server() *server.Server {
	s := server.New(mcp.Implementation{Name: "d", Version: "1"}, nil)
	type args struct {
		N string `json:"n"`
	}
	run := func(ctx context.Context, _ *mcp.Call, a args) (string, error) {
		d.note("%s begins", a.N)
		select { // long enough for the others to overtake it if they are let
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
		}
		d.note("%s ends", a.N)
		return a.N, nil
	}
	server.AddTool(s, "write", "", run, nil)
	server.AddTool(s, "read", "", run, &server.ToolOptions{Annotations: server.ReadOnly()})
	return s
}

// H3: a call that may change something runs alone and in the order of the
// answer, and the person is asked in that order.
func TestWritesRunInTheOrderOfTheAnswer(t *testing.T) {
	var d turnLog
	b := newBench(t, nil, calls("d__write", `{"n":"1"}`, "d__read", `{"n":"2"}`, "d__read", `{"n":"3"}`, "d__write", `{"n":"4"}`, "d__write", `{"n":"5"}`, "d__read", `{"n":"6"}`), says("ok"))
	b.attach("d", d.server())
	if err := b.host.NewSession().Send(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	at := func(line string) int { return slices.Index(d.lines, line) }
	for _, pair := range [][2]string{{"1 ends", "2 begins"}, {"1 ends", "3 begins"}, {"2 ends", "4 begins"}, {"3 ends", "4 begins"}, {"4 ends", "5 begins"}, {"5 ends", "6 begins"}} {
		if before, after := at(pair[0]), at(pair[1]); before < 0 || after < 0 || before > after {
			t.Errorf("%q is not before %q: %q", pair[0], pair[1], d.lines)
		}
	}
	var asked []string
	for _, e := range b.all(EventAsk) {
		asked = append(asked, string(e.Ask.Call.Arguments))
	}
	if !slices.IsSorted(asked) || len(asked) != 6 {
		t.Errorf("asked in the order %q", asked)
	}
	if got := b.last(); !regexp.MustCompile(`(?s)1.*2.*3.*4.*5.*6`).MatchString(got) {
		t.Errorf("the results came as %q", got)
	}
}

// H4: every legal name is a name that the model can be given, within the limit.
func FuzzModelName(f *testing.F) {
	f.Add("files", strings.Repeat("a.b.", 10)+"c", 0)
	f.Add("s", "x", 24)
	f.Add(strings.Repeat("é", 90), "日本", 64)
	fine := regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)
	f.Fuzz(func(t *testing.T, server, tool string, limit int) {
		name := toolname.Join(server, tool, limit)
		most := limit
		if most <= 0 {
			most = toolname.DefaultLen
		}
		if server != "" && !fine.MatchString(name) || len(name) > max(most, 24) {
			t.Errorf("%q of %q with limit %d is %q", tool, server, limit, name)
		}
	})
}

// H4: names of every length around the limits.
func TestNamesOfEveryLength(t *testing.T) {
	for _, limit := range []int{0, 24, 40, 64} {
		for n := 1; n < 130; n++ {
			for _, server := range []string{"s", "files", strings.Repeat("s", 60)} {
				tool := strings.Repeat("a.b", n)[:n]
				if name := toolname.Join(server, tool, limit); len(name) > max(limit, 24) && limit != 0 || len(name) > 64 {
					t.Errorf("%q of %q is %q", tool, server, name)
				}
			}
		}
	}
}

// H4: a panic costs the call or the turn, and neither the session nor the host.
func TestPanicCostsATurn(t *testing.T) {
	explode := true
	b := newBench(t, func(o *Options) {
		o.Audit = func(r AuditRecord) error {
			if explode && r.What == "call" {
				panic("the audit log explodes")
			}
			return nil
		}
	}, calls("calc__add", `{"a":1,"b":2}`), says("sorry"), calls("calc__add", `{"a":1,"b":2}`), says("3"))
	b.attach("calc", calculator())
	s := b.host.NewSession()
	if err := s.Send(t.Context(), "add"); err != nil {
		t.Fatal(err)
	}
	if got := b.phases(); !strings.HasSuffix(got, "calc__add:failed") {
		t.Errorf("the call went %s", got)
	}
	if got := b.last(); !strings.Contains(got, "internal error in Tenon at order_test.go") {
		t.Errorf("the model was told %q", got)
	}
	explode = false
	if err := s.Send(t.Context(), "again"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Call(t.Context(), "calc", "add", json.RawMessage(`{"a":1,"b":2}`)); err != nil {
		t.Error(err)
	}
}

// H4: so does one that is not inside a call.
func TestPanicOfTheModelCostsATurn(t *testing.T) {
	b := newBench(t, nil, nil, says("hello"))
	s := b.host.NewSession()
	err := s.Send(t.Context(), "hi")
	if err == nil || !strings.Contains(err.Error(), "internal error in Tenon") {
		t.Fatalf("got %v", err)
	}
	if done := b.all(EventDone); len(done) != 1 || done[0].Stop != "error" {
		t.Errorf("ended %+v", done)
	}
	if err := s.Send(t.Context(), "hi again"); err != nil {
		t.Fatal(err)
	}
}
