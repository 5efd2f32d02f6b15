package main

import (
	"strings"
	"testing"
)

// TestGatewayWarnsOfMistakes says at the start, after a reload and in the status
// what of the configuration has no effect, with the word that was probably meant.
func TestGatewayWarnsOfMistakes(t *testing.T) {
	const server = `"mcpServers":{"calc":{"builtin":"calc","conection":"user"}}`
	dir := t.TempDir()
	configured(t, dir, `{`+server+`,"gateway":{
"rules":[{"effect":"allow","server":"calc"},
{"effect":"deny","server":"calk"},
{"effect":"deny","principal":"ada","tool":"ad"},
{"effect":"deny","tool":"sub*"}],
"limits":[{"prompt":"sum","rate":"1/h"}],
"sets":{"math":{"servers":["cal"],"tools":["calc__addd","calc__add"]}}}}`)
	wants := []string{
		`server calc: unknown member "conection" is ignored; did you mean "connection"?`,
		`the rule in line 3 of tenon.json matches nothing: no server is named "calk"; did you mean "calc"?`,
		`the rule in line 4 of tenon.json matches nobody: a principal is user:ID, key:NAME or local, not "ada"; did you mean "user:ada"?`,
		`the rule in line 4 of tenon.json matches nothing: no server lists a tool named "ad"; did you mean "add"?`,
		`the limit in line 6 of tenon.json matches nothing: no server lists a prompt named "sum"`,
		`the set "math" matches nothing: no server is named "cal"; did you mean "calc"?`,
		`the set "math" matches nothing: no server lists a tool named "calc__addd"; did you mean "calc__add"?`,
	}
	url, errs := servingWith(t, "gateway", "--config-dir", dir, "--project", t.TempDir(), "--addr", "127.0.0.1:0")
	status := func() string {
		_, out, _ := tenon(t, "gateway", "status", strings.TrimSuffix(url, "/mcp"))
		return out
	}
	eventually(t, func() bool { return strings.Contains(status(), "calc__addd") })
	out := status()
	log := strings.ReplaceAll(errs.String(), `\"`, `"`)
	for _, want := range wants {
		if !strings.Contains(out, "warning: "+want+"\n") {
			t.Errorf("the status lacks %q:\n%s", want, out)
		}
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %q:\n%s", want, log)
		}
	}
	if got := strings.Count(out, "warning: "); got != len(wants) {
		t.Errorf("%d warnings, want %d:\n%s", got, len(wants), out)
	}
	configured(t, dir, `{"mcpServers":{"calc":{"builtin":"calc"}},"gateway":{"rules":[{"effect":"allow","tool":"ad?"},{"effect":"deny","tool":"addd"}]}}`)
	eventually(t, func() bool {
		out := status()
		return strings.Count(out, "warning: ") == 1 && strings.Contains(out, `no server lists a tool named "addd"; did you mean "add"?`)
	})
}
