package choose

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/app/llm"
)

func TestCatalog(t *testing.T) {
	w := world{
		"api.anthropic.com": wants("good", says("/v1/models", claudes)),
		"api.groq.com":      wants("good", says("/openai/v1/models", `{"data":[]}`)),
		"api.mistral.ai":    hangs,
		"api.deepseek.com":  http.NotFound,
		"api.x.ai": func(w http.ResponseWriter, _ *http.Request) {
			http.Redirect(w, &http.Request{}, "https://evil.example/", http.StatusFound)
		},
		"127.0.0.1:11434": says("/v1/models", `{"object":"list","data":[]}`),
		"127.0.0.1:8000":  wants("vllm", says("/v1/models", `{"data":[{"id":"q"}]}`)),
		"work.example":    wants("work", says("/openai/v1/models", `{"data":[{"id":"base-model"}]}`)),
	}
	keys := env("ANTHROPIC_API_KEY", "good", "GROQ_API_KEY", "bad-key", "DEEPSEEK_API_KEY", "d", "XAI_API_KEY", "x")
	o := &Options{Getenv: keys, Client: &http.Client{Transport: w}, Providers: map[string]Provider{
		"work":  {Wire: "openai-responses", Dialect: "azure", BaseURL: "https://work.example/openai/v1/", Models: []ModelSpec{{Name: "gpt-5.4", Context: 272000, Prices: llm.Prices{Input: 1}}}, FindKey: func() (string, string, error) { return "work", "${env:WORK}", nil }},
		"unset": {BaseURL: "https://work.example", FindKey: func() (string, string, error) { return "", "", errors.New("the key uses ${env:X}, which is not set") }},
		"wrong": {BaseURL: "", Problem: "tenon.json:3: providers.wrong.baseURL must be a URL"},
	}}
	seen := 0
	got := map[string]Offer{}
	for _, offer := range Catalog(t.Context(), o, func(Offer) { seen++ }) {
		got[offer.Provider] = offer
	}
	if seen != len(got) || len(got) != 15 {
		t.Errorf("%d of %d offers were reported", seen, len(got))
	}
	for name, want := range map[string]string{
		"anthropic": "",
		"openai":    "no API key; set OPENAI_API_KEY, or run tenon auth key openai",
		"groq":      "the key in GROQ_API_KEY was rejected (HTTP 401); set GROQ_API_KEY, or run tenon auth key groq",
		"deepseek":  "; it does not list its models: name one as deepseek/NAME",
		"ollama":    "it is running but has no model; load or pull one; ",
		"lmstudio":  "nothing answers at http://127.0.0.1:1234; ",
		"vllm":      "it requires an API key; set VLLM_API_KEY, or run tenon auth key vllm",
		"unset":     "no API key for unset: the key uses ${env:X}, which is not set; ",
		"wrong":     "tenon.json:3: providers.wrong.baseURL must be a URL; ",
		"work":      "",
	} {
		if text := got[name].Why + "; " + got[name].Fix; strings.Trim(text, "; ") != strings.Trim(want, "; ") || strings.Contains(text, "bad-key") {
			t.Errorf("%s: %q", name, text)
		}
	}
	if m := got["anthropic"].Models; len(m) != 3 || m[0].Name != "claude-sonnet-5" || m[0].Context != 500000 || len(m[0].Efforts) == 0 || got["anthropic"].Where != "ANTHROPIC_API_KEY" {
		t.Errorf("anthropic: %+v", got["anthropic"])
	}
	if m := got["work"].Models; len(m) != 1 || m[0].Name != "gpt-5.4" || m[0].Context != 272000 || m[0].Prices.Input != 1 || len(m[0].Efforts) == 0 {
		t.Errorf("work: %+v", got["work"])
	}
	if got["xai"].Why == "" {
		t.Errorf("a redirect was followed: %+v", got["xai"])
	}
}

// D29: the key of a provider goes to its own host only; another host gets a key
// that was named or stored for it.
func TestKeyIsBoundToItsHost(t *testing.T) {
	var sent []string
	sees := func(w http.ResponseWriter, r *http.Request) {
		sent = append(sent, r.Host+" "+r.Header.Get("Authorization")+r.Header.Get("Api-Key"))
		fmt.Fprint(w, `{"data":[{"id":"gpt-5"}]}`)
	}
	w := world{"api.openai.com": sees, "other.example": sees, "env.example": sees}
	ring := map[string]string{"openai": "of-openai", "openai@other.example": "of-other", "mine": "of-mine"}
	for _, test := range []struct {
		name string
		env  []string
		with Provider
		want string
	}{
		{"own host", nil, Provider{}, "api.openai.com Bearer of-openai"},
		{"another host", []string{"OPENAI_API_KEY", "of-env"}, Provider{BaseURL: "https://other.example/v1"}, "other.example Bearer of-other"},
		{"a host without a key", []string{"OPENAI_API_KEY", "of-env"}, Provider{BaseURL: "https://env.example/v1"}, "env.example "},
		{"named in the keyring", nil, Provider{BaseURL: "https://env.example/v1", KeyringName: "mine", KeyHeader: "api-key"}, "env.example of-mine"},
		{"typed", nil, Provider{BaseURL: "https://env.example/v1", Key: "typed"}, "env.example Bearer typed"},
		{"address of the environment, key of the keyring", []string{"OPENAI_BASE_URL", "https://env.example/v1"}, Provider{}, ""},
		{"address and key of the environment", []string{"OPENAI_BASE_URL", "https://env.example/v1", "OPENAI_API_KEY", "of-env"}, Provider{}, "env.example Bearer of-env"},
	} {
		sent = nil
		var found []string
		o := &Options{Getenv: env(test.env...), Client: &http.Client{Transport: w}, Providers: map[string]Provider{"openai": test.with},
			Keyring: func(name string) (string, error) { return ring[name], nil }, OnKey: func(_, key string) { found = append(found, key) }}
		_, err := Models(t.Context(), "openai", o)
		if test.want == "" {
			test.want = "env.example "
		}
		if err != nil || strings.Join(sent, ",") != test.want {
			t.Errorf("%s: sent %q, %v", test.name, sent, err)
		}
		if key := test.want[strings.LastIndexByte(test.want, ' ')+1:]; strings.Join(found, ",") != key {
			t.Errorf("%s: reported the keys %q", test.name, found)
		}
	}
}

func TestCheckOfAKey(t *testing.T) {
	w := world{"api.openai.com": wants("good", says("/v1/models", `{"data":[]}`)), "api.deepseek.com": http.NotFound}
	o := &Options{Getenv: env(), Client: &http.Client{Transport: w}, Providers: map[string]Provider{"openai": {Models: []ModelSpec{{Name: "x"}}}}}
	if err := Check(t.Context(), "openai", "good", o); err != nil {
		t.Error(err)
	}
	if err := Check(t.Context(), "openai", "bad-bad", o); llm.KindOf(err) != llm.ErrAuth || strings.Contains(err.Error(), "bad-bad") {
		t.Errorf("a wrong key: %v", err)
	}
	if err := Check(t.Context(), "deepseek", "any", o); err != nil {
		t.Errorf("without a list: %v", err)
	}
	if err := Check(t.Context(), "nobody", "any", o); err == nil || !strings.Contains(err.Error(), `unknown provider "nobody"`) {
		t.Errorf("unknown: %v", err)
	}
}
