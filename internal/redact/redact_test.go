package redact

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// H12: names are telling in every spelling, and words that only look like them
// are not.
func TestNames(t *testing.T) {
	telling := `password Password PASSWORD passwd pwd passphrase api_key apiKey API-KEY ApiKey APIKey apikey x-api-key OPENAI_API_KEY api_keys token TOKEN authToken access_token
		accessToken refresh-token GITHUB_TOKEN githubToken githubtoken secret clientSecret client_secret CLIENT-SECRET webhook_secret Authorization proxy-authorization Cookie set-cookie
		private_key privateKey PRIVATE_KEY credential credentials dbCredentials card_number cardNumber CardNo credit_card cvv cvv2 cvc pin otp ssn seed_phrase aws_secret_access_key
		user.password db_password password2 password_confirmation newPassword tokenValue bearer jwt connectionString dsn passw0rd p@$$word pаssword kennwort пароль 密码 secrets passwords`
	for _, name := range strings.Fields(telling) {
		if !Name(name) || !Setting(name) {
			t.Errorf("%s: Name %v, Setting %v", name, Name(name), Setting(name))
		}
	}
	public := `token_count max_tokens maxTokens tokens tokenizer tokenize author authors authority passage passenger compass keyboard key keys monkey keyword secretary name value
		progressToken nextPageToken page_token next_token continuationToken sync_token token_type token_endpoint authorization_endpoint authorization_servers
		api_key_id password_hint passwordless secretName cookies_enabled pinned spinning session sessionId signature cursor requestState id input output hotpink unexpected_token`
	for _, name := range strings.Fields(public) {
		if Name(name) {
			t.Errorf("%s is telling", name)
		}
	}
	for _, name := range strings.Fields("KEY X-Key SSH_AUTH DB_PASS GITHUB_PAT TOKEN_GITHUB SECRET_PROD SESSION sig X-Signature") {
		if !Setting(name) {
			t.Errorf("the setting %s is not telling", name)
		}
	}
	for _, name := range strings.Fields("PWD OLDPWD PATH HOME MAX_TOKENS TOKEN_LIMIT TOKENIZERS_PARALLELISM PASSWORD_FILE SECRET_NAME SSH_AUTH_SOCK MONKEY AUTHOR KEYBOARD DEBUG MODE XDG_SESSION_TYPE token_count") {
		if Setting(name) {
			t.Errorf("the setting %s is telling", name)
		}
	}
}

func TestJSON(t *testing.T) {
	for in, want := range map[string]string{
		`{ "password" : "x" , "b" : [ 1 , {"api_key":"k"} ] }`:                                 `{ "password" : "[redacted]" , "b" : [ 1 , {"api_key":"[redacted]"} ] }`,
		`{"n":1.50e+02,"big":12345678901234567890,"token":"abc"}`:                              `{"n":1.50e+02,"big":12345678901234567890,"token":"[redacted]"}`,
		`{"a":{"b":[{"c":{"clientSecret":"x"}}]}}`:                                             `{"a":{"b":[{"c":{"clientSecret":"[redacted]"}}]}}`,
		`{"\u0070assword":"x"}`:                                                                `{"\u0070assword":"[redacted]"}`,
		`{"pin":1234,"token":"","cvv":null,"secret":true}`:                                     `{"pin":"[redacted]","token":"","cvv":null,"secret":true}`,
		`{"credentials":{"user":"ada","parts":["x1","x2"]}}`:                                   `{"credentials":{"user":"[redacted]","parts":["[redacted]","[redacted]"]}}`,
		`{"headers":[{"name":"Authorization","value":"Bearer abc"},{"name":"A","value":"b"}]}`: `{"headers":[{"name":"Authorization","value":"Bearer [redacted]"},{"name":"A","value":"b"}]}`,
		`{"env":[{"value":"x","key":"GITHUB_TOKEN"}]}`:                                         `{"env":[{"value":"[redacted]","key":"GITHUB_TOKEN"}]}`,
		`{"headers":[["X-Api-Key","abc"],["Accept","*"]]}`:                                     `{"headers":[["X-Api-Key","[redacted]"],["Accept","*"]]}`,
		`{"headers":{"authorization":"Bearer abc","X-Token":"t"}}`:                             `{"headers":{"authorization":"Bearer [redacted]","X-Token":"[redacted]"}}`,
		`{"args":["--token","abc","-v","--api-key=k1","--port","80"]}`:                         `{"args":["--token","[redacted]","-v","--api-key=[redacted]","--port","80"]}`,
		`{"text":"{\"password\":\"x\",\"n\":1.0}"}`:                                            `{"text":"{\"password\":\"[redacted]\",\"n\":1.0}"}`,
		`{"url":"https://h/?api_key=k&page=2"}`:                                                `{"url":"https://h/?api_key=[redacted]&page=2"}`,
		`{"dsn":"postgres://u:pw@h/db"}`:                                                       `{"dsn":"postgres://u:[redacted]@h/db"}`,
		`["x", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc_def"]`:                                `["x", "[redacted]"]`,
		`{"token":"${TOKEN}","password":"$PW","secret":"${X:-literal}"}`:                       `{"token":"${TOKEN}","password":"$PW","secret":"[redacted]"}`,
		`not json Bearer 0123456789abcdef`:                                                     `not json Bearer [redacted]`,
		` "password=abc1" `:                                                                    ` "password=[redacted]" `,
	} {
		if got := string((*Values)(nil).JSON([]byte(in))); got != want {
			t.Errorf("%s\n became %s\n not    %s", in, got, want)
		}
	}
	for _, in := range []string{
		`{"token_count":5,"max_tokens":100,"tokenizer":"bpe","author":"Ada","passage":"to India","keyboard":"qwerty"}`,
		`{"_meta":{"progressToken":"abc-123"},"nextCursor":"xyz","nextPageToken":"t1"}`,
		`{"inputSchema":{"type":"object","properties":{"password":{"type":"string","description":"The password"},"token":{"$ref":"#/x"}},"required":["password","token"]}}`,
		`{"name":"search","value":"x","enum":["password","email"]}`,
		`{"text":"Basic understanding of bearer authentication; unexpected token: identifier. Password: required"}`,
		`{"code":"if a == b { x := key }","path":"C:\\dir\\token","time":"12:30","url":"http://localhost:8080/a?email=a@b"}`,
		`{"a":1e400,"b":-0.0,"c":"\u00e9\/"}`,
	} {
		if got := string((*Values)(nil).JSON([]byte(in))); got != in {
			t.Errorf("%s\n became %s", in, got)
		}
	}
}

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"connect: password=abc123 host=h":                                      "connect: password=[redacted] host=h",
		"host=h password='a b c' x=1":                                          "host=h password='[redacted]' x=1",
		"Server=s;Password=ab,c;Database=d":                                    "Server=s;Password=[redacted];Database=d",
		"GET https://u:pw@h/x?api_key=k1&q=tea#f failed":                       "GET https://u:[redacted]@h/x?api_key=[redacted]&q=tea#f failed",
		"git clone https://0123456789abcdef0123@h/r":                           "git clone https://[redacted]@h/r",
		"user:pw@tcp(127.0.0.1:3306)/db":                                       "user:[redacted]@tcp(127.0.0.1:3306)/db",
		"use --auth-token or --auth-issuer; --password is required":            "use --auth-token or --auth-issuer; --password is required",
		"run --token abc --api-key=k2 --verbose":                               "run --token [redacted] --api-key=[redacted] --verbose",
		"curl -H 'Authorization: Bearer abc' -H 'A: b' h":                      "curl -H 'Authorization: Bearer [redacted]' -H 'A: b' h",
		"Authorization: xyz-1\nAccept: */*":                                    "Authorization: [redacted]\nAccept: */*",
		"Cookie: a=b; c=d\nHost: h":                                            "Cookie: [redacted]\nHost: h",
		"X-Api-Key: k-1 sent":                                                  "X-Api-Key: k-1 sent",
		"X-Api-Key: k-123 sent":                                                "X-Api-Key: [redacted] sent",
		"your password: hunter2!":                                              "your password: [redacted]",
		"api key: abc123def":                                                   "api key: [redacted]",
		`{'password': 'hunter2', 'a': 1}`:                                      `{'password': '[redacted]', 'a': 1}`,
		`cut {"a":"b","password":"hun\"ter2","c":`:                             `cut {"a":"b","password":"[redacted]","c":`,
		`say {\"token\":\"abc\",\"n\":1}`:                                      `say {\"token\":\"[redacted]\",\"n\":1}`,
		"export GITHUB_TOKEN=abc":                                              "export GITHUB_TOKEN=[redacted]",
		"Authorization: Bearer ${TOKEN}":                                       "Authorization: Bearer ${TOKEN}",
		"the key sk-" + strings.Repeat("a1", 12) + ".":                         "the key [redacted].",
		"-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----!": "[redacted]!",
	} {
		if got := (*Values)(nil).Text(in); got != want {
			t.Errorf("%s\n became %s\n not    %s", in, got, want)
		}
	}
	for _, in := range []string{
		"invalid password: must have 8 characters", "unexpected token: }", "token_count=5 max_tokens=100", "key=value", "a == b, c := d, e::f",
		"authorization: failed", "http://localhost:8080/a@b", "see https://example.com/a:b@c", "12:30:45", "the passage: long", "--verbose yes",
		"password=", "--tls-cert and --tls-key belong together", "password=null", "basic authentication", "Bearer authentication is wanted", "mail ada@example.com: hello",
	} {
		if got := (*Values)(nil).Text(in); got != in {
			t.Errorf("%q became %q", in, got)
		}
	}
}

func TestURLsAndCommandLines(t *testing.T) {
	for in, want := range map[string]string{
		"https://h/mcp?api_key=abc&x=1":                  "https://h/mcp?api_key=[redacted]&x=1",
		"https://h/mcp?key=abc&token=${T}":               "https://h/mcp?key=[redacted]&token=${T}",
		"https://u:p%40w@h:80/":                          "https://u:[redacted]@h:80/",
		"https://ghp@h/":                                 "https://[redacted]@h/",
		"postgres://u:p/w@h/db?sslmode=off":              "postgres://u:[redacted]@h/db?sslmode=off",
		"fs?root=.&dsn=postgres%3A%2F%2Fu%3Apw%40h%2Fdb": "fs?root=.&dsn=postgres://u:[redacted]@h/db",
		"sql?dsn=u:pw@tcp(h)/db":                         "sql?dsn=u:[redacted]@tcp(h)/db",
		"sql?dsn=file.db":                                "sql?dsn=file.db",
		"http://127.0.0.1:1/cb?code=a1&state=b2":         "http://127.0.0.1:1/cb?code=[redacted]&state=[redacted]",
		"https://h/?state=open&q=a%20b":                  "https://h/?state=open&q=a%20b",
		"https://h/#access_token=abc&n=1":                "https://h/#access_token=[redacted]&n=1",
		"https://h:8443/a/b?max_tokens=5":                "https://h:8443/a/b?max_tokens=5",
	} {
		if got := (*Values)(nil).URL(in); got != want {
			t.Errorf("%s\n became %s\n not    %s", in, got, want)
		}
	}
	in := []string{"x", "--token", "abc", "-v", "--key=k", "-u", "ada:pw", "-H", "Authorization: Bearer abc", "GITHUB_TOKEN=g", "--url=https://h/?sig=s", "https://a:b@h/", "--token", "${T}", "--max-tokens", "5", "--password-file", "/x", "--tls-key", "a/key.pem", "--key", "/etc/k"}
	want := []string{"x", "--token", Mark, "-v", "--key=" + Mark, "-u", "ada:" + Mark, "-H", "Authorization: Bearer " + Mark, "GITHUB_TOKEN=" + Mark, "--url=https://h/?sig=" + Mark, "https://a:" + Mark + "@h/", "--token", "${T}", "--max-tokens", "5", "--password-file", "/x", "--tls-key", "a/key.pem", "--key", "/etc/k"}
	if got := (*Values)(nil).Args(in); !slices.Equal(got, want) {
		t.Errorf("%q\n not %q", got, want)
	}
}

// Where text must stay as it is, secrets are found by the names of members and
// by value only.
func TestNamedJSON(t *testing.T) {
	v := New("EXAMPLE-secret-1")
	for in, want := range map[string]string{
		`{"password":"hunter2x","content":"token = read(); password: hunter2x"}`: `{"password":"[redacted]","content":"token = read(); password: hunter2x"}`,
		`{"headers":[{"name":"Authorization","value":"Bearer abcdefgh"}]}`:       `{"headers":[{"name":"Authorization","value":"Bearer [redacted]"}]}`,
		`{"a":[{"apiKey":7}],"b":"EXAMPLE-secret-1 here"}`:                       `{"a":[{"apiKey":"[redacted]"}],"b":"[redacted] here"}`,
		`{"body":"{\"pin\":\"1234\",\"x\":\"--token abc\"}"}`:                    `{"body":"{\"pin\":\"[redacted]\",\"x\":\"--token abc\"}"}`,
		`no JSON, EXAMPLE-secret-1, password=x`:                                  `no JSON, [redacted], password=x`,
	} {
		if got := string(v.NamedJSON([]byte(in))); got != want {
			t.Errorf("%s became\n%s, not\n%s", in, got, want)
		}
	}
	in := `[["Authorization","abcdefgh"],["--token","abcdefgh"]]`
	if got := string(v.KnownJSON([]byte(in))); got != in {
		t.Errorf("hidden by a name in a list: %s", got)
	}
}

// Known secrets are found as names of members and behind escapes.
func TestKnownInNamesAndEscapes(t *testing.T) {
	v := New("EXAMPLE-secret-1")
	for _, doc := range []string{
		`{"EXAMPLE-secret-1": 1, "b": [2]}`, `{"a": {"x \u0045XAMPLE-secret-1": "y"}}`, `{"a": "\u0045XAMPLE-secret-1"}`, `["\u0045XAMPLE-\u0073ecret-1"]`,
	} {
		for _, got := range []string{string(v.KnownJSON([]byte(doc))), string(v.JSON([]byte(doc)))} {
			if !json.Valid([]byte(got)) || strings.Contains(got, "secret-1") || strings.Contains(got, "XAMPLE") || !strings.Contains(got, Mark) {
				t.Errorf("%s became %s", doc, got)
			}
		}
	}
	if got := string(v.KnownJSON([]byte(`{"password": "other", "EXAMPLE": 1}`))); got != `{"password": "other", "EXAMPLE": 1}` {
		t.Errorf("hidden by its name: %s", got)
	}
	for word, want := range map[string]string{"-pSHORTPW4321": "-p" + Mark, "-p8080": "-p8080", "-preload": "-preload", "-p8080:80": "-p8080:80", "-p/tmp/x1": "-p/tmp/x1"} {
		if got := v.Arg("", word); got != want {
			t.Errorf("%s became %s", word, got)
		}
	}
}

// Known values are found in every spelling, wherever they stand; short and
// common ones are not, since the holes would tell them.
func TestValues(t *testing.T) {
	const secret = `q7"Zß/+& <x>=%é?k`
	var v Values
	v.Set("server", []string{secret, "short", "postgres"})
	quoted, _ := json.Marshal(secret)
	for _, text := range []string{
		secret, url.QueryEscape(secret), url.PathEscape(secret), url.UserPassword("u", secret).String(), strings.ToLower(url.QueryEscape("x")) + lowerEscapes(url.QueryEscape(secret)),
		string(quoted), base64.StdEncoding.EncodeToString([]byte(secret)), base64.URLEncoding.EncodeToString([]byte(secret)),
		base64.StdEncoding.EncodeToString([]byte("u:" + secret)), base64.StdEncoding.EncodeToString([]byte("user:" + secret + "!")), base64.StdEncoding.EncodeToString([]byte("abc" + secret + "yz")),
	} {
		for _, got := range []string{v.Known("<" + text + ">"), v.Text("say " + text + "."), v.URL("https://h/" + text)} {
			if !strings.Contains(got, Mark) || leaks(got, secret) {
				t.Errorf("%s became %s", text, got)
			}
		}
		doc, _ := json.Marshal(map[string]any{"note": text, "n": 1})
		inner, _ := json.Marshal(map[string]string{"text": string(doc)})
		for _, d := range [][]byte{doc, inner} {
			if got := string(v.JSON(d)); !strings.Contains(got, Mark) || leaks(got, secret) || !json.Valid([]byte(got)) {
				t.Errorf("%s became %s", d, got)
			}
		}
	}
	if got := v.Text("a short trip with postgres"); got != "a short trip with postgres" {
		t.Errorf("got %q", got)
	}
	before := v.Changes()
	v.Add("login", "token-number-1")
	if got := v.Known("token-number-1 " + secret); got != Mark+" "+Mark || v.Changes() == before {
		t.Errorf("got %q", got)
	}
	for i := range maxOwned {
		v.Add("login", "another-token-"+string(rune('a'+i%26))+string(rune('a'+i/26)))
	}
	if got := v.Known("token-number-1"); got != "token-number-1" {
		t.Errorf("got %q: old tokens are kept for ever", got)
	}
	v.Set("server", nil)
	if got := v.Known(secret); got != secret {
		t.Errorf("got %q", got)
	}
}

// leaks reports whether a secret stands in a text in some spelling.
func leaks(text, secret string) bool {
	return slices.ContainsFunc(forms, func(form func(string) string) bool {
		s := form(secret)
		return s != "" && strings.Contains(text, s)
	})
}

// Whatever it is given, the result is as good JSON as before, and redacting it
// again changes nothing.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"password":"x","a":["--token","b"]}`, `[["key","v"],{"name":"token","value":1}]`, `"a: b=c --token 'x"`, `password="`, `\":\"`, `{"a":"{\"token\":\"b\"}"}`} {
		f.Add(s)
	}
	v := New("fuzzed-secret")
	f.Fuzz(func(t *testing.T, s string) {
		got := v.JSON([]byte(s))
		// What is not UTF-8 is no JSON text, though package json accepts it.
		if utf8.ValidString(s) && json.Valid([]byte(s)) && !json.Valid(got) {
			t.Errorf("%q became %q", s, got)
		}
		v.Text(s)
		v.URL(s)
		v.Args(strings.Fields(s))
	})
}

func BenchmarkJSON(b *testing.B) {
	v := New("one-known-secret", "another-known-secret")
	frame := []byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"_meta":{"progressToken":"p1","io.modelcontextprotocol/clientInfo":{"name":"tenon","version":"1.0"}},"name":"search","arguments":{"query":"tea: green","limit":5,"path":"/a/b=c","password":"hunter2"}}}`)
	b.SetBytes(int64(len(frame)))
	for b.Loop() {
		v.JSON(frame)
	}
}
