package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestUpgradeAsksOnlyWithCheck(t *testing.T) {
	t.Parallel()
	asked := 0
	body := `{"tag_name":"v99.0.0","html_url":"https://example.com/v99"}`
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.Write([]byte(body))
	}))
	defer web.Close()
	try := func(code int, args ...string) string {
		t.Helper()
		var out, errs strings.Builder
		if got := run(t.Context(), append([]string{"upgrade"}, args...), strings.NewReader(""), &out, &errs); got != code {
			t.Fatalf("tenon upgrade %s: exit code %d: %s%s", strings.Join(args, " "), got, &out, &errs)
		}
		return out.String() + errs.String()
	}
	try(exitUsage)
	try(exitUsage, "--url", web.URL)
	if asked != 0 {
		t.Fatal("it asked without --check")
	}
	contains(t, try(0, "--check", "--url", web.URL), "v99.0.0 is available", "https://example.com/v99")
	contains(t, try(0, "--check", "--url", web.URL, "--format", "json"), `"newer": true`, `"latest": "v99.0.0"`)
	body = `{"Version":"v98.0.0","Time":"2026-01-01T00:00:00Z"}`
	contains(t, try(0, "--check", "--url", web.URL), "v98.0.0 is available")
	if asked != 3 {
		t.Errorf("it asked %d times, not once for each run", asked)
	}
	body = `{"tag_name":"latest"}`
	contains(t, try(exitProtocol, "--check", "--url", web.URL), "names no version")
	web.Close()
	contains(t, try(exitConnection, "--check", "--url", web.URL), "ask for the newest version")
	contains(t, try(exitUsage, "--check", "--url", "file:///etc/passwd"), "https://")
}

// Nothing but tenon upgrade --check knows where releases are announced.
func TestOnlyUpgradeAsksForReleases(t *testing.T) {
	t.Parallel()
	err := filepath.WalkDir("../..", func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() && (e.Name() == "node_modules" || strings.HasPrefix(e.Name(), ".") && path != "../..") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || e.Name() == "upgrade.go" {
			return nil
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), "/releases/latest") || strings.Contains(string(text), "latestRelease") {
			t.Errorf("%s asks for releases", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestVersionsAreOrdered(t *testing.T) {
	t.Parallel()
	// from the oldest to the newest; the first six are the order of semver.org
	order := []string{"1.0.0-alpha", "v1.0.0-alpha.1", "v1.0.0-alpha.beta", "v1.0.0-beta.2", "v1.0.0-beta.11", "v1.0.0-rc.1", "v1.0.0",
		"v1.0.1-0.20260101000000-abcdefabcdef", "v1.0.1", "v1.9.0+meta", "v1.10.0", "v2.0.0"}
	for i, a := range order {
		for j, b := range order {
			if got := newerVersion(a, b); got != (i > j) {
				t.Errorf("newerVersion(%s, %s) = %v", a, b, got)
			}
		}
		if !newerVersion(a, "development 0123456789ab with changes") {
			t.Errorf("%s is not newer than a checkout", a)
		}
	}
	for _, wrong := range []string{"", "v1", "v1.2", "v1.2.x", "v01.2.3", "v1.2.3-", "v1.2.3-a..b", "latest", "v-1.2.3", "v1.2.3.4"} {
		if _, ok := parseVersion(wrong); ok {
			t.Errorf("%q is read as a version", wrong)
		}
	}
}
