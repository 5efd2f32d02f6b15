package main

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"regexp"
	"strings"
	"testing"
)

// TestGatewayPage serves a page on loopback for the one browser that has the
// token.
func TestGatewayPage(t *testing.T) {
	url, errs := servingWith(t, "gateway", "--addr", "127.0.0.1:0", "--page", "127.0.0.1:0", "-s", "builtin:calc")
	found := regexp.MustCompile(`(http://127\.0\.0\.1:\d+)/#token=(\w+)`).FindStringSubmatch(errs.String())
	if found == nil {
		t.Fatalf("no address of a page: %s", errs)
	}
	if code, out, errs := tenon(t, "call", url, "calc__add", "a=2", "b=3"); code != 0 {
		t.Fatalf("call: %d %s %s", code, out, errs)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	read := func(resp *http.Response, err error) (int, string) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(body)
	}
	if code, body := read(browser.Get(found[1] + "/api/v1/gateway")); code != http.StatusUnauthorized {
		t.Errorf("without the token: %d %s", code, body)
	}
	for i, want := range []int{http.StatusOK, http.StatusUnauthorized} { // the token works once
		if code, body := read(browser.Post(found[1]+"/api/v1/login", "application/json", strings.NewReader(`{"token":"`+found[2]+`"}`))); code != want {
			t.Errorf("login %d: %d %s", i, code, body)
		}
	}
	code, body := read(browser.Get(found[1] + "/api/v1/gateway"))
	if code != http.StatusOK || !strings.Contains(body, `"calc__add"`) || !strings.Contains(body, `"server":"calc"`) || !strings.Contains(body, `"url":"`+url+`"`) {
		t.Errorf("state: %d %s", code, body)
	}
}

// TestGatewayPageIsOptional has no page outside a terminal, and none that other
// machines can reach.
func TestGatewayPageIsOptional(t *testing.T) {
	for _, args := range [][]string{nil, {"--page", "off"}} {
		_, errs := servingWith(t, append([]string{"gateway", "--addr", "127.0.0.1:0", "-s", "builtin:calc"}, args...)...)
		if strings.Contains(errs.String(), "#token=") {
			t.Errorf("%v: %s", args, errs)
		}
	}
	if code, _, errs := tenon(t, "gateway", "--page", "0.0.0.0:0", "-s", "builtin:calc"); code != exitUsage || !strings.Contains(errs, "other machines") {
		t.Errorf("another address: %d %s", code, errs)
	}
}
