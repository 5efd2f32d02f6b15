package config

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestProviders(t *testing.T) {
	w := newWorld(t).user(`{
		"model": "work/gpt-5.4",
		"effort": "high",
		"providers": {
			"work": {
				"wire": "openai-responses", "dialect": "azure", "baseURL": "https://${env:RESOURCE}.example.com/openai/v1",
				"key": "${env:WORK_KEY}", "keyHeader": "api-key", "headers": {"X-Team": "a", "X-Token": "${TEAM_TOKEN}"},
				"models": [
					{"name": "gpt-5.4", "context": 272000, "maxOutput": 64000, "efforts": ["low", "high"], "accepts": ["images"],
					 "prices": {"input": 1.25, "output": 10, "cacheRead": 0.125, "cacheWrite": 0}},
					"plain-name"
				],
				"timeout": "10m", // a comment
			},
			"ring": {"baseURL": "http://localhost:4000", "key": "${keyring:mine}"},
			"file": {"baseURL": "http://10.1.2.3:4000", "key": "${file:secret.txt}", "local": true},
			"anthropic": {"headers": {"X-A": "b"}}
		}
	}`)
	w.env["RESOURCE"], w.env["WORK_KEY"], w.env["TEAM_TOKEN"] = "acme", "sk-work-1234567890", "team-token-1234567890"
	w.write(w.o.UserDir+"/secret.txt", "sk-of-the-file\n")
	c := w.load()
	if s := c.Settings(); s.Effort != "high" || s.Model != "work/gpt-5.4" || len(s.Providers) != 4 {
		t.Errorf("%+v", s)
	}
	all := c.Providers()
	work := all[0]
	model := ProviderModel{Name: "gpt-5.4", Context: 272000, MaxOutput: 64000, Efforts: []string{"low", "high"}, Accepts: []string{"images"}, Prices: ModelPrices{1.25, 10, 0.125, 0}}
	if work.Problem != "" || work.BaseURL != "https://acme.example.com/openai/v1" || work.KeyHeader != "api-key" || work.Timeout != 10*time.Minute ||
		work.Headers["X-Token"] != "team-token-1234567890" || !reflect.DeepEqual(work.Models, []ProviderModel{model, {Name: "plain-name"}}) {
		t.Errorf("%+v", work)
	}
	if !reflect.DeepEqual(work.Secrets, []string{"team-token-1234567890", "team-token-1234567890"}) && !strings.Contains(strings.Join(work.Secrets, " "), "team-token") {
		t.Errorf("secrets %q", work.Secrets)
	}
	ring := func(name string) (string, error) {
		if name != "mine" {
			return "", errors.New("wrong name " + name)
		}
		return "sk-of-the-ring", nil
	}
	for i, want := range []struct{ key, where string }{{"sk-work-1234567890", "${env:WORK_KEY}"}, {"sk-of-the-ring", "${keyring:mine}"}, {"sk-of-the-file", "${file:secret.txt}"}, {"", ""}} {
		if key, where, err := all[i].FindKey(ring); err != nil || key != want.key || where != want.where {
			t.Errorf("%s: %q from %q, %v", all[i].Name, key, where, err)
		}
	}
	if all[1].KeyringName != "mine" || all[2].KeyringName != "" || !all[2].Local {
		t.Errorf("%+v", all)
	}
	if len(c.Warnings()) != 0 {
		t.Errorf("warnings %q", c.Warnings())
	}
}

// A key that is not there is the reason why a provider cannot be used, not a
// mistake in the file.
func TestMissingKeyIsNoMistake(t *testing.T) {
	w := newWorld(t).user(`{"providers": {
		"a": {"baseURL": "https://a.example", "key": "${env:NOT_SET}"},
		"b": {"baseURL": "https://b.example", "key": "${file:/nowhere/key}"},
		"c": {"baseURL": "https://c.example", "key": "${keyring:c}"},
		"d": {"baseURL": "https://d.example", "key": "${env:BLANK}"},
		"e": {"baseURL": "https://e.example", "key": "${file:two}"}
	}}`)
	w.env["BLANK"] = "  "
	w.write(w.o.UserDir+"/two", "sk-first-line\nsk-second-line\n")
	for i, says := range []string{"the key uses ${env:NOT_SET}, which is not set", "/nowhere/key", "run tenon auth key c", "is empty", "a line break"} {
		p := w.load().Providers()[i]
		_, _, err := p.FindKey(func(string) (string, error) { return "", nil })
		if p.Problem != "" || err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "sk-") {
			t.Errorf("%s: %q, %v", p.Name, p.Problem, err)
		}
	}
}

func TestMistakesInProviders(t *testing.T) {
	for text, says := range map[string]string{
		`{"providers": {"x": {"baseUrl": "https://x"}}}`:                             `:1:22: unknown member providers.x.baseUrl; did you mean "baseURL"?`,
		`{"providers": {"x": {"wire": "openai"}}}`:                                   `:1:30: providers.x.wire must be anthropic, openai-responses, openai-chat or gemini, not "openai"`,
		`{"providers": {"x": {"dialect": "azur"}}}`:                                  `did you mean "azure"?`,
		`{"providers": {"auto": {}}}`:                                                `:1:16: providers.auto: a provider cannot be named "auto"`,
		`{"providers": {"A/b": {}}}`:                                                 `lower-case letters`,
		`{"providers": {"x": {"keyHeader": "a b"}}}`:                                 `must be the name of a header`,
		`{"providers": {"x": {"models": [{"contxt": 5}]}}}`:                          `unknown member providers.x.models[0].contxt; did you mean "context"?`,
		`{"providers": {"x": {"models": [{"context": 5}]}}}`:                         `:1:33: providers.x.models[0] must have a "name"`,
		`{"providers": {"x": {"models": [{"name": "m", "context": 0}]}}}`:            `must be a number of tokens`,
		`{"providers": {"x": {"models": [{"name": "m", "context": 200000000}]}}}`:    `from 1 to 100000000`,
		`{"providers": {"x": {"models": [{"name": "m", "prices": {"input": -1}}]}}}`: `must be a price`,
		`{"providers": {"x": {"models": [{"name": "m", "prices": {"in": 1}}]}}}`:     `unknown member`,
		`{"providers": {"x": {"models": [{"name": "m", "efforts": ["hihg"]}]}}}`:     `did you mean "high"?`,
		`{"providers": {"x": {"models": [{"name": "m", "accepts": ["pictures"]}]}}}`: `images, audio or documents`,
		`{"effort": "loud"}`: `:1:12: effort must be auto, none,`,
	} {
		w := newWorld(t).user(text)
		if _, err := Load(&w.o); err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), w.userFile()) {
			t.Errorf("%s\n%v\nwant %s", text, err, says)
		}
	}
	for text, says := range map[string]string{
		`"baseURL": "http://models.example.com/v1"`:                ":1:33: providers.x.baseURL must start with https://",
		`"baseURL": "https://me:pw@models.example.com"`:            "must not have a user and password",
		`"baseURL": "https://models.example.com/#x"`:               "fragment",
		`"baseURL": "models.example.com"`:                          "must be a URL such as",
		`"baseURL": "https://${env:UNSET}/v1"`:                     "which is not set",
		`"baseURL": "https://x.example", "headers": {"A": "b\nc"}`: "line break",
		`"baseURL": "https://x.example", "headers": {"A B": "c"}`:  "invalid header name",
	} {
		w := newWorld(t).user(`{"providers": {"x": {` + text + `}}}`)
		if p := w.load().Providers()[0]; !strings.Contains(strings.Replace(p.Problem, ":1: ", ":1:33: ", 1), says) || strings.Contains(p.Problem, "pw@") {
			t.Errorf("%s: %q", text, p.Problem)
		}
	}
	for _, near := range []string{"http://localhost:1234", "http://127.0.0.1:1", "http://[::1]:1", "http://192.168.1.5", "http://litellm:4000", "http://gpu.local:8000", "http://host.docker.internal:11434"} {
		if err := CheckModelURL(near); err != nil {
			t.Errorf("%s: %v", near, err)
		}
	}
}

// A project cannot set providers, and a key in the file is warned of without
// showing it.
func TestProvidersAreTheUsers(t *testing.T) {
	w := newWorld(t).project(`{"providers": {"anthropic": {"baseURL": "https://evil.example"}}, "effort": "max"}`).
		user(`{"providers": {"x": {"baseURL": "https://x.example", "key": "sk-literal-0123456789"}}}`)
	c := w.load()
	warnings := strings.Join(c.Warnings(), "\n")
	if len(c.Providers()) != 1 || c.Settings().Effort != "" || !strings.Contains(warnings, `"providers" is ignored here`) || !strings.Contains(warnings, `"effort" is ignored here`) {
		t.Errorf("%v %s", c.Providers(), warnings)
	}
	if !strings.Contains(warnings, "the key of x is written in the file; store it with tenon auth key x") || strings.Contains(warnings, "sk-literal") {
		t.Errorf("warnings %s", warnings)
	}
	if got := c.Providers()[0].Secrets; !reflect.DeepEqual(got, []string{"sk-literal-0123456789"}) {
		t.Errorf("secrets %q", got)
	}
	w.user(`{"mcpServers": {"s": {"command": "x", "env": {"A": "${file:/etc/passwd}"}}}}`)
	if _, err := w.load().Server("s"); err == nil || !strings.Contains(err.Error(), "unknown variable ${file:/etc/passwd}") {
		t.Errorf("a server may read files: %v", err)
	}
}
