package discovery

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/app/config"
)

// serverJSON returns a server.json with these members.
func serverJSON(members string) []byte {
	return []byte(`{"$schema":"https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json","name":"io.example/weather","description":"Weather","version":"1.0.2",` + members + `}`)
}

// values returns one value for each input that is set.
func values(set map[string]string) Values {
	v := Values{}
	for name, text := range set {
		for part := range strings.SplitSeq(text, "|") {
			value := Value{Text: part}
			if rest, ok := strings.CutPrefix(part, "ref:"); ok {
				value = Value{Text: "secret", Ref: rest}
			}
			v[name] = append(v[name], value)
		}
	}
	return v
}

// Each package and remote becomes exactly this command line or URL.
func TestServerJSONBecomesACommand(t *testing.T) {
	stdio := `"transport":{"type":"stdio"}`
	for name, test := range map[string]struct {
		json  string
		set   map[string]string
		want  string
		wrong string // the error of Entry, or why the option is not supported
	}{
		"npm":            {json: `"packages":[{"registryType":"npm","identifier":"@x/weather","version":"1.0.2",` + stdio + `}]`, want: "npx -y @x/weather@1.0.2"},
		"npm with hint":  {json: `"packages":[{"registryType":"npm","registryBaseUrl":"https://registry.npmjs.org/","identifier":"weather","version":"1.0.2","runtimeHint":"npx","runtimeArguments":[{"type":"positional","value":"--yes"}],` + stdio + `}]`, want: "npx --yes weather@1.0.2"},
		"pypi":           {json: `"packages":[{"registryType":"pypi","identifier":"weather-mcp","version":"0.5.0","runtimeHint":"uvx",` + stdio + `}]`, want: "uvx weather-mcp@0.5.0"},
		"nuget":          {json: `"packages":[{"registryType":"nuget","identifier":"Knap.Sample","version":"0.4.0-beta","packageArguments":[{"type":"positional","value":"mcp"},{"type":"positional","value":"start"}],` + stdio + `}]`, want: "dnx Knap.Sample@0.4.0-beta --yes -- mcp start"},
		"nuget alone":    {json: `"packages":[{"registryType":"nuget","identifier":"Knap.Sample","version":"0.4.0",` + stdio + `}]`, want: "dnx Knap.Sample@0.4.0 --yes"},
		"oci":            {json: `"packages":[{"registryType":"oci","identifier":"ghcr.io/x/weather:1.0.2","environmentVariables":[{"name":"KEY","isSecret":true,"isRequired":true},{"name":"MODE"}],` + stdio + `}]`, set: map[string]string{"KEY": "ref:${keyring:w.KEY}"}, want: "'KEY=${keyring:w.KEY}' docker run -i --rm -e KEY ghcr.io/x/weather:1.0.2"},
		"oci by version": {json: `"packages":[{"registryType":"oci","registryBaseUrl":"https://docker.io","identifier":"mcp/fs","version":"1.0.2","runtimeHint":"podman","runtimeArguments":[{"type":"positional","value":"run"},{"type":"named","name":"--mount","value":"type=bind,src={src},dst={dst}","isRequired":true,"isRepeated":true,"variables":{"src":{"format":"filepath","isRequired":true},"dst":{"default":"/project"}}}],"packageArguments":[{"type":"positional","valueHint":"dir","value":"/project"}],` + stdio + `}]`, set: map[string]string{"src": "/a|/b", "dst": "/x|/y"}, want: "podman run -i --rm --mount=type=bind,src=/a,dst=/x --mount=type=bind,src=/b,dst=/y mcp/fs:1.0.2 /project"},
		"arguments": {json: `"packages":[{"registryType":"npm","identifier":"w","version":"1.0.0","packageArguments":[
			{"type":"named","name":"--port","format":"number","default":"80"},{"type":"named","name":"-v"},{"type":"named","name":"--read-only","description":"Read only"},{"type":"named","name":"-o","description":"Out"},
			{"type":"positional","valueHint":"dir","isRepeated":true},{"type":"positional","value":"{not} {a}","variables":{"a":{"value":"fixed"}}}],` + stdio + `}]`,
			set: map[string]string{"port": "8080", "dir": "/a b|/c", "read-only": ""}, want: "npx -y w@1.0.0 --port=8080 -v --read-only '/a b' /c '{not} fixed'"},
		"values are not expanded": {json: `"packages":[{"registryType":"npm","identifier":"w","version":"1.0.0","packageArguments":[{"type":"positional","value":"${HOME} $${X} $"},{"type":"positional","valueHint":"a"}],"environmentVariables":[{"name":"A"}],` + stdio + `}]`,
			set: map[string]string{"a": "${PATH}", "A": "$"}, want: "'A=$' npx -y w@1.0.0 '$${HOME} $$${X} $' '$${PATH}'"},
		"split variable":           {json: `"packages":[{"registryType":"npm","identifier":"w","version":"1.0.0","packageArguments":[{"type":"positional","value":"${a}","variables":{"a":{}}}],` + stdio + `}]`, set: map[string]string{"a": "{HOME}"}, want: "npx -y w@1.0.0 '$${HOME}'"},
		"dollar before a secret":   {json: `"remotes":[{"type":"sse","url":"https://x.example/","headers":[{"name":"A","value":"${a}","variables":{"a":{"isSecret":true}}}]}]`, set: map[string]string{"a": "ref:${keyring:x}"}, wrong: "cannot be written"},
		"remote":                   {json: `"remotes":[{"type":"streamable-http","url":"https://{tenant}.example.com/mcp","variables":{"tenant":{"default":"main"}},"headers":[{"name":"Authorization","value":"Bearer {token}","isRequired":true,"variables":{"token":{"isSecret":true}}},{"name":"X-Region"}]}]`, set: map[string]string{"tenant": "eu", "token": "ref:${keyring:w.token}"}, want: "https://eu.example.com/mcp 'Authorization: Bearer ${keyring:w.token}'"},
		"remote without variable":  {json: `"remotes":[{"type":"streamable-http","url":"https://{tenant}.example.com/mcp","variables":{"tenant":{}}}]`, wrong: "no value for tenant"},
		"variable changes host":    {json: `"remotes":[{"type":"streamable-http","url":"https://{tenant}.example.com/mcp","variables":{"tenant":{}}}]`, set: map[string]string{"tenant": "me@evil.example/"}, wrong: "must not change the host"},
		"unknown variable stays":   {json: `"remotes":[{"type":"streamable-http","url":"https://x.example.com/{mcp}"}]`, want: "'https://x.example.com/{mcp}'"},
		"variable at the start":    {json: `"remotes":[{"type":"sse","url":"{baseUrl}/mcp","variables":{"baseUrl":{}}}]`, set: map[string]string{"baseUrl": "file:///etc"}, wrong: "not valid"},
		"same names":               {json: `"remotes":[{"type":"sse","url":"https://x.example/{token}","variables":{"token":{"description":"of the URL"}},"headers":[{"name":"A","value":"{token}","variables":{"token":{"description":"of the header"}}}]}]`, set: map[string]string{"token": "u", "A.token": "h"}, want: "https://x.example/u 'A: h'"},
		"transport header":         {json: `"remotes":[{"type":"streamable-http","url":"https://x.example","headers":[{"name":"mcp-session-id","value":"x"}]}]`, wrong: "belongs to the transport"},
		"header injection":         {json: `"remotes":[{"type":"streamable-http","url":"https://x.example","headers":[{"name":"A: b\r\nX","value":"x"}]}]`, wrong: "not the name of a header"},
		"header with a line break": {json: `"remotes":[{"type":"streamable-http","url":"https://x.example","headers":[{"name":"A","value":"a\r\nX: b"}]}]`, wrong: "line breaks or control characters"},
		"argument with an escape":  {json: `"packages":[{"registryType":"npm","identifier":"w","version":"1.0.0","packageArguments":[{"type":"positional","value":"\u001b[2J"}],` + stdio + `}]`, wrong: "line breaks or control characters"},
		"fixed variable with NUL":  {json: `"packages":[{"registryType":"npm","identifier":"w","version":"1.0.0","environmentVariables":[{"name":"A","value":"{a}","variables":{"a":{"value":"\u0000"}}}],` + stdio + `}]`, wrong: "line breaks or control characters"},
		"header twice":             {json: `"remotes":[{"type":"streamable-http","url":"https://x.example","headers":[{"name":"X-A","value":"a"},{"name":"x-a","value":"b"}]}]`, wrong: "x-a is set twice"},
		"value many times":         {json: `"remotes":[{"type":"sse","url":"https://x.example/` + strings.Repeat("{a}", 20000) + `","variables":{"a":{}}}]`, set: map[string]string{"a": strings.Repeat("x", 20000)}, wrong: "longer than 64 KiB"},
		"package over HTTP":        {json: `"packages":[{"registryType":"npm","identifier":"w","version":"1.0.0","transport":{"type":"streamable-http","url":"http://localhost:80/mcp"}}]`, wrong: "start it yourself"},
		"cargo":                    {json: `"packages":[{"registryType":"cargo","identifier":"w","version":"1.0.0",` + stdio + `}]`, wrong: "not cargo"},
		"no version":               {json: `"packages":[{"registryType":"npm","identifier":"w",` + stdio + `}]`, wrong: "it has no version"},
		"image without version":    {json: `"packages":[{"registryType":"oci","identifier":"localhost:5000/w",` + stdio + `}]`, wrong: "it has no version"},
		"latest image":             {json: `"packages":[{"registryType":"oci","identifier":"w:latest",` + stdio + `}]`, wrong: "it has no version"},
		"option as a name":         {json: `"packages":[{"registryType":"npm","identifier":"--call=touch /tmp/x","version":"1.0.0",` + stdio + `}]`, wrong: "not the name of a package"},
		"option as an image":       {json: `"packages":[{"registryType":"oci","identifier":"--privileged","version":"1.0.0",` + stdio + `}]`, wrong: "not the name of a package"},
		"path as a name":           {json: `"packages":[{"registryType":"npm","identifier":"../../evil","version":"1.0.0",` + stdio + `}]`, wrong: "not the name of a package"},
		"another registry":         {json: `"packages":[{"registryType":"npm","registryBaseUrl":"https://npm.evil.example","identifier":"w","version":"1.0.0",` + stdio + `}]`, wrong: "which Tenon does not use"},
		"digest of an npm package": {json: `"packages":[{"registryType":"npm","identifier":"w","version":"1.0.0","fileSha256":"` + strings.Repeat("a", 64) + `",` + stdio + `}]`, wrong: "cannot check"},
		"bundle without digest":    {json: `"packages":[{"registryType":"mcpb","identifier":"https://x.example/a.mcpb",` + stdio + `}]`, wrong: "has no fileSha256"},
		"bundle from a file":       {json: `"packages":[{"registryType":"mcpb","identifier":"file:///etc/a.mcpb","fileSha256":"` + strings.Repeat("a", 64) + `",` + stdio + `}]`, wrong: "not a URL"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := ParseServer(serverJSON(test.json))
			if err != nil {
				t.Fatal(err)
			}
			o := s.Describe("x").Options[0]
			if o.Unsupported != "" {
				if test.wrong == "" || !strings.Contains(o.Unsupported, test.wrong) {
					t.Errorf("not supported: %s, want %q", o.Unsupported, test.wrong)
				}
				return
			}
			e, err := o.Entry("w", values(test.set))
			if err != nil {
				if test.wrong == "" || !strings.Contains(err.Error(), test.wrong) {
					t.Errorf("%v, want %q", err, test.wrong)
				}
				return
			}
			if got := e.Written(); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			if err := config.Add(filepath.Join(t.TempDir(), "tenon.json"), "w", e); err != nil {
				t.Errorf("it cannot be added: %v", err)
			}
		})
	}
}

// What is written to the configuration is what the server gets: nothing in a
// value is expanded.
func TestValuesArriveVerbatim(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	text := `$ $$ ${HOME} $${HOME} $$${ {x} ${input:y} ${keyring:z} $`
	s, err := ParseServer(serverJSON(`"packages":[{"registryType":"npm","identifier":"w","version":"1.0.0","packageArguments":[{"type":"positional","valueHint":"a"},{"type":"positional","value":"$${HOME} {a}"}],"transport":{"type":"stdio"}}]`))
	if err != nil {
		t.Fatal(err)
	}
	e, err := s.Describe("").Options[0].Entry("w", Values{"a": {{Text: text}}})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := config.Add(filepath.Join(dir, "tenon.json"), "w", e); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(&config.Options{UserDir: dir, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Server("w")
	if err != nil {
		t.Fatal(err)
	}
	if got.Args[2] != text || got.Args[3] != "$${HOME} {a}" {
		t.Errorf("the server gets %q", got.Args)
	}
}

func TestInvalidServerJSONIsRefused(t *testing.T) {
	pkg := func(members string) string {
		return `"packages":[{"registryType":"npm","identifier":"w","version":"1.0.0","transport":{"type":"stdio"},` + members + `}]`
	}
	for members, want := range map[string]string{
		`"name":"io.example/other"`: "duplicate",
		`"packages":{}`:             "packages",
		`"packages":[{"identifier":"w","transport":{"type":"stdio"}}]`:     "packages[0].registryType is missing",
		`"packages":[{"registryType":"npm","transport":{"type":"stdio"}}]`: "packages[0].identifier is missing",
		`"packages":[{"registryType":"npm","identifier":"w"}]`:             "packages[0].transport.type must be",
		pkg(`"version":"2"`): "duplicate",
		`"packages":[{"registryType":"npm","identifier":"w","version":"^1","transport":{"type":"stdio"}}]`: "packages[0].version must be one version",
		pkg(`"fileSha256":"XYZ"`):                                            "fileSha256 must be",
		pkg(`"packageArguments":[{"type":"flag"}]`):                          "packageArguments[0].type must be",
		pkg(`"packageArguments":[{"type":"positional"}]`):                    "must have value or valueHint",
		pkg(`"packageArguments":[{"type":"named","name":"--a b"}]`):          "name must be a flag",
		pkg(`"packageArguments":[{"type":"positional","value":"a\u0000b"}]`): "zero byte",
		pkg(`"environmentVariables":[{"name":"A=B"}]`):                       "not the name of an environment variable",
		pkg(`"environmentVariables":[{"name":"A","format":"date"}]`):         "format must be",
		pkg(`"environmentVariables":[{"value":"A"}]`):                        "name is missing",
		`"remotes":[{"type":"ftp","url":"https://x"}]`:                       "remotes[0].type must be",
		`"remotes":[{"type":"sse","url":"javascript:alert(1)"}]`:             "remotes[0].url must start",
	} {
		if _, err := ParseServer(serverJSON(members)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", members, err, want)
		}
	}
	for text, want := range map[string]string{
		"":     "read server.json",
		"[]":   "read server.json",
		"null": "name must have",
		`{"$schema":"https://static.modelcontextprotocol.io/schemas/2025-07-09/server.schema.json"}`:                                           "too old",
		`{"$schema":"https://evil.example/server.schema.json"}`:                                                                                "not that of a server.json",
		`{"name":"a/b","version":"1","description":"\ud800"}`:                                                                                  "read server.json",
		`{"name":"a/b","version":"1"}`:                                                                                                         "description must have",
		`{"name":"a/b","version":"1","description":"d","title":"` + strings.Repeat("x", 101) + `"}`:                                            "title must have",
		`{"name":"a/b","version":"1","description":"d","remotes":[` + strings.Repeat(`{"type":"sse","url":"https://x.example"},`, 50) + `{}]}`: "more than 50 packages and remotes",
		`{"_meta":` + strings.Repeat("[", 100000) + strings.Repeat("]", 100000) + `}`:                                                          "read server.json",
		strings.Repeat("[", 100000): "read server.json",
	} {
		if _, err := ParseServer([]byte(text)); err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 400 {
			t.Errorf("%.60s: %v, want %q", text, err, want)
		}
	}
}

func TestInputsAreChecked(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	one, ten := 1.0, 10.0
	for _, test := range []struct {
		in         Input
		text, want string // want "!" means an error
	}{
		{Input{}, "any text ✓", "any text ✓"}, {Input{}, "two\nlines", "!"}, {Input{}, "a\x00", "!"}, {Input{}, "\x1b[31m", "!"}, {Input{}, "\xff", "!"}, {Input{}, strings.Repeat("x", 40000), "!"},
		{Input{Choices: []string{"a", "b"}}, "b", "b"}, {Input{Choices: []string{"a", "b"}}, "c", "!"},
		{Input{Format: "number"}, " 5 ", "5"}, {Input{Format: "number"}, "x", "!"}, {Input{Format: "number"}, "Inf", "!"}, {Input{Format: "number"}, "NaN", "!"}, {Input{Format: "number"}, "0x10", "!"}, {Input{Format: "number"}, "1e400", "!"},
		{Input{Format: "number", Min: &one, Max: &ten}, "1", "1"}, {Input{Format: "number", Min: &one, Max: &ten}, "0", "!"}, {Input{Format: "number", Min: &one, Max: &ten}, "10.5", "!"},
		{Input{Format: "boolean"}, "true", "true"}, {Input{Format: "boolean"}, "yes", "!"},
		{Input{Format: "filepath"}, filepath.Join(dir, "none"), filepath.Join(dir, "none")}, {Input{Format: "filepath"}, "", "!"},
		{Input{Format: "directory"}, dir, dir}, {Input{Format: "directory"}, file, "!"}, {Input{Format: "directory"}, filepath.Join(dir, "none"), "!"},
		{Input{Format: "file"}, file, file}, {Input{Format: "file"}, dir, "!"},
	} {
		got, err := test.in.Check(test.text)
		if (err != nil) != (test.want == "!") || err == nil && got != test.want {
			t.Errorf("%+v with %.40q: %q, %v", test.in, test.text, got, err)
		}
		if err != nil && len(test.text) > 2 && !strings.HasPrefix(test.text, dir) && strings.Contains(err.Error(), test.text) {
			t.Errorf("the error has the value, which may be secret: %v", err)
		}
	}
	t.Chdir(dir)
	if got, err := (Input{Format: "file"}).Check("f"); err != nil || !filepath.IsAbs(got) {
		t.Errorf("a relative path: %q, %v", got, err)
	}
}

func TestChoiceOfAnOption(t *testing.T) {
	s, err := ParseServer(serverJSON(`"packages":[{"registryType":"cargo","identifier":"c","version":"1","transport":{"type":"stdio"}},
		{"registryType":"npm","identifier":"n","version":"1","transport":{"type":"stdio"}},{"registryType":"pypi","identifier":"p","version":"1","transport":{"type":"stdio"}}],
		"remotes":[{"type":"sse","url":"https://x.example/sse"},{"type":"streamable-http","url":"https://x.example/mcp"}]`))
	if err != nil {
		t.Fatal(err)
	}
	has := func(programs ...string) func(string) bool {
		return func(p string) bool { return strings.Contains(strings.Join(programs, " "), p) }
	}
	for _, test := range []struct {
		choice    Choice
		installed []string
		drop      int // options at the end that are left out
		want      string
	}{
		{Choice{}, []string{"npx"}, 0, "streamable-http https://x.example/mcp"},
		{Choice{}, []string{"npx", "uvx"}, 1, "npm n@1"}, {Choice{}, []string{"uvx"}, 1, "pypi p@1"}, {Choice{}, nil, 1, "sse https://x.example/sse"}, {Choice{}, nil, 2, "npm n@1"},
		{Choice{Package: "pypi"}, nil, 0, "pypi p@1"}, {Choice{Package: "2"}, nil, 0, "npm n@1"}, {Choice{Remote: "1"}, nil, 0, "sse https://x.example/sse"}, {Choice{Remote: "sse"}, nil, 0, "sse https://x.example/sse"},
		{Choice{Package: "1"}, nil, 0, "!not cargo"}, {Choice{Package: "oci"}, nil, 0, "!has no package"}, {Choice{Remote: "3"}, nil, 0, "!has no remote"}, {Choice{Package: "1", Remote: "1"}, nil, 0, "!not both"},
		{Choice{}, nil, 4, "!package 1 (cargo c): Tenon runs"}, {Choice{}, nil, 5, "!neither packages nor remotes"},
	} {
		d := s.Describe("")
		d.Options = d.Options[:len(d.Options)-test.drop]
		o, err := d.Choose(test.choice, has(test.installed...))
		if wrong, ok := strings.CutPrefix(test.want, "!"); ok {
			if err == nil || !strings.Contains(err.Error(), wrong) {
				t.Errorf("%+v: %v, want %q", test, err, wrong)
			}
		} else if err != nil || o.Summary() != test.want {
			t.Errorf("%+v: %v, %v", test, o, err)
		}
	}
}
