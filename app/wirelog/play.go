package wirelog

import (
	"bytes"

	"github.com/tenon-mcp/tenon/app/speccheck"
)

// Play writes down a message of a recording as if it passed now, but at its own
// time. What it belongs to, and what is wrong with it, is found out anew.
func (w *Wire) Add(m speccheck.Message) {
	again := speccheck.Message{At: m.At, Dir: m.Dir, Kind: m.Kind, Frame: bytes.Clone(m.Frame), HTTP: m.HTTP}
	if m.Kind.IsJSON() {
		w.addFrame(again)
		return
	}
	w.addOther(again)
}
