package spec

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
)

// A Size is a number of bytes, written as 16KiB or 4MiB.
type Size int64

var sizes = regexp.MustCompile(`^([0-9]{1,6})(B|KiB|MiB)$`)

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Size) UnmarshalText(text []byte) error {
	m := sizes.FindSubmatch(text)
	if m == nil {
		return fmt.Errorf("expected a size such as 16KiB or 4MiB, got %q", text)
	}
	n, err := strconv.ParseInt(string(m[1]), 10, 64)
	if err != nil {
		return err
	}
	switch string(m[2]) {
	case "KiB":
		n <<= 10
	case "MiB":
		n <<= 20
	}
	*s = Size(n)
	return nil
}

// MarshalText implements encoding.TextMarshaler.
func (s Size) MarshalText() ([]byte, error) {
	switch {
	case s > 0 && s%(1<<20) == 0:
		return fmt.Appendf(nil, "%dMiB", s>>20), nil
	case s > 0 && s%(1<<10) == 0:
		return fmt.Appendf(nil, "%dKiB", s>>10), nil
	}
	return fmt.Appendf(nil, "%dB", s), nil
}

// JSONSchema returns the schema of the text.
func (Size) JSONSchema() json.RawMessage {
	return json.RawMessage(`{"type":"string","pattern":"^[0-9]{1,6}(B|KiB|MiB)$"}`)
}
