package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// unscored are the scenarios that the suite does not score and we require.
var unscored = map[string][]string{
	"server": {
		"server-session-lifecycle", "json-schema-2020-12", "server-sse-polling",
		"http-header-validation", "http-custom-header-server-validation",
		"tasks-lifecycle", "tasks-capability-negotiation", "tasks-wire-fields", "tasks-request-state-removal", "tasks-mrtr-input",
		"tasks-request-headers", "tasks-dispatch-and-envelope", "tasks-required-task-error", "tasks-mrtr-composition",
		"sep-2640-skills-enumeration", "sep-2640-skills-manifest", "sep-2640-skills-directory",
	},
	"client": {
		"json-schema-2020-12-preservation",
		"auth/client-credentials-jwt", "auth/client-credentials-basic", "auth/enterprise-managed-authorization",
		"auth/dpop", "auth/dpop-nonce", "auth/wif-jwt-bearer",
	},
	"skills":     {"sep-2640-client-no-prefetch", "sep-2640-client-verify-digest", "sep-2640-client-verify-size", "sep-2640-client-verify-frontmatter"},
	"backcompat": {"auth/2025-03-26-oauth-metadata-backcompat", "auth/2025-03-26-oauth-endpoint-fallback"},
}

// mayFail are the scenarios in which the client must stop with an error.
var mayFail = map[string]bool{
	"auth/scope-retry-limit": true, "auth/resource-mismatch": true,
	"auth/iss-supported-missing": true, "auth/iss-wrong-issuer": true, "auth/iss-unexpected": true, "auth/iss-normalized": true,
	"auth/metadata-issuer-mismatch": true, "http-invalid-tool-headers": true,
	"sep-2640-client-verify-digest": true, "sep-2640-client-verify-size": true, "sep-2640-client-verify-frontmatter": true,
}

// impossible are the scenarios that cannot pass through a gateway, and why.
var impossible = map[string]map[string]string{
	gateway: {"server-sse-polling": polling},
	olderGateway: {
		"server-sse-polling":                            polling,
		"server-stateless":                              "a server of 2025-11-25 finds out that a capability is missing when it asks, not before the call",
		"input-required-result-basic-elicitation":       "the requests of a server of 2025-11-25 have no keys, so the key is the gateway's",
		"input-required-result-multiple-input-requests": one,
		"tasks-mrtr-input":                              one,
	},
}

const (
	polling = "the tool closes its server's stream, not that of the gateway"
	one     = "a server of 2025-11-25 asks one thing after the other"
)

// A leg is one run of the suite.
type leg struct {
	name      string
	scenarios map[string]*outcome
	required  map[string]bool
	scored    map[string]bool // by the suite
}

// An outcome is the result of one scenario.
type outcome struct {
	passed, failed, warned int
	messages               []string // what failed or was warned of
	exit                   string   // how the client under test ended, if not well
}

type check struct {
	ID           string `json:"id"`
	Name         string `json:"name"`
	Status       string `json:"status"`
	ErrorMessage string `json:"errorMessage"`
}

var stamped = regexp.MustCompile(`-\d{4}-\d\d-\d\dT[0-9A-Z-]+$`)

// readLeg reads the checks of all scenarios in a folder.
func readLeg(dir string) (*leg, error) {
	l := &leg{name: filepath.Base(dir), scenarios: map[string]*outcome{}}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Base(path) != "checks.json" {
			return err
		}
		under, err := filepath.Rel(dir, filepath.Dir(path))
		if err != nil {
			return err
		}
		name := stamped.ReplaceAllString(filepath.ToSlash(under), "")
		if l.serves() {
			name = strings.TrimPrefix(name, "server-")
		}
		if l.scenarios[name] == nil {
			l.scenarios[name] = new(outcome)
		}
		return l.scenarios[name].read(path)
	})
	return l, err
}

func (l *leg) serves() bool { return l.kind() == "server" }

// kind returns what the suite tests: a server, directly or through a gateway, or
// a client.
func (l *leg) kind() string {
	kind, _, _ := strings.Cut(l.name, "-")
	if kind == gateway || kind == olderGateway {
		return "server"
	}
	return kind
}

// impossible returns why a scenario cannot pass; empty if it can.
func (l *leg) impossible(name string) string {
	kind, _, _ := strings.Cut(l.name, "-")
	return impossible[kind][name]
}

// The gateways before the server: one speaks 2026-07-28 with it, the other
// 2025-11-25.
const (
	gateway      = "gateway"
	olderGateway = "oldergateway"
)

// title returns the leg's name in the table.
func (l *leg) title() string {
	kind, rest, _ := strings.Cut(l.name, "-")
	if kind == olderGateway {
		kind = "gateway to 2025-11-25,"
	}
	if rest == byName {
		rest = "by name"
	}
	return kind + " " + rest
}

func (o *outcome) read(path string) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var checks []check
	if err := json.Unmarshal(raw, &checks); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for _, c := range checks {
		switch c.Status {
		case "SUCCESS":
			o.passed++
			continue
		case "FAILURE":
			o.failed++
		case "WARNING":
			o.warned++
		default:
			continue
		}
		o.messages = append(o.messages, fmt.Sprintf("%s %s: %s", strings.ToLower(c.Status), c.ID, c.ErrorMessage))
	}
	// The script that starts a client writes this file after a failure.
	stderr, err := os.ReadFile(filepath.Join(filepath.Dir(path), "stderr.txt"))
	if _, code, found := strings.Cut(string(stderr), "conformance-exit: "); err == nil && found {
		o.exit, _, _ = strings.Cut(code, "\n")
	}
	return nil
}

// require determines the required scenarios of the leg.
func (l *leg) require(dir string) error {
	l.required, l.scored = map[string]bool{}, map[string]bool{}
	kind := l.kind()
	_, revision, _ := strings.Cut(l.name, "-")
	for _, name := range unscored[kind] {
		// Not each of them applies to each revision.
		if (revision == byName || l.scenarios[name] != nil) && l.impossible(name) == "" {
			l.required[name] = true
		}
	}
	if revision == byName {
		return nil
	}
	names, err := listed(filepath.Join(dir, revision+".yaml"), kind)
	for _, name := range names {
		l.scored[name] = true
		if l.impossible(name) == "" {
			l.required[name] = true
		}
	}
	return err
}

// byName replaces the revision in the name of a leg.
const byName = "by-name"

// listed reads a list of names from a file of required scenarios: the lines
// that begin with "  - " after the one that says key.
func listed(path, key string) (names []string, err error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	within := false
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimRight(line, " \r\n")
		name, isItem := strings.CutPrefix(line, "  - ")
		switch {
		case line != "" && line[0] != ' ' && line[0] != '#':
			within = line == key+":"
		case within && isItem:
			names = append(names, name)
		}
	}
	if names == nil {
		return nil, fmt.Errorf("%s lists nothing under %q", path, key)
	}
	return names, nil
}

// good reports whether a scenario passed. Warnings fail a client, as in the suite,
// and a server where we promise it.
func (l *leg) good(name string) bool {
	o := l.scenarios[name]
	strict := !l.serves() || name == "server-sse-polling"
	return o != nil && o.passed > 0 && o.failed == 0 && (o.exit == "" || mayFail[name]) && !(strict && o.warned > 0)
}

// problems returns the required scenarios that did not pass.
func problems(legs []*leg) (bad []string) {
	for _, l := range legs {
		for _, name := range sortedKeys(l.required) {
			if l.good(name) {
				continue
			}
			o := l.scenarios[name]
			switch {
			case o == nil:
				bad = append(bad, fmt.Sprintf("%s: %s was not run", l.title(), name))
				continue
			case o.exit != "":
				bad = append(bad, fmt.Sprintf("%s: %s: the client ended with status %s", l.title(), name, o.exit))
			case o.messages == nil:
				bad = append(bad, fmt.Sprintf("%s: %s checked nothing", l.title(), name))
			}
			for _, m := range o.messages {
				bad = append(bad, fmt.Sprintf("%s: %s: %s", l.title(), name, m))
			}
		}
	}
	return bad
}
