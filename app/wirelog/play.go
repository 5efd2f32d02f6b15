package wirelog

import (
	"bytes"

	"github.com/tenon-mcp/tenon/app/speccheck"
)

// Add adds a message that was seen elsewhere, such as one of a recording. It uses
// the message's At, Dir, Kind, Frame and HTTP and derives the other fields.
func (w *Wire) Add(m speccheck.Message) {
	again := speccheck.Message{At: m.At, Dir: m.Dir, Kind: m.Kind, Frame: bytes.Clone(m.Frame), HTTP: m.HTTP}
	if m.Kind.IsJSON() {
		w.addFrame(again)
		return
	}
	w.addOther(again)
}
