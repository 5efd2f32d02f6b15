package host

import (
	"testing"

	"github.com/tenon-mcp/tenon/app/llm"
)

func TestEffortOfARequest(t *testing.T) {
	thinks, unknown := llm.Info{Efforts: []string{"low", "high"}}, llm.Info{}
	for _, test := range []struct{ effort, thinks, unknown string }{
		{"", "auto", ""}, {"auto", "auto", ""}, {"none", "none", ""}, {"high", "high", "high"},
	} {
		h := New(&Options{Effort: test.effort})
		if a, b := h.effortOf(thinks), h.effortOf(unknown); a != test.thinks || b != test.unknown {
			t.Errorf("%q: %q and %q", test.effort, a, b)
		}
		h.SetEffort("max")
		if h.effortOf(thinks) != "max" || h.Effort() != "max" {
			t.Errorf("the effort is %q", h.Effort())
		}
		h.Close()
	}
}
