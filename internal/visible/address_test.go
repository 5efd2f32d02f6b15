package visible

import (
	"strings"
	"testing"
)

// A8: an address that looks like that of another machine is refused, or its
// machine is named as it is and with a warning.
func TestAddressOf(t *testing.T) {
	for _, test := range []struct {
		raw, machine, refused, warning string
	}{
		{"https://bank.com/login?x=1#y", "bank.com", "", ""},
		{"https://BANK.com:443/", "bank.com", "", ""},
		{"https://appIe.com./", "appie.com", "", ""}, // a capital i
		{"https://bank.com:8443/", "bank.com:8443", "", ""},
		{"http://127.0.0.1:3000/", "127.0.0.1:3000", "", ""},
		{"http://localhost/", "localhost", "", ""},
		{"http://[::1]:80/", "[::1]", "", ""},
		{"https://evil.io/@bank.com", "evil.io", "", ""},

		{"https://bank.com@evil.io/", "evil.io", "before the @ (bank.com) is a user name", ""},
		{"https://bank.com:443@evil.io/", "evil.io", "before the @ (bank.com) is a user name", ""},
		{"https://bank.com%2Flogin@evil.io:444/", "evil.io:444", "is a user name, not the machine; the page is on evil.io:444", ""},
		{"https://@evil.io/", "evil.io", "is a user name", ""},
		{`https://evil.io\@bank.com/`, "", "backslash", ""},
		{`https://evil.io\.bank.com/`, "", "backslash", ""},
		{`https://bank.com/\evil`, "", "backslash", ""},
		{"https://ba\tnk.com/", "", "not a valid", ""},
		{"https://bank.com/ x", "", "not a valid", ""},
		{" https://bank.com/", "", "not a valid", ""},
		{"https://%65vil.io/", "", "not a valid", ""},
		{"https://bank.com\x00.evil.io/", "", "not a valid", ""},
		{"javascript:alert(1)", "", "not a web page address", ""},
		{"https:bank.com", "", "not a web page address", ""},
		{"https:///bank.com", "", "not a web page address", ""},
		{"https://:80/", "", "not a web page address", ""},
		{"file:///etc/passwd", "", "not a web page address", ""},
		{"", "", "not a web page address", ""},
		{"https://" + strings.Repeat("a.", 200) + "io/", "", "not a web page address", ""},

		{"https://b\u0430nk.com/", `b\u{430}nk.com`, "", "beyond ASCII"},
		{"https://bank\u3002com/", `bank\u{3002}com`, "", "beyond ASCII"},
		{"https://bank.com\u2215evil.io/", `bank.com\u{2215}evil.io`, "", "beyond ASCII"},
		{"https://xn--bnk-5cd.com/", "xn--bnk-5cd.com", "", "letters of other alphabets"},
		{"https://XN--BNK-5CD.com/", "xn--bnk-5cd.com", "", "letters of other alphabets"},
		{"https://2130706433/", "2130706433", "", "written as a number"},
		{"https://0x7f.1/", "0x7f.1", "", "written as a number"},
		{"https://203.0.113.7/", "203.0.113.7", "", "an IP address"},
		{"http://bank.com/", "bank.com", "", "not encrypted"},
	} {
		a := AddressOf(test.raw)
		warned := strings.Join(a.Warnings, "; ")
		if a.Machine != test.machine || !strings.Contains(a.Refused, test.refused) || (a.Refused != "") != (test.refused != "") ||
			!strings.Contains(warned, test.warning) || (warned != "") != (test.warning != "") {
			t.Errorf("%q: %+v", test.raw, a)
		}
	}
}
