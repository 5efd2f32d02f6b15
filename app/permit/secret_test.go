package permit

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
)

// H13: fields that ask for secrets are found by name, title, description and
// format, in many spellings; others are not.
func TestSecretFields(t *testing.T) {
	for property, want := range map[string]bool{
		`"password":{"type":"string"}`:                                            true,
		`"Passwd":{"type":"string"}`:                                              true,
		`"api_key":{"type":"string"}`:                                             true,
		`"apiKey":{"type":"string"}`:                                              true,
		`"OPENAI_API_KEY":{"type":"string"}`:                                      true,
		`"token":{"type":"string"}`:                                               true,
		`"githubToken":{"type":"string"}`:                                         true,
		`"card_number":{"type":"string"}`:                                         true,
		`"cardNumber":{"type":"integer"}`:                                         true,
		`"cvv":{"type":"string"}`:                                                 true,
		`"pin":{"type":"integer"}`:                                                true,
		`"p\u0430ssword":{"type":"string"}`:                                       true, // a Cyrillic a
		`"pass\u200bword":{"type":"string"}`:                                      true,
		`"passw0rd":{"type":"string"}`:                                            true,
		`"p@$$word":{"type":"string"}`:                                            true,
		`"x":{"type":"string","title":"Your Password"}`:                           true,
		`"x":{"type":"string","description":"The API key of your account"}`:       true,
		`"x":{"type":"string","description":"16-digit credit card"}`:              true,
		`"x":{"type":"string","title":"Kennwort"}`:                                true,
		`"x":{"type":"string","title":"Пароль"}`:                                  true,
		`"x":{"type":"string","title":"密码"}`:                                      true,
		`"name":{"type":"string"}`:                                                false,
		`"key":{"type":"string","description":"the key of the map"}`:              false,
		`"max_tokens":{"type":"integer"}`:                                         false,
		`"tokenizer":{"type":"string"}`:                                           false,
		`"monkey":{"type":"string"}`:                                              false,
		`"secretary":{"type":"string"}`:                                           false,
		`"remember_password":{"type":"boolean"}`:                                  false,
		`"token":{"type":"string","enum":["a","b"]}`:                              false,
		`"pinned":{"type":"string"}`:                                              false,
		`"expires":{"type":"string","format":"date","title":"Token expiry date"}`: false,
	} {
		f, err := mcp.ParseForm(json.RawMessage(`{"type":"object","properties":{` + property + `}}`))
		if err != nil {
			t.Fatalf("%s: %v", property, err)
		}
		if got := len(SecretFields("Please fill this in", f)) == 1; got != want {
			t.Errorf("%s: %v", property, got)
		}
	}
	f, err := mcp.ParseForm(json.RawMessage(`{"type":"object","properties":{"user":{"type":"string"},"value":{"type":"string"},"n":{"type":"integer"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(SecretFields("Enter your user name and your password", f), " "); got != "user value" {
		t.Errorf("asked for by the message: %q", got)
	}
}
