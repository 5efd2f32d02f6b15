package telemetry

import (
	"strings"
	"testing"
)

// A traceparent that is accepted is passed on as the same trace.
func FuzzTraceparent(f *testing.F) {
	f.Add("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	f.Add("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-comes-later")
	f.Add("ff-00000000000000000000000000000000-0000000000000000-00")
	f.Fuzz(func(t *testing.T, text string) {
		s := parseTraceparent(text)
		if !s.valid() {
			return
		}
		again := s.traceparent()
		if back := parseTraceparent(again); back.trace != s.trace || back.span != s.span || back.sampled != s.sampled {
			t.Fatalf("%q became %q", text, again)
		}
		if !strings.EqualFold(text[3:52], again[3:52]) {
			t.Fatalf("%q was read as %q", text, again)
		}
	})
}
