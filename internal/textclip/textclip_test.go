package textclip

import "testing"

func TestClipKeepsWholeCharacters(t *testing.T) {
	for _, test := range []struct {
		text string
		max  int
		want string
	}{
		{"", 3, ""}, {"abc", 3, "abc"}, {"abcd", 3, "abc…"}, {"aéé", 4, "aé…"}, {"éé", 1, "…"}, {"\xff\xff", 1, "…"},
	} {
		if got := Clip(test.text, test.max); got != test.want {
			t.Errorf("Clip(%q, %d) is %q, want %q", test.text, test.max, got, test.want)
		}
	}
}
