package recording

import (
	"fmt"
	"strings"
	"testing"
)

func TestDiff(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{`{"a":1,"b":[1,2]}`, ` { "b" : [1, 2.0], "a" : 1 } `, ``},
		{`{"a":"\u0041"}`, `{"a":"A"}`, ``},
		{`{"a":1}`, `{"a":2}`, `/a 1 2;`},
		{`{"a":1}`, `{"b":1}`, `/a 1 -;/b - 1;`},
		{`[1,2,3]`, `[1,5]`, `/1 2 5;/2 3 -;`},
		{`[1]`, `[1,{}]`, `/1 - {};`},
		{`{"x/y~z":{"k":null}}`, `{"x/y~z":{"k":false}}`, `/x~1y~0z/k null false;`},
		{`9007199254740993`, `9007199254740992`, ` 9007199254740993 9007199254740992;`},
		{`1e2`, `100`, ``},
		{`"1"`, `1`, ` "1" 1;`},
		{`{}`, `[]`, ` {} [];`},
		{`not json`, `{}`, ` not json {};`},
		{`same`, `same`, ``},
	} {
		var got strings.Builder
		for _, d := range Diff([]byte(c.a), []byte(c.b)) {
			a, b := string(d.A), string(d.B)
			if d.A == nil {
				a = "-"
			}
			if d.B == nil {
				b = "-"
			}
			fmt.Fprintf(&got, "%s %s %s;", d.Pointer, a, b)
		}
		if got.String() != c.want {
			t.Errorf("%s and %s differ by %q, want %q", c.a, c.b, got.String(), c.want)
		}
	}
}
