package httpguard

import "testing"

// Only a request that has come to its end, with nothing of the next, needs no
// clock for its body.
func TestBetweenRequests(t *testing.T) {
	const post = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n"
	for _, c := range []struct {
		came []string
		want bool
	}{
		{nil, false},
		{[]string{post + "abc"}, true},
		{[]string{post, "abc"}, true},
		{[]string{post + "ab"}, false},
		{[]string{post}, false},
		{[]string{post + "abc", "P"}, false},
		{[]string{post + "abc" + post}, false},
		{[]string{post + "abc", post + "a", "bc"}, true},
		{[]string{"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"}, false},
		{[]string{"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"}, true},
		{[]string{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"}, false},
	} {
		var f framing
		for _, came := range c.came {
			if good := f.check([]byte(came)); good != len(came) {
				t.Fatalf("%q: refused at %d", came, good)
			}
		}
		if got := f.between(); got != c.want {
			t.Errorf("after %q: %v", c.came, got)
		}
	}
}
