package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"strings"
)

// fromFile starts the text displayed instead of a value from an envFile.
const fromFile = "(from "

// envFile adds the variables of the envFile to the server's environment. Those of
// the entry take precedence.
func (x *expander) envFile(s *Server) {
	name := x.fill("envFile", x.e.EnvFile)
	if name == "" {
		return
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(x.c.project, name)
	}
	data, err := readAll(name, 1<<20)
	if err != nil {
		x.fail("envFile", "is not readable: %v", err)
		return
	}
	env, err := parseEnv(string(data))
	if err != nil {
		x.fail("envFile", "%s:%v", name, err)
		return
	}
	for n, v := range env {
		x.addSecret(n, v, false)
		if _, set := s.Env[n]; !set {
			x.shown["env."+n] = fromFile + x.shown["envFile"] + ")"
		}
	}
	maps.Copy(env, s.Env)
	s.Env, s.envData = env, data
}

// parseEnv reads lines of NAME=value. It ignores empty lines, lines that start
// with #, and "export" before a name. A value may be in single quotes, or in double
// quotes with the escapes \n, \", \\ and \$; without quotes it ends before " #".
// Variables in values are not expanded.
func parseEnv(text string) (map[string]string, error) {
	env := map[string]string{}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(strings.TrimPrefix(line, "export "), "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || !isName(name) {
			return nil, fmt.Errorf("%d: must be NAME=value", i+1)
		}
		switch {
		case strings.HasPrefix(value, `"`):
			if value, ok = unquote(value); !ok {
				return nil, fmt.Errorf("%d: unclosed quote", i+1)
			}
		case strings.HasPrefix(value, "'"):
			if value, _, ok = strings.Cut(value[1:], "'"); !ok {
				return nil, fmt.Errorf("%d: unclosed quote", i+1)
			}
		default:
			value, _, _ = strings.Cut(value, " #")
			value = strings.TrimSpace(value)
		}
		if strings.ContainsRune(value, 0) {
			return nil, fmt.Errorf("%d: the value has a zero byte", i+1)
		}
		env[name] = value
	}
	return env, nil
}

// unquote returns the text in double quotes at the start of s.
func unquote(s string) (string, bool) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return b.String(), true
		case c == '\\' && i+1 < len(s):
			i++
			switch s[i] {
			case 'n':
				b.WriteByte('\n')
			case '"', '\\', '$':
				b.WriteByte(s[i])
			default:
				b.WriteByte('\\')
				b.WriteByte(s[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", false
}
