package config

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/tenon-mcp/tenon/internal/visible"
)

// entryMembers are the names that an entry may have.
var entryMembers = []string{"type", "transport", "command", "args", "env", "envFile", "cwd", "url", "headers", "oauth",
	"builtin", "timeout", "disabled", "enabled", "description"}

// elsewhere are names that other hosts know and that mean something a person
// may rely on, with what to do instead.
var elsewhere = map[string]string{
	"autoApprove":   "no file approves tools by itself: write a rule in permissions of tenon.json",
	"alwaysAllow":   "no file approves tools by itself: write a rule in permissions of tenon.json",
	"trust":         "no entry makes itself trusted: name the server in trust of tenon.json",
	"headersHelper": "programs that make headers are not run: use ${VAR} in headers, or oauth",
	"disabledTools": "tools are not hidden here: write a deny rule in permissions of tenon.json",
	"excludeTools":  "tools are not hidden here: write a deny rule in permissions of tenon.json",
	"sandbox":       "servers are not run in a sandbox",
}

// readEntry reads one server. What is wrong with it is told in Err, so that
// the other servers of the file can be used.
func readEntry(m member, src Source) Entry {
	src.Line, _ = m.value.doc.position(m.off)
	e := Entry{Name: m.name, Source: src}
	e.Err = e.read(m)
	return e
}

func (e *Entry) read(m member) error {
	if err := checkName(m.name); err != nil {
		return m.value.doc.errorAt(m.off, "%v", err)
	}
	members, err := m.value.object()
	if err != nil {
		return err
	}
	kind, unknown := "", []string(nil)
	for _, m := range members {
		known, err := e.set(m, &kind)
		if err != nil {
			return err
		}
		if !known {
			unknown = append(unknown, m.name)
		}
	}
	for _, name := range unknown {
		text := fmt.Sprintf("%q is not known and was passed over%s", name, didYouMean(name, entryMembers))
		if why := elsewhere[name]; why != "" {
			text = fmt.Sprintf("%q was passed over: %s", name, why)
		}
		e.Warnings = append(e.Warnings, text)
	}
	if err := e.settle(kind, unknown); err != nil {
		return m.value.errorf("%v", err)
	}
	return nil
}

// set takes one member over and reports whether it is known.
func (e *Entry) set(m member, kind *string) (known bool, err error) {
	v := m.value
	switch m.name {
	case "type", "transport":
		*kind, err = v.text()
	case "command":
		e.Command, err = v.text()
	case "args":
		e.Args, err = v.texts()
	case "env":
		e.Env, err = v.table()
	case "envFile":
		e.EnvFile, err = v.text()
	case "cwd":
		e.Dir, err = v.text()
	case "url":
		e.URL, err = v.text()
	case "headers":
		e.Headers, err = v.table()
	case "oauth":
		err = e.readOAuth(v)
	case "builtin":
		e.Builtin, err = v.text()
	case "timeout":
		e.Timeout, err = v.duration()
	case "disabled":
		e.Disabled, err = v.bool()
	case "enabled":
		e.Disabled, err = v.bool()
		e.Disabled = !e.Disabled
	case "description":
		_, err = v.text()
	default:
		return false, nil
	}
	return true, err
}

// kinds are the ways in which a type is written.
var kinds = map[string]Kind{
	"stdio": Stdio, "http": HTTP, "streamable-http": HTTP, "streamableHttp": HTTP, "streamable_http": HTTP,
	"sse": SSE, "builtin": Builtin,
}

// settle finds the kind and checks that the entry has what it needs for it.
func (e *Entry) settle(kind string, unknown []string) error {
	var has []Kind
	for k, text := range map[Kind]string{Stdio: e.Command, HTTP: e.URL, Builtin: e.Builtin} {
		if text != "" {
			has = append(has, k)
		}
	}
	switch {
	case len(has) > 1:
		return fmt.Errorf("must have only one of command, url and builtin")
	case len(has) == 0:
		for _, name := range unknown {
			if n := nearest(name, []string{"command", "url", "builtin"}); n != "" {
				return fmt.Errorf("has neither command, url nor builtin; did you mean %q instead of %q?", n, name)
			}
			if low := strings.ToLower(name); low == "serverurl" || low == "httpurl" {
				return fmt.Errorf("has neither command, url nor builtin; write \"url\" instead of %q", name)
			}
		}
		return fmt.Errorf("must have command (a program), url (a server on the net) or builtin (a server of this program)")
	}
	e.Kind = has[0]
	if kind != "" {
		k, ok := kinds[kind]
		if !ok {
			return fmt.Errorf("has the type %q, which is not known: use stdio, http, sse or builtin", kind)
		}
		if (k == HTTP || k == SSE) != (e.Kind == HTTP) || k == Builtin != (e.Kind == Builtin) {
			need := map[Kind]string{Stdio: "command", HTTP: "url", SSE: "url", Builtin: "builtin"}[k]
			return fmt.Errorf("has the type %q and so must have %q", kind, need)
		}
		e.Kind = k
	}
	for name := range e.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return fmt.Errorf("has %q in env, which cannot be the name of a variable", name)
		}
	}
	for _, s := range append([]string{e.Command, e.Dir}, e.Args...) {
		if strings.HasPrefix(s, "~/") {
			e.Warnings = append(e.Warnings, fmt.Sprintf("%q is taken as it is, because no shell reads it: write ${userHome} instead of ~", s))
		}
	}
	return nil
}

// checkName refuses names that could not be shown or typed.
func checkName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("a server must have a name")
	case len(name) > 128:
		return fmt.Errorf("the name of a server is longer than 128 bytes")
	case len(visible.Suspicious(name)) > 0 || visible.Line(name) != name:
		return fmt.Errorf("the server name %q cannot be shown as it is (%s): give it a plain name", visible.Line(name), strings.Join(visible.Suspicious(name), ", "))
	case strings.HasPrefix(name, "-") || strings.HasPrefix(name, "builtin:") || strings.Contains(name, "://"):
		return fmt.Errorf("the server name %q would be taken for an option, a builtin or a URL: give it another", name)
	case strings.TrimSpace(name) != name:
		return fmt.Errorf("the server name %q begins or ends with a space", name)
	}
	return nil
}

var oauthMembers = []string{"clientId", "clientSecret", "issuer", "scopes", "scope", "resource", "redirectUri", "callbackPort", "clientIdMetadataUrl", "proxy"}

func (e *Entry) readOAuth(n node) error {
	members, err := n.object()
	if err != nil {
		return err
	}
	o := &OAuth{}
	e.OAuth = o
	for _, m := range members {
		v := m.value
		switch m.name {
		case "clientId":
			o.ClientID, err = v.text()
		case "clientSecret":
			o.ClientSecret, err = v.text()
		case "issuer":
			o.Issuer, err = v.text()
		case "scopes", "scope":
			if v.raw[0] == '[' {
				o.Scopes, err = v.texts()
				break
			}
			var s string
			s, err = v.text()
			o.Scopes = strings.Fields(s)
		case "resource":
			o.Resource, err = v.text()
		case "redirectUri":
			o.RedirectURI, err = v.text()
		case "callbackPort":
			port, bad := strconv.ParseUint(string(v.raw), 10, 16)
			if bad != nil || port == 0 {
				return v.errorf("must be a port, 1 to 65535")
			}
			o.RedirectURI = "http://" + net.JoinHostPort("localhost", string(v.raw)) + "/callback"
		case "clientIdMetadataUrl":
			o.ClientIDMetadataURL, err = v.text()
		case "proxy":
			o.Proxy, err = v.text()
		default:
			e.Warnings = append(e.Warnings, fmt.Sprintf("%q in oauth is not known and was passed over%s", m.name, didYouMean(m.name, oauthMembers)))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
