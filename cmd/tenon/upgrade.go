package main

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/app/show"
	"github.com/tenon-mcp/tenon/auth/fetch"
	"github.com/tenon-mcp/tenon/internal/version"
	"github.com/tenon-mcp/tenon/internal/visible"
)

// latestRelease is where tenon upgrade --check asks. Nothing else in Tenon asks
// there.
const latestRelease = "https://api.github.com/repos/tenon-mcp/tenon/releases/latest"

// A published is the document at such a URL. GitHub names a release by a tag,
// proxies of Go modules (URL/@latest) by a version.
type published struct {
	Tag     string `json:"tag_name"`
	Page    string `json:"html_url"`
	Version string `json:"Version"`
}

func (p *program) upgradeCommand() *cobra.Command {
	check, at := false, latestRelease
	c := &cobra.Command{
		Use:   "upgrade --check",
		Short: "Say whether there is a newer version",
		Long: `Upgrade --check asks for the newest release and says whether it is newer than this
program. It changes nothing: install the new version in the way you installed
this one. No other command asks, and this one does only when you run it.

The URL returns JSON with "tag_name", as the API of GitHub does, or "Version", as
proxies of Go modules do.`,
		Example: "  tenon upgrade --check\n  tenon upgrade --check --url https://proxy.golang.org/github.com/tenon-mcp/tenon/@latest",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !check {
				return usagef("tenon does not replace itself; use --check to ask for the newest version")
			}
			return p.checkUpgrade(cmd, at)
		},
	}
	c.Flags().BoolVar(&check, "check", false, "ask for the newest version")
	c.Flags().StringVar(&at, "url", at, "the `URL` to ask")
	return c
}

func (p *program) checkUpgrade(cmd *cobra.Command, at string) error {
	out, err := p.printer()
	if err != nil {
		return err
	}
	if !strings.HasPrefix(at, "https://") && !strings.HasPrefix(at, "http://") {
		return usagef("--url must start with https:// (http:// on this machine)")
	}
	c := fetch.New(&fetch.Options{AllowLoopback: true, AllowPrivate: true, Timeout: p.timeout})
	defer c.Close()
	var found published
	if err := c.GetJSON(cmd.Context(), at, &found); err != nil {
		return exitError{fmt.Errorf("ask for the newest version: %w", err), exitConnection}
	}
	latest, current := cmp.Or(found.Tag, found.Version), version.String()
	if _, ok := parseVersion(latest); !ok {
		return exitError{fmt.Errorf("%s names no version such as v1.2.3", fetch.Redact(at)), exitProtocol}
	}
	newer := newerVersion(latest, current)
	if out.Format != show.Text {
		return out.Value(map[string]any{"current": current, "latest": latest, "newer": newer, "url": found.Page})
	}
	if !newer {
		_, err = fmt.Fprintf(p.out, "tenon %s is the newest version (%s was released)\n", current, latest)
		return err
	}
	_, err = fmt.Fprintf(p.out, "tenon %s is available; this is %s\n", latest, current)
	if found.Page != "" && err == nil {
		_, err = fmt.Fprintln(p.out, visible.Text(found.Page))
	}
	return err
}

// A semver is a version such as v1.2.3-rc.1.
type semver struct {
	number [3]int
	pre    []string // the parts after the hyphen; nil: a release
}

// parseVersion reads a version. Its v may be missing.
func parseVersion(s string) (semver, bool) {
	var v semver
	s, _, _ = strings.Cut(strings.TrimPrefix(s, "v"), "+")
	s, pre, has := strings.Cut(s, "-")
	if has {
		v.pre = strings.Split(pre, ".")
		if !plainParts(v.pre) {
			return v, false
		}
	}
	numbers := strings.Split(s, ".")
	if len(numbers) != 3 {
		return v, false
	}
	for i, n := range numbers {
		if !digits(n) || len(n) > 9 || len(n) > 1 && n[0] == '0' {
			return v, false
		}
		v.number[i], _ = strconv.Atoi(n) // has only digits
	}
	return v, true
}

func plainParts(parts []string) bool {
	for _, p := range parts {
		if p == "" || strings.Trim(p, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-") != "" {
			return false
		}
	}
	return true
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// newerVersion reports whether a is newer than b. A b that is no version, such as
// one of a checkout, is older than every release.
func newerVersion(a, b string) bool {
	x, ok := parseVersion(a)
	if !ok {
		return false
	}
	y, ok := parseVersion(b)
	return !ok || compareVersions(x, y) > 0
}

func compareVersions(x, y semver) int {
	for i := range x.number {
		if c := cmp.Compare(x.number[i], y.number[i]); c != 0 {
			return c
		}
	}
	if x.pre == nil || y.pre == nil { // a release is newer than what led to it
		return cmp.Compare(len(y.pre), len(x.pre))
	}
	for i := range min(len(x.pre), len(y.pre)) {
		if c := compareParts(x.pre[i], y.pre[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(x.pre), len(y.pre))
}

// compareParts compares two parts after a hyphen: numbers by value, and before
// words.
func compareParts(a, b string) int {
	switch {
	case digits(a) && digits(b):
		a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
		return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
	case digits(a):
		return -1
	case digits(b):
		return 1
	}
	return strings.Compare(a, b)
}
