package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tenon-mcp/tenon/internal/typo"
	"github.com/tenon-mcp/tenon/internal/visible"
)

// entryMembers are the names of an entry's members.
var entryMembers = []string{"type", "transport", "command", "args", "env", "envFile", "cwd", "url", "headers", "oauth",
	"builtin", "timeout", "connection", "disabled", "enabled", "description"}

// elsewhere are members of other hosts that Tenon does not support, with what to
// do instead.
var elsewhere = map[string]string{
	"autoApprove":   "an entry cannot approve tools; add a rule to permissions in tenon.json",
	"alwaysAllow":   "an entry cannot approve tools; add a rule to permissions in tenon.json",
	"trust":         "an entry cannot trust itself; add the server to trust in tenon.json",
	"headersHelper": "Tenon runs no programs for headers; use ${VAR} in headers, or oauth",
	"disabledTools": "an entry cannot hide tools; add a deny rule to permissions in tenon.json",
	"excludeTools":  "an entry cannot hide tools; add a deny rule to permissions in tenon.json",
	"sandbox":       "Tenon does not run servers in a sandbox",
	"includeTools":  "an entry cannot hide tools; add deny rules to permissions in tenon.json",

	"enabled_tools":               "an entry cannot hide tools; add deny rules to permissions in tenon.json",
	"disabled_tools":              "an entry cannot hide tools; add a deny rule to permissions in tenon.json",
	"available_tools":             "an entry cannot hide tools; add deny rules to permissions in tenon.json",
	"default_tools_approval_mode": "an entry cannot approve tools; add a rule to permissions in tenon.json",
}

// readEntry reads one server. It reports errors in Err, so that the other servers
// of the file can be used.
func readEntry(m member, src Source) Entry {
	src.Line, _ = m.value.doc.position(m.off)
	e := Entry{Name: m.name, Source: src}
	e.Err = e.read(m)
	return e
}

func (e *Entry) read(m member) error {
	if err := CheckName(m.name); err != nil {
		return m.value.doc.errorAt(m.off, "%v", err)
	}
	kind, unknown := "", []string(nil)
	if err := m.value.eachMember(func(m member) error {
		known, err := e.set(m, &kind)
		if !known {
			unknown = append(unknown, m.name)
		}
		return err
	}); err != nil {
		return err
	}
	for _, name := range unknown {
		text := fmt.Sprintf("unknown member %q is ignored%s", name, didYouMean(name, entryMembers))
		if why := elsewhere[name]; why != "" {
			text = fmt.Sprintf("%q is ignored: %s", name, why)
		}
		e.Warnings = append(e.Warnings, text)
	}
	if err := e.setKind(kind, unknown); err != nil {
		return m.value.errorf("%v", err)
	}
	return nil
}

// set reads one member and reports whether its name is known.
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
	case "connection":
		e.Connection, err = readConnection(v)
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

// kinds are the values of type.
var kinds = map[string]Kind{
	"stdio": Stdio, "http": HTTP, "streamable-http": HTTP, "streamableHttp": HTTP, "streamable_http": HTTP,
	"sse": SSE, "builtin": Builtin,
}

// setKind sets the kind and checks the members that it needs.
func (e *Entry) setKind(kind string, unknown []string) error {
	var has []Kind
	for k, text := range map[Kind]string{Stdio: e.Command, HTTP: e.URL, Builtin: e.Builtin} {
		if text != "" {
			has = append(has, k)
		}
	}
	switch {
	case len(has) > 1:
		return errors.New("must have only one of command, url and builtin")
	case len(has) == 0:
		for _, name := range unknown {
			if n := typo.Nearest(name, []string{"command", "url", "builtin"}); n != "" {
				return fmt.Errorf("must have command, url or builtin; did you mean %q instead of %q?", n, name)
			}
			if low := strings.ToLower(name); low == "serverurl" || low == "httpurl" {
				return fmt.Errorf("must have command, url or builtin; use \"url\" instead of %q", name)
			}
		}
		return errors.New("must have command (a program), url (a remote server) or builtin (a server in Tenon)")
	}
	e.Kind = has[0]
	if kind != "" {
		k, ok := kinds[kind]
		if !ok {
			return fmt.Errorf("has unknown type %q; use stdio, http, sse or builtin", kind)
		}
		if (k == HTTP || k == SSE) != (e.Kind == HTTP) || k == Builtin != (e.Kind == Builtin) {
			need := map[Kind]string{Stdio: "command", HTTP: "url", SSE: "url", Builtin: "builtin"}[k]
			return fmt.Errorf("has type %q and must have %q", kind, need)
		}
		e.Kind = k
	}
	for name := range e.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return fmt.Errorf("has an invalid variable name %q in env", name)
		}
	}
	for _, s := range append([]string{e.Command, e.Dir}, e.Args...) {
		if strings.HasPrefix(s, "~/") {
			e.Warnings = append(e.Warnings, fmt.Sprintf("~ in %q is not expanded; use ${userHome}", s))
		}
	}
	return nil
}

// CheckName returns an error for names that cannot be displayed or typed.
func CheckName(name string) error {
	switch {
	case name == "":
		return errors.New("a server must have a name")
	case len(name) > 128:
		return errors.New("the name of a server is longer than 128 bytes")
	case len(visible.Suspicious(name)) > 0 || visible.Line(name) != name:
		return fmt.Errorf("the server name %q has misleading characters (%s)", visible.Line(name), strings.Join(visible.Suspicious(name), ", "))
	case strings.HasPrefix(name, "-") || strings.HasPrefix(name, "builtin:") || strings.Contains(name, "://"):
		return fmt.Errorf("the server name %q looks like an option, a builtin or a URL; choose another", name)
	case strings.TrimSpace(name) != name:
		return fmt.Errorf("the server name %q starts or ends with a space", name)
	}
	return nil
}
