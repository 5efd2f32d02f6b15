package uritemplate

import (
	"strings"
	"testing"
)

// rfcValues are the variables that RFC 6570 section 3.2 uses.
var rfcValues = map[string]Value{
	"count":      List("one", "two", "three"),
	"dom":        List("example", "com"),
	"dub":        String("me/too"),
	"hello":      String("Hello World!"),
	"half":       String("50%"),
	"var":        String("value"),
	"who":        String("fred"),
	"base":       String("http://example.com/home/"),
	"path":       String("/foo/bar"),
	"list":       List("red", "green", "blue"),
	"keys":       Pairs(Pair{"semi", ";"}, Pair{"dot", "."}, Pair{"comma", ","}),
	"v":          String("6"),
	"x":          String("1024"),
	"y":          String("768"),
	"empty":      String(""),
	"empty_keys": Pairs(),
}

var rfcExpansions = []struct{ template, want string }{
	{"{count}", "one,two,three"},
	{"{count*}", "one,two,three"},
	{"{/count}", "/one,two,three"},
	{"{/count*}", "/one/two/three"},
	{"{;count}", ";count=one,two,three"},
	{"{;count*}", ";count=one;count=two;count=three"},
	{"{?count}", "?count=one,two,three"},
	{"{?count*}", "?count=one&count=two&count=three"},
	{"{&count*}", "&count=one&count=two&count=three"},

	{"{var}", "value"},
	{"{hello}", "Hello%20World%21"},
	{"{half}", "50%25"},
	{"O{empty}X", "OX"},
	{"O{undef}X", "OX"},
	{"{x,y}", "1024,768"},
	{"{x,hello,y}", "1024,Hello%20World%21,768"},
	{"?{x,empty}", "?1024,"},
	{"?{x,undef}", "?1024"},
	{"?{undef,y}", "?768"},
	{"{var:3}", "val"},
	{"{var:30}", "value"},
	{"{list}", "red,green,blue"},
	{"{list*}", "red,green,blue"},
	{"{keys}", "semi,%3B,dot,.,comma,%2C"},
	{"{keys*}", "semi=%3B,dot=.,comma=%2C"},

	{"{+hello}", "Hello%20World!"},
	{"{+half}", "50%25"},
	{"{base}index", "http%3A%2F%2Fexample.com%2Fhome%2Findex"},
	{"{+base}index", "http://example.com/home/index"},
	{"O{+empty}X", "OX"},
	{"O{+undef}X", "OX"},
	{"{+path}/here", "/foo/bar/here"},
	{"here?ref={+path}", "here?ref=/foo/bar"},
	{"up{+path}{var}/here", "up/foo/barvalue/here"},
	{"{+x,hello,y}", "1024,Hello%20World!,768"},
	{"{+path,x}/here", "/foo/bar,1024/here"},
	{"{+path:6}/here", "/foo/b/here"},
	{"{+list*}", "red,green,blue"},
	{"{+keys}", "semi,;,dot,.,comma,,"},
	{"{+keys*}", "semi=;,dot=.,comma=,"},

	{"{#hello}", "#Hello%20World!"},
	{"foo{#empty}", "foo#"},
	{"foo{#undef}", "foo"},
	{"{#x,hello,y}", "#1024,Hello%20World!,768"},
	{"{#path:6}/here", "#/foo/b/here"},
	{"{#keys*}", "#semi=;,dot=.,comma=,"},

	{"{.who}", ".fred"},
	{"{.who,who}", ".fred.fred"},
	{"{.half,who}", ".50%25.fred"},
	{"www{.dom*}", "www.example.com"},
	{"X{.empty}", "X."},
	{"X{.undef}", "X"},
	{"X{.var:3}", "X.val"},
	{"X{.list}", "X.red,green,blue"},
	{"X{.list*}", "X.red.green.blue"},
	{"X{.keys}", "X.semi,%3B,dot,.,comma,%2C"},
	{"X{.keys*}", "X.semi=%3B.dot=..comma=%2C"},
	{"X{.empty_keys}", "X"},
	{"X{.empty_keys*}", "X"},

	{"{/who,who}", "/fred/fred"},
	{"{/who,dub}", "/fred/me%2Ftoo"},
	{"{/var,empty}", "/value/"},
	{"{/var,undef}", "/value"},
	{"{/var,x}/here", "/value/1024/here"},
	{"{/var:1,var}", "/v/value"},
	{"{/list*,path:4}", "/red/green/blue/%2Ffoo"},
	{"{/keys*}", "/semi=%3B/dot=./comma=%2C"},

	{"{;who}", ";who=fred"},
	{"{;half}", ";half=50%25"},
	{"{;empty}", ";empty"},
	{"{;v,empty,who}", ";v=6;empty;who=fred"},
	{"{;v,bar,who}", ";v=6;who=fred"},
	{"{;x,y,undef}", ";x=1024;y=768"},
	{"{;hello:5}", ";hello=Hello"},
	{"{;keys}", ";keys=semi,%3B,dot,.,comma,%2C"},
	{"{;keys*}", ";semi=%3B;dot=.;comma=%2C"},

	{"{?x,y,empty}", "?x=1024&y=768&empty="},
	{"{?x,y,undef}", "?x=1024&y=768"},
	{"{?var:3}", "?var=val"},
	{"{?keys}", "?keys=semi,%3B,dot,.,comma,%2C"},
	{"{?keys*}", "?semi=%3B&dot=.&comma=%2C"},
	{"?fixed=yes{&x}", "?fixed=yes&x=1024"},
	{"{&x,y,empty}", "&x=1024&y=768&empty="},
	{"{&keys*}", "&semi=%3B&dot=.&comma=%2C"},
}

func TestExpandAsTheRFC(t *testing.T) {
	for _, tt := range rfcExpansions {
		got, err := mustParse(t, tt.template).ExpandValues(rfcValues)
		if err != nil || got != tt.want {
			t.Errorf("%s = %q, %v; want %q", tt.template, got, err, tt.want)
		}
	}
}

func TestExpandStrings(t *testing.T) {
	tests := []struct {
		template string
		vars     map[string]string
		want     string
	}{
		{"welcome://{userId}", map[string]string{"userId": "a/b c"}, "welcome://a%2Fb%20c"},
		{"x{?a*}", map[string]string{"a": "1,2"}, "x?a=1%2C2"},
		{"é%2f{a}", nil, "%C3%A9%2f"},
		{"{+a}", map[string]string{"a": "%41%4"}, "%41%254"},
		{"{a:2}", map[string]string{"a": "äöü"}, "%C3%A4%C3%B6"},
		{"{a}", map[string]string{"a": "\xff"}, "%EF%BF%BD"},
	}
	for _, tt := range tests {
		if got := mustParse(t, tt.template).Expand(tt.vars); got != tt.want {
			t.Errorf("%s with %v = %q, want %q", tt.template, tt.vars, got, tt.want)
		}
	}
}

func TestExpandRefusesToCutAList(t *testing.T) {
	_, err := mustParse(t, "x{/a:3}").ExpandValues(map[string]Value{"a": List("1")})
	if err == nil || !strings.Contains(err.Error(), `{/a:3} cuts "a"`) {
		t.Errorf("error %v does not say what is wrong", err)
	}
}
