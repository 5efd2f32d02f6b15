package format

import (
	"slices"
	"strings"
	"testing"
)

// What a check expects ends a sentence and shows, in quotes, a text that the
// check takes.
func TestChecks(t *testing.T) {
	for _, check := range checks {
		name := check.name
		if found, ok := Of(name); !ok || found.Expects != check.Expects {
			t.Errorf("%s is not found", name)
		}
		if !slices.Contains(Names, name) {
			t.Errorf("%s is checked but is not a format of JSON Schema", name)
		}
		if !strings.HasPrefix(check.Expects, "a") {
			t.Errorf("%s: expected %s", name, check.Expects)
		}
		if _, sample, ok := strings.Cut(check.Expects, `"`); ok && !check.Valid(strings.TrimSuffix(sample, `"`)) {
			t.Errorf("%s refuses its own sample %s", name, sample)
		}
		if check.Valid("") || check.Valid(" ") {
			t.Errorf("%s takes nothing for something", name)
		}
	}
}

func TestNotEnforced(t *testing.T) {
	for _, name := range []string{"", "hostname", "unheard-of"} {
		if _, ok := Of(name); ok {
			t.Errorf("%q has a check", name)
		}
	}
}

func TestParseDateTime(t *testing.T) {
	got, ok := ParseDateTime("2026-01-31T12:00:00.5+02:00")
	if !ok || got.UTC().Format("15:04:05.0") != "10:00:00.5" {
		t.Errorf("%v, %v", got, ok)
	}
	if _, ok := ParseDateTime("2026-01-31T12:00:00"); ok {
		t.Error("a time without an offset was taken")
	}
}
