package main

import (
	"strings"
	"testing"
)

func TestRunRefuses(t *testing.T) {
	for _, test := range []struct {
		scenario string
		args     []string
		says     string
	}{
		{"initialize", nil, "URL"},
		{"auth/basic-cimd", []string{"http://127.0.0.1:1/"}, "cannot reach http://127.0.0.1:1/"},
		{"nonsense", []string{"http://127.0.0.1:1/"}, `unknown scenario "nonsense"`},
		{"", []string{"http://127.0.0.1:1/"}, scenarioVar},
		{"initialize", []string{"http://127.0.0.1:1/"}, "cannot reach http://127.0.0.1:1/"},
	} {
		if err := run(t.Context(), test.args, test.scenario); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%q %v: error %v, want it to say %q", test.scenario, test.args, err, test.says)
		}
	}
}
