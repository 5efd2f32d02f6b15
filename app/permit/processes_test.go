package permit

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/internal/edittest"
	"github.com/tenon-mcp/tenon/internal/leaktest"
)

func TestMain(m *testing.M) {
	edittest.Main(map[string]edittest.Job{"answer": answerJob})
	leaktest.Main(m)
}

// answerJob answers questions about tools of its own, and once about each of
// those that all processes have.
func answerJob(dir, name string, n int) (done []string) {
	b, err := Open(filepath.Join(dir, "tools.json"), config.Settings{})
	if err != nil {
		panic(err)
	}
	for i := range n {
		own := fmt.Sprintf("%s-%d", name, i)
		how := Always
		if i%4 == 3 {
			own, how = fmt.Sprintf("common-%d", i), Once
			if name == "w0" {
				how = Always
			}
		}
		if err := b.Answer("s", tool(own, ""), "", how); err != nil {
			panic(err)
		}
		if how == Always {
			done = append(done, own)
		}
	}
	return done
}

// S1: processes that answer at once keep every answer; one that allows a tool
// once does not take back that another always allows it.
func TestProcessesAnswer(t *testing.T) {
	dir := t.TempDir()
	reported := edittest.Run(t, "answer", dir, 4)
	b := open(t, filepath.Join(dir, "tools.json"), config.Settings{})
	n, lost := 0, 0
	for _, all := range reported {
		n += len(all)
		for _, name := range all {
			if v := b.Judge("s", tool(name, ""), nil, ""); v.Effect != config.Allow {
				lost++
			}
		}
	}
	if lost > 0 || n < edittest.Changes()/2 {
		t.Errorf("of %d answers, %d are lost", n, lost)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".tenon-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A definition that nobody has seen does not take the place of one that the
// person approved in another process.
func TestPinLeavesTheApprovalOfAnotherProcess(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tools.json")
	one, two := open(t, file, config.Settings{}), open(t, file, config.Settings{})
	answer(t, one, tool("a", "seen"), "", Always)
	if err := two.Pin("s", tool("a", "not seen")); err != nil {
		t.Fatal(err)
	}
	for _, b := range []*Book{two, open(t, file, config.Settings{})} {
		if v := b.Judge("s", tool("a", "not seen"), nil, ""); v.Effect != config.Ask || len(v.Changes) == 0 {
			t.Errorf("%+v", v)
		}
		if v := b.Judge("s", tool("a", "seen"), nil, ""); v.Effect != config.Allow {
			t.Errorf("%+v", v)
		}
	}
}
