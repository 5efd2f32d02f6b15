package recording

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/internal/visible"
)

// The encodings of a frame in a recording, which the name of its section has:
//
//	(none)  the frame is the one line of the section
//	text    the frame is the lines of the section, each after a "| "
//	base64  the frame is base64, in lines of 76
//
// Text keeps invalid lines and standard error readable, and no line of it can
// begin a section. Frames that are not UTF-8, or contain a carriage return or
// another control character that editors may change, are base64.
const (
	asText   = "text"
	asBase64 = "base64"
)

// encodeFrame returns the encoding of a frame and its section's data.
func encodeFrame(frame []byte) (encoding string, data []byte) {
	switch {
	case rawjson.IsObject(frame) && oneLine(frame), rawjson.IsArray(frame) && oneLine(frame):
		return "", append(append([]byte(nil), frame...), '\n')
	case safeText(frame):
		for line := range bytes.SplitSeq(frame, []byte("\n")) {
			data = append(append(append(data, "| "...), line...), '\n')
		}
		return asText, data
	}
	text := base64.StdEncoding.EncodeToString(frame)
	for len(text) > 76 {
		data = append(append(data, text[:76]...), '\n')
		text = text[76:]
	}
	return asBase64, append(append(data, text...), '\n')
}

// oneLine reports whether a frame can be written unchanged: it begins with a
// bracket, so it cannot begin a section.
func oneLine(frame []byte) bool {
	return (frame[0] == '{' || frame[0] == '[') && !bytes.ContainsAny(frame, "\n") && safeText(frame)
}

// safeText reports whether editors preserve a text.
func safeText(text []byte) bool {
	if !utf8.Valid(text) {
		return false
	}
	for _, c := range text {
		if c < 0x20 && c != '\n' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

func decodeFrame(encoding string, data []byte) ([]byte, error) {
	switch encoding {
	case "":
		return decodePlain(data)
	case asText:
		return decodeText(data)
	case asBase64:
		frame, err := base64.StdEncoding.DecodeString(string(bytes.Join(bytes.Fields(data), nil)))
		if err != nil {
			return nil, fmt.Errorf("this is not base64: %w", err)
		}
		return frame, nil
	}
	return nil, fmt.Errorf("%q is no way to write a frame; there are text, base64, and none for JSON", encoding)
}

// decodePlain reads JSON, which may span several lines in a recording written by
// hand, as one line.
func decodePlain(data []byte) ([]byte, error) {
	frame := bytes.TrimRight(data, "\n")
	if bytes.ContainsAny(frame, "\n\r") {
		frame = bytes.TrimSpace(frame)
		if err := rawjson.Check(frame); err != nil {
			return nil, fmt.Errorf("this is not JSON: %w; write other text with text or base64 in the section's name", err)
		}
		return rawjson.AppendCompact(nil, frame), nil
	}
	if len(frame) == 0 {
		return nil, fmt.Errorf("the section is empty")
	}
	return frame, nil
}

func decodeText(data []byte) (frame []byte, err error) {
	first := true
	for line := range bytes.Lines(data) {
		line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		text, ok := bytes.CutPrefix(line, []byte("| "))
		if !ok {
			if text, ok = bytes.CutPrefix(line, []byte("|")); !ok || len(text) > 0 {
				if len(bytes.TrimSpace(line)) == 0 {
					continue // a blank line between sections
				}
				return nil, fmt.Errorf("each line of a text begins with \"| \", and this one does not: %q", visible.Shorten(string(line), 80))
			}
		}
		if !first {
			frame = append(frame, '\n')
		}
		frame, first = append(frame, text...), false
	}
	return frame, nil
}
