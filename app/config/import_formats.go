package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// maxForeign is the size limit of files in TOML and YAML in bytes, and maxBrackets
// the limit of opening brackets in them, because their parsers call themselves for
// each.
const (
	maxForeign  = 256 << 10
	maxBrackets = 2000
)

// A translation makes an entry of Tenon from a server in the format of another
// program, which it may change. The members that it leaves are reported as any
// unknown member of an entry.
type translation func(server map[string]any) (warnings []string, err error)

// errNotServer is returned by translations for entries that are no servers that
// Tenon could run.
var errNotServer = errors.New("cannot be imported")

// readTOML and readYAML return a file as JSON.
func readTOML(file string) (node, error) {
	return convert(file, func(text []byte) (all map[string]any, err error) {
		_, err = toml.Decode(string(text), &all)
		if bad, ok := errors.AsType[toml.ParseError](err); ok {
			err = fmt.Errorf("%s:%d:%d: invalid TOML: %s", file, bad.Position.Line, bad.Position.Col, bad.Message)
		}
		return all, err
	})
}

func readYAML(file string) (node, error) {
	return convert(file, func(text []byte) (all map[string]any, err error) {
		f, err := parser.ParseBytes(text, 0)
		if err != nil {
			first, _, _ := strings.Cut(err.Error(), "\n")
			return nil, fmt.Errorf("%s: invalid YAML: %s", file, first)
		}
		for _, doc := range f.Docs {
			if len(ast.Filter(ast.AliasType, doc)) > 0 {
				return nil, fmt.Errorf("%s: has YAML aliases, which Tenon does not import", file)
			}
		}
		if err := yaml.Unmarshal(text, &all); err != nil {
			first, _, _ := strings.Cut(err.Error(), "\n")
			return nil, fmt.Errorf("%s: invalid YAML: %s", file, first)
		}
		return all, nil
	})
}

func convert(file string, decode func([]byte) (map[string]any, error)) (node, error) {
	text, err := readAll(file, maxForeign)
	if err != nil {
		return node{}, err
	}
	if bytes.Count(text, []byte("["))+bytes.Count(text, []byte("{")) > maxBrackets {
		return node{}, fmt.Errorf("%s has more than %d brackets", file, maxBrackets)
	}
	all, err := decode(bytes.TrimPrefix(text, []byte("\ufeff")))
	if err != nil {
		return node{}, err
	}
	if all == nil {
		all = map[string]any{}
	}
	data, err := json.Marshal(all)
	if err != nil {
		return node{}, fmt.Errorf("%s: %w", file, err)
	}
	n, err := read(file, data)
	if err == nil {
		n.doc.converted = true
	}
	return n, err
}

// readForeign reads servers in the format of another program.
func readForeign(servers node, src Source, translate translation) (list []Entry, err error) {
	err = servers.eachMember(func(m member) error {
		e := Entry{Name: m.name, Source: src}
		if !m.value.doc.converted {
			e.Source.Line, _ = m.value.doc.position(m.off)
		}
		if err := e.translate(m, translate); err != nil {
			e.Err = m.value.errorf("%v", err)
		}
		list = append(list, e)
		return nil
	})
	return list, err
}

func (e *Entry) translate(m member, translate translation) error {
	if _, err := m.value.object(); err != nil {
		return errors.New("must be an object")
	}
	var server map[string]any
	if err := json.Unmarshal(m.value.raw, &server); err != nil {
		return err
	}
	warnings, err := translate(server)
	if err != nil {
		return err
	}
	data, err := json.Marshal(server)
	if err != nil {
		return err
	}
	root, err := read(m.value.doc.file, data)
	if err != nil {
		return err
	}
	root.doc.converted = true
	src := e.Source
	*e = readEntry(member{name: m.name, value: root}, src)
	e.Source = src
	e.Warnings = append(warnings, e.Warnings...)
	if e.Err != nil {
		return errors.New(strings.TrimPrefix(e.Err.Error(), m.value.doc.file+": "))
	}
	return nil
}

// rename gives a member another name, unless that is taken.
func rename(server map[string]any, from, to string) {
	if v, ok := server[from]; ok && server[to] == nil {
		server[to] = v
		delete(server, from)
	}
}

// seconds turns a number of seconds into a timeout.
func seconds(server map[string]any, name string) {
	if s, ok := server[name].(float64); ok {
		delete(server, name)
		server["timeout"] = math.Round(s * 1000)
	}
}

// pass adds variables of the environment to a table, under the names and with the
// texts that as returns.
func pass(server map[string]any, table string, variables []string, as func(variable string) (name, text string)) {
	all, _ := server[table].(map[string]any)
	if all == nil {
		all = map[string]any{}
	}
	for _, v := range variables {
		name, text := as(v)
		if _, set := all[name]; !set {
			all[name] = text
		}
	}
	if len(all) > 0 {
		server[table] = all
	}
}

// own returns a variable as an entry of a table with the same name.
func own(variable string) (name, text string) { return variable, "${" + variable + "}" }

// names returns a list of names, which may be tables with a name, and removes it.
func names(server map[string]any, member string) (list []string) {
	all, _ := server[member].([]any)
	delete(server, member)
	for _, v := range all {
		if table, ok := v.(map[string]any); ok {
			v = table["name"]
		}
		if name, ok := v.(string); ok {
			list = append(list, name)
		}
	}
	return list
}

// eachText changes the texts in a value.
func eachText(v any, change func(string) string) any {
	switch v := v.(type) {
	case string:
		return change(v)
	case []any:
		for i := range v {
			v[i] = eachText(v[i], change)
		}
	case map[string]any:
		for name := range v {
			v[name] = eachText(v[name], change)
		}
	}
	return v
}

// verbatim makes texts that a program uses as they are safe from expansion.
func verbatim(text string) string { return strings.ReplaceAll(text, "${", "$${") }

// fromCodex translates a table below mcp_servers in the config.toml of Codex, which
// expands no variables.
func fromCodex(server map[string]any) (warnings []string, err error) {
	eachText(server, verbatim)
	rename(server, "http_headers", "headers")
	seconds(server, "tool_timeout_sec")
	pass(server, "env", names(server, "env_vars"), own)
	if token, ok := server["bearer_token_env_var"].(string); ok {
		delete(server, "bearer_token_env_var")
		pass(server, "headers", []string{token}, func(v string) (string, string) { return "Authorization", "Bearer ${" + v + "}" })
	}
	if headers, ok := server["env_http_headers"].(map[string]any); ok {
		delete(server, "env_http_headers")
		for _, name := range slices.Sorted(maps.Keys(headers)) {
			if variable, ok := headers[name].(string); ok {
				pass(server, "headers", []string{variable}, func(v string) (string, string) { return name, "${" + v + "}" })
			}
		}
	}
	if scopes, ok := server["scopes"]; ok {
		delete(server, "scopes")
		server["oauth"] = map[string]any{"scopes": scopes}
	}
	for _, name := range []string{"startup_timeout_sec", "startup_timeout_ms", "required", "supports_parallel_tool_calls", "experimental_environment"} {
		delete(server, name) // how Codex runs it
	}
	return nil, nil
}

// dollar finds the variables of Gemini without braces.
var dollar = regexp.MustCompile(`\$([A-Za-z_][A-Za-z0-9_]*)`)

// fromGemini translates an entry of mcpServers in the settings.json of Gemini.
func fromGemini(server map[string]any) (warnings []string, err error) {
	eachText(server, func(text string) string { return dollar.ReplaceAllString(text, "$${$1}") })
	if _, ok := server["httpUrl"]; ok {
		rename(server, "httpUrl", "url")
		server["type"] = "http"
	} else if _, ok := server["url"]; ok && server["type"] == nil {
		server["type"] = "sse"
	}
	if o, ok := server["oauth"].(map[string]any); ok {
		for _, name := range []string{"enabled", "authorizationUrl", "tokenUrl", "registrationUrl", "audiences", "tokenParamName"} {
			delete(o, name) // they are discovered
		}
		if len(o) == 0 {
			delete(server, "oauth")
		}
	}
	if kind, ok := server["authProviderType"].(string); ok && kind != "dynamic_discovery" {
		warnings = append(warnings, fmt.Sprintf("authProviderType %q is not supported; log in with oauth, or set a header", kind))
	}
	delete(server, "authProviderType")
	return warnings, nil
}

// braced finds the variables of opencode.
var braced = regexp.MustCompile(`\{(env|file):([^{}]*)\}`)

// fromOpencode translates an entry of mcp in the opencode.json of opencode.
func fromOpencode(server map[string]any) (warnings []string, err error) {
	eachText(server, func(text string) string {
		return braced.ReplaceAllStringFunc(verbatim(text), func(v string) string {
			if part := braced.FindStringSubmatch(v); part[1] == "env" {
				return "${" + part[2] + "}"
			}
			warnings = append(warnings, fmt.Sprintf("%s is not supported: put the secret into a variable, and use ${VARIABLE}", v))
			return v
		})
	})
	switch server["type"] {
	case "local":
		server["type"] = "stdio"
	case "remote":
		server["type"] = "http"
	}
	if words, ok := server["command"].([]any); ok && len(words) > 0 {
		server["command"], server["args"] = words[0], words[1:]
	}
	rename(server, "environment", "env")
	if server["oauth"] == false {
		delete(server, "oauth")
	}
	return warnings, nil
}

// fromGoose translates an extension in the config.yaml of goose.
func fromGoose(server map[string]any) (warnings []string, err error) {
	if inner, ok := server["config"].(map[string]any); ok { // an older form
		enabled := server["enabled"]
		clear(server)
		maps.Copy(server, inner)
		server["enabled"] = enabled
	}
	kind, _ := server["type"].(string)
	secrets := names(server, "env_keys")
	switch kind {
	case "stdio": // whose texts are used as they are
		eachText(server, verbatim)
		rename(server, "cmd", "command")
		rename(server, "envs", "env")
		pass(server, "env", secrets, own)
	case "sse", "streamable_http": // whose headers may have ${VARIABLE}
		rename(server, "uri", "url")
		delete(server, "envs")
	default:
		return nil, fmt.Errorf("%w: extensions of type %q run only in goose", errNotServer, kind)
	}
	seconds(server, "timeout")
	if tools, ok := server["available_tools"].([]any); ok && len(tools) == 0 { // all
		delete(server, "available_tools")
	}
	if len(secrets) > 0 {
		warnings = append(warnings, fmt.Sprintf("goose keeps %s in its keyring: set it in the environment, too", strings.Join(secrets, ", ")))
	}
	for _, name := range []string{"name", "display_name", "description", "bundled", "socket"} {
		delete(server, name)
	}
	return warnings, nil
}

// fromWindsurf translates an entry of mcpServers in the mcp_config.json of Windsurf.
func fromWindsurf(server map[string]any) ([]string, error) {
	rename(server, "serverUrl", "url")
	return nil, nil
}

// fromZed translates a context server in the settings.json of Zed, which expands no
// variables.
func fromZed(server map[string]any) ([]string, error) {
	eachText(server, verbatim)
	if c, ok := server["command"].(map[string]any); ok { // an older form
		rename(c, "path", "command")
		delete(server, "command")
		maps.Copy(server, c)
	}
	if server["command"] == nil && server["url"] == nil {
		return nil, fmt.Errorf("%w: it is an extension of Zed", errNotServer)
	}
	for _, name := range []string{"source", "settings", "remote"} {
		delete(server, name)
	}
	return nil, nil
}
