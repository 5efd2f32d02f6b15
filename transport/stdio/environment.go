package stdio

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
)

// inherited lists the variables that a server inherits by default, for Unix and
// for Windows: those that programs need to run and that rarely hold secrets.
var inherited = map[bool][]string{
	false: {
		"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_*", "TERM", "TMPDIR", "TZ",
	},
	true: {
		"APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PATHEXT",
		"PROCESSOR_ARCHITECTURE", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP",
		"USERNAME", "USERPROFILE", "WINDIR",
	},
}

// environment returns the inherited variables of own and those of the command. On
// Windows, names are case-insensitive.
func (c *Command) environment(own []string) ([]string, error) {
	return c.environmentOn(own, runtime.GOOS == "windows")
}

func (c *Command) environmentOn(own []string, windows bool) ([]string, error) {
	fold := func(name string) string { return name }
	if windows {
		fold = strings.ToUpper
	}
	set := make(map[string]bool, len(c.Env))
	var env []string
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		value := c.Env[name]
		switch {
		case name == "" || strings.ContainsAny(name, "=\x00"):
			return nil, fmt.Errorf("environment variable name %q is not usable: it must not be empty nor contain '=' or NUL", name)
		case strings.ContainsRune(value, 0):
			return nil, fmt.Errorf("the value of environment variable %s contains a NUL byte", name)
		case set[fold(name)]:
			return nil, fmt.Errorf("environment variable %s is set twice, in different case", name)
		}
		set[fold(name)] = true
		env = append(env, name+"="+value)
	}
	var passed []string
	for _, entry := range own {
		name, value, ok := strings.Cut(entry, "=")
		// Exported shell functions are not inherited.
		if !ok || name == "" || set[fold(name)] || strings.HasPrefix(value, "()") {
			continue
		}
		if matches(inherited[windows], name, fold) || matches(c.InheritEnv, name, fold) {
			passed = append(passed, entry)
		}
	}
	return append(passed, env...), nil
}

// matches reports whether a pattern is the name, or a prefix of it with "*".
func matches(patterns []string, name string, fold func(string) string) bool {
	for _, p := range patterns {
		prefix, open := strings.CutSuffix(p, "*")
		if open && strings.HasPrefix(fold(name), fold(prefix)) || !open && fold(name) == fold(p) {
			return true
		}
	}
	return false
}
