package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const modelKey = "sk-model-0123456789abcdef"

// listing is a provider that lists two models to who has the key, and repeats a
// wrong key in its error.
func listing(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+modelKey {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"error": {"message": "bad key %s"}}`, r.Header.Get("Authorization"))
			return
		}
		fmt.Fprint(w, `{"object": "list", "data": [{"id": "small", "max_model_len": 8000}, {"id": "text-embedding-3"}]}`)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func (d *desk) settings(text string) {
	d.t.Helper()
	d.tenon(0, "config", "add", "calc", "builtin:calc")
	write(d.t, filepath.Join(d.config, "tenon.json"), text)
}

func withInput(cmd *exec.Cmd, text string) *exec.Cmd {
	cmd.Stdin = strings.NewReader(text)
	return cmd
}

// A key is stored in the keyring for the host of its provider, used from there,
// listed, and removed. No output and no file has it.
func TestAuthKey(t *testing.T) {
	s, address := startKeyring(t)
	d := newDesk(t)
	at := listing(t)
	d.settings(`{"providers": {"work": {"baseURL": "` + at + `/v1"}, "named": {"baseURL": "` + at + `/v1", "key": "${keyring:shared}"}, "fixed": {"baseURL": "` + at + `", "key": "${env:FIXED}"}}}`)
	here := func(code int, input string, args ...string) string {
		t.Helper()
		cmd := withInput(d.command(args...), input)
		set(cmd, "DBUS_SESSION_BUS_ADDRESS", address)
		out := d.run(code, cmd)
		if strings.Contains(out, "sk-model") {
			t.Errorf("%q shows the key:\n%s", args, out)
		}
		return out
	}
	host := strings.TrimPrefix(at, "http://")
	contains(t, here(exitConnection, "", "models", "work"), "it requires an API key; run tenon auth key work")
	contains(t, here(exitModel, "sk-model-wrong-wrong\n", "auth", "key", "work"), "the API key was rejected")
	contains(t, here(exitUsage, "sk-model two words\n", "auth", "key", "work"), "the key has a blank")
	contains(t, here(exitUsage, "\n", "auth", "key", "work"), "the key is empty")
	contains(t, here(exitUsage, modelKey, "auth", "key", "wrok"), `unknown provider "wrok"`)
	contains(t, here(exitUsage, modelKey, "auth", "key", "fixed"), "is set in tenon.json")
	if all := s.all(); all != "" {
		t.Errorf("the keyring has %s", all)
	}
	contains(t, here(0, "  "+modelKey+" \n", "auth", "key", "work"), "The key of work is in your keyring", "work@"+host)
	if all := s.all(); all != "tenon-models/work@"+host+"="+modelKey {
		t.Errorf("the keyring has %s", all)
	}
	out := here(0, "", "models", "work")
	contains(t, out, "work/small", "8k", "the keyring")
	if strings.Contains(out, "embedding") {
		t.Errorf("lists what does not talk:\n%s", out)
	}
	contains(t, here(0, "", "models", "work", "--format", "json"), `"name": "small"`, `"context": 8000`, `"where": "the keyring"`)
	contains(t, here(0, "sk-model-unchecked\n", "auth", "key", "named", "--no-check"), "entry shared")
	contains(t, here(exitConnection, "", "models", "named"), "the key in ${keyring:shared} was rejected (HTTP 401)")
	keys := here(0, "", "auth", "key")
	contains(t, keys, "the keyring", "${keyring:shared}", "${env:FIXED}, which is not set", "anthropic", "none needed")
	contains(t, here(0, "", "auth", "key", "work", "--remove"), "is removed")
	contains(t, here(0, "", "auth", "key", "work", "--remove"), "has no key of work")
	if all := s.all(); strings.Contains(all, "work@") {
		t.Errorf("the keyring still has %s", all)
	}
	noFileHolds(t, d.config, modelKey)
}

// Without a keyring, the key is not stored anywhere, and the error says what to
// do.
func TestAuthKeyWithoutAKeyring(t *testing.T) {
	d := newDesk(t)
	at := listing(t)
	d.settings(`{"providers": {"work": {"baseURL": "` + at + `/v1"}}}`)
	contains(t, d.run(exitUsage, withInput(d.command("auth", "key", "anthropic"), modelKey)), "no keyring is available here: set ANTHROPIC_API_KEY, or put the key into a file", "${file:PATH}")
	contains(t, d.run(exitUsage, withInput(d.command("auth", "key", "work"), modelKey)), "no keyring is available here: put the key into a file")
	noFileHolds(t, d.config, modelKey)
}

// D7: models says what can be had and why the rest cannot, also with a key that
// is written in the file, which is not shown anywhere.
func TestModels(t *testing.T) {
	d := newDesk(t)
	at := listing(t)
	d.settings(`{"providers": {
		"work": {"baseURL": "` + at + `/v1/", "key": "` + modelKey + `", "models": [{"name": "big", "context": 272000, "prices": {"input": 1.25, "output": 10}, "efforts": ["low", "high"]}]},
		"wrong": {"baseURL": "` + at + `/v1", "key": "sk-model-wrong-wrong"},
		"plain": {"baseURL": "http://models.example.com"}
	}}`)
	out := d.tenon(0, "models")
	contains(t, out, "work/big", "272k", "1.25/10", "low high", "NOT AVAILABLE", "the key in tenon.json was rejected (HTTP 401)",
		"providers.plain.baseURL must start with https://", "openai", "no API key; set OPENAI_API_KEY, or run tenon auth key openai", "nothing answers at http://127.0.0.1:", "is written in the file")
	for _, args := range [][]string{{"models"}, {"models", "--format", "json"}, {"models", "work"}, {"config", "list"}, {"auth", "key"}} {
		if out := d.tenon(0, args...); strings.Contains(out, "sk-model") {
			t.Errorf("%q shows the key:\n%s", args, out)
		}
	}
	contains(t, d.tenon(exitUsage, "models", "opnai"), `unknown provider "opnai"`)
	d.settings(`{"providers": {"work": {"baseUrl": "x"}}}`)
	contains(t, d.tenon(exitUsage, "models"), `tenon.json:1:25: unknown member providers.work.baseUrl; did you mean "baseURL"?`)
}
