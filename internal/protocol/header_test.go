package protocol

import "testing"

func TestHeaderValues(t *testing.T) {
	for _, tc := range []struct{ text, header string }{
		{"us-west1", "us-west1"},
		{"", ""},
		{"with spaces inside", "with spaces inside"},
		{" edge", "=?base64?IGVkZ2U=?="},
		{"edge\t", "=?base64?ZWRnZQk=?="},
		{"a\r\nX-Evil: 1", "=?base64?YQ0KWC1FdmlsOiAx?="},
		{"日本語", "=?base64?5pel5pys6Kqe?="},
		{"=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="},
		{"=?base64?half", "=?base64?half"},
		{"=?BASE64?ZWNobw==?=", "=?BASE64?ZWNobw==?="},
	} {
		if got := EncodeHeader(tc.text); got != tc.header {
			t.Errorf("EncodeHeader(%q) = %q, want %q", tc.text, got, tc.header)
		}
		if got, ok := DecodeHeader(tc.header); !ok || got != tc.text {
			t.Errorf("DecodeHeader(%q) = %q, %v, want %q", tc.header, got, ok, tc.text)
		}
	}
	for _, bad := range []string{"=?base64?!!!?=", "=?base64?ZWNobw?=", "=?base64?ZWNobx==?=", "=?base64?/w==?=", "\x01", "caf\u00e9"} {
		if got, ok := DecodeHeader(bad); ok {
			t.Errorf("DecodeHeader(%q) = %q, want a refusal", bad, got)
		}
	}
}
