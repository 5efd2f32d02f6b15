package typo

import "testing"

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b       string
		most, want int
	}{
		{"", "", 2, 0}, {"a", "", 2, 1}, {"", "ab", 2, 2}, {"", "abc", 2, 3}, {"same", "same", 0, 0},
		{"path", "paht", 2, 1}, {"path", "bath", 2, 1}, {"path", "paths", 2, 1}, {"path", "pat", 2, 1},
		{"größe", "grosse", 3, 3}, {"kitten", "sitting", 3, 3}, {"kitten", "sitting", 2, 3}, {"abcdef", "uvwxyz", 2, 3},
	} {
		for _, pair := range [][2]string{{c.a, c.b}, {c.b, c.a}} {
			if got := Distance(pair[0], pair[1], c.most); got != c.want {
				t.Errorf("%q: %d, want %d", pair, got, c.want)
			}
		}
	}
}
