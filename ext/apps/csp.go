package apps

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// A CSP lists the origins that a view uses, such as "https://api.example.com",
// "wss://feed.example.com" or "https://*.example.com". A host blocks all others.
// The zero value is a view that uses no network.
type CSP struct {
	// ConnectDomains are for requests and sockets.
	ConnectDomains []string `json:"connectDomains,omitzero"`
	// ResourceDomains are for scripts, styles, images, fonts and media.
	ResourceDomains []string `json:"resourceDomains,omitzero"`
	// FrameDomains are for frames inside of the view.
	FrameDomains []string `json:"frameDomains,omitzero"`
	// BaseURIDomains are for the base element.
	BaseURIDomains []string `json:"baseUriDomains,omitzero"`
}

// Domains returns the valid origins, sorted, without duplicates: those that the
// view may reach.
func (c *CSP) Domains() []string {
	if c == nil {
		return nil
	}
	var all []string
	for _, list := range [][]string{c.ConnectDomains, c.ResourceDomains, c.FrameDomains, c.BaseURIDomains} {
		for _, d := range list {
			if checkDomain(d) == nil {
				all = append(all, d)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Header returns the Content-Security-Policy for a view. It allows what c
// declares and nothing else; a nil c allows no network. Domains that are not
// valid are left out, with an error for each.
func (c *CSP) Header() (policy string, problems []error) {
	if c == nil {
		c = &CSP{}
	}
	list := func(member string, domains []string) string {
		var ok []string
		for _, d := range domains {
			if err := checkDomain(d); err != nil {
				problems = append(problems, fmt.Errorf("csp.%s: %w", member, err))
			} else if !slices.Contains(ok, d) && len(ok) < maxDomains {
				ok = append(ok, d)
			}
		}
		return strings.Join(ok, " ")
	}
	resources, connect := list("resourceDomains", c.ResourceDomains), list("connectDomains", c.ConnectDomains)
	frames, base := list("frameDomains", c.FrameDomains), list("baseUriDomains", c.BaseURIDomains)
	or := func(list, otherwise string) string {
		if list == "" {
			return otherwise
		}
		return list
	}
	directives := [][2]string{
		{"default-src", "'none'"},
		{"script-src", "'self' 'unsafe-inline' " + resources},
		{"style-src", "'self' 'unsafe-inline' " + resources},
		{"img-src", "'self' data: " + resources},
		{"font-src", "'self' data: " + resources},
		{"media-src", "'self' data: " + resources},
		{"worker-src", "blob:"}, // never a service worker
		{"connect-src", or(connect, "'none'")},
		{"frame-src", or(frames, "'none'")},
		{"object-src", "'none'"},
		{"base-uri", or(base, "'self'")},
		{"form-action", "'none'"},
		{"webrtc", "'block'"},
	}
	parts := make([]string, len(directives))
	for i, d := range directives {
		parts[i] = d[0] + " " + strings.TrimSpace(d[1])
	}
	return strings.Join(parts, "; "), problems
}

// ConnectionAllowlist returns the value of the header Connection-Allowlist for a
// view. Browsers that know the header apply it also to what a
// Content-Security-Policy does not cover, such as the resolution of names. See
// https://wicg.github.io/connection-allowlists.
func (c *CSP) ConnectionAllowlist() string {
	all := c.Domains()
	items := []string{"response-origin"}
	for _, d := range all[:min(len(all), 4*maxDomains)] {
		items = append(items, `"`+d+`"`)
	}
	return "(" + strings.Join(items, " ") + ")"
}

// maxDomains bounds the origins of one kind, because all of them are in a header.
const maxDomains = 50

// checkDomain returns an error unless s is an origin of another machine with an
// encrypted scheme. What it accepts is safe in a header.
func checkDomain(s string) error {
	fail := func(why string) error { return fmt.Errorf("%s: %s", rawjson.Quote(clip(s)), why) }
	if len(s) > 300 {
		return fail("too long")
	}
	for _, r := range s {
		if r <= ' ' || r > '~' || strings.ContainsRune(`;,'"\`, r) {
			return fail("not an origin such as https://example.com")
		}
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Opaque != "" || u.User != nil || u.Path != "" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.HasSuffix(s, "#") {
		return fail("not an origin such as https://example.com")
	}
	if u.Scheme != "https" && u.Scheme != "wss" || !strings.HasPrefix(s, u.Scheme+"://") {
		return fail("the scheme must be https or wss")
	}
	if err := checkHost(u); err != nil {
		return fail(err.Error())
	}
	return nil
}

func checkHost(u *url.URL) error {
	host := u.Hostname()
	if port := u.Port(); port != "" || strings.HasSuffix(u.Host, ":") {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return errors.New("the port is not a number from 1 to 65535")
		}
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		if addr = addr.Unmap(); addr.IsLoopback() || addr.IsPrivate() || addr.IsLinkLocalUnicast() || addr.IsUnspecified() {
			return errors.New("addresses of this machine and its network are not allowed")
		}
		return nil
	}
	name, wild := strings.CutPrefix(host, "*.")
	labels := strings.Split(strings.ToLower(name), ".")
	for _, l := range labels {
		if l == "" || len(l) > 63 || strings.HasPrefix(l, "-") || strings.HasSuffix(l, "-") || strings.Trim(l, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return errors.New("not a host name")
		}
	}
	switch {
	case labels[len(labels)-1] == "localhost":
		return errors.New("addresses of this machine and its network are not allowed")
	case len(labels) < 2:
		return errors.New("a wildcard or a host name must have two labels at least, as in *.example.com")
	case wild && strings.Trim(labels[len(labels)-1], "0123456789") == "":
		return errors.New("not a host name")
	}
	return nil
}

func clip(s string) string {
	if len(s) > 100 {
		return s[:100] + "…"
	}
	return s
}
