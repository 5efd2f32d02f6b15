package config

import (
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/visible"
)

// refusal returns why a project's server can never be approved, or "".
func refusal(s Server) string {
	if s.Kind != Stdio || filepath.IsAbs(s.Command) {
		return ""
	}
	if strings.ContainsAny(s.Command, `/\`) || strings.HasPrefix(s.Command, ".") || filepath.VolumeName(s.Command) != "" {
		return fmt.Sprintf("the command %s is a relative path, so the program depends on the folder; a project file must use a program in PATH or ${workspaceFolder}/…", quote(visible.Line(s.Command)))
	}
	return ""
}

// warnings returns what the user should know about a server before approving it.
func warnings(s Server) []string {
	var list []string
	warn := func(format string, args ...any) { list = append(list, visible.Line(fmt.Sprintf(format, args...))) }
	e := s.Entry()
	e.texts(func(place, text string) {
		if found := visible.Suspicious(text); len(found) > 0 {
			warn("%s has %s", place, strings.Join(found, ", "))
		}
	})
	slices.Sort(list) // maps have no order
	switch s.Kind {
	case Stdio:
		for _, name := range slices.Sorted(maps.Keys(s.Env)) {
			if why := dangerousVariable(name, s.Env[name]); why != "" {
				warn("env sets %s, which %s", name, why)
			}
		}
		warnCommand(s, warn)
	case HTTP, SSE:
		warnURL(s, warn)
	}
	if !s.Source.Project {
		return list
	}
	if s.Kind == Builtin {
		warn("it runs the builtin server %s", s.CommandLine())
	}
	for _, name := range slices.Sorted(maps.Keys(e.variables())) {
		to := "the program"
		if s.Kind == HTTP || s.Kind == SSE {
			u, _ := url.Parse(s.URL)
			to = u.Host
		}
		warn("the value of %s is sent to %s", name, to)
	}
	return list
}

// dangerous are variables that make programs run or trust something else.
var dangerous = map[string]string{
	"LD_*": "makes programs load other code", "DYLD_*": "makes programs load other code",
	"NODE_OPTIONS": "makes Node.js load other code", "NODE_PATH": "makes Node.js load other code", "PYTHON*": "makes Python load other code",
	"PERL5OPT": "makes Perl load other code", "PERL5LIB": "makes Perl load other code", "RUBYOPT": "makes Ruby load other code", "RUBYLIB": "makes Ruby load other code",
	"JAVA_TOOL_OPTIONS": "makes Java load other code", "_JAVA_OPTIONS": "makes Java load other code", "JDK_JAVA_OPTIONS": "makes Java load other code",
	"BASH_ENV": "makes shells run a file", "ENV": "makes shells run a file", "PROMPT_COMMAND": "makes shells run a command", "SHELL": "chooses another shell", "IFS": "changes how shells split words",
	"GIT_*": "can make Git run a command", "EDITOR": "can make programs run a command", "PAGER": "can make programs run a command", "BROWSER": "can make programs run a command",
	"HTTP_PROXY": "sends traffic to another machine", "HTTPS_PROXY": "sends traffic to another machine", "ALL_PROXY": "sends traffic to another machine",
	"SSL_CERT_*": "changes which certificates are trusted", "NODE_EXTRA_CA_CERTS": "changes which certificates are trusted", "NODE_TLS_REJECT_UNAUTHORIZED": "turns off certificate checks",
	"NPM_CONFIG_*": "changes where packages come from", "PIP_*": "changes where packages come from", "UV_*": "changes where packages come from", "GOPROXY": "changes where packages come from", "GOFLAGS": "changes what Go builds",
	"HOME": "makes programs read other settings", "XDG_CONFIG_HOME": "makes programs read other settings",
}

func dangerousVariable(name, value string) string {
	upper := strings.ToUpper(name)
	if upper == "PATH" {
		for _, dir := range filepath.SplitList(value) {
			if !filepath.IsAbs(dir) {
				return fmt.Sprintf("adds the relative folder %q to the search for programs", dir)
			}
		}
		return "changes where programs are found"
	}
	for pattern, why := range dangerous {
		if Glob(pattern, upper) {
			return why
		}
	}
	return ""
}

// warnCommand warns about commands that run code which an approval does not cover.
func warnCommand(s Server, warn func(string, ...any)) {
	program := programName(s.Command)
	if !filepath.IsAbs(s.Command) && strings.ContainsAny(s.Command, `/\`) {
		warn("the command is a relative path, so the program depends on the folder %s", s.Dir)
	}
	if program == "sudo" || program == "doas" || program == "su" || program == "pkexec" {
		warn("%s runs it as another user", program)
	}
	for i, a := range s.Args {
		if code := codeFlags[interpreter(program)]; slices.Contains(code, a) && i+1 < len(s.Args) {
			warn("%s runs the text after %s as code: %s", program, a, s.show(fmt.Sprintf("args[%d]", i+1), s.Args[i+1]))
		}
	}
	if name := fetched(program, s.Args); name != "" {
		warn("%s downloads the latest version of %s, which can change without your approval", program, name)
	}
	if interpreter(program) != "" && s.Source.Project {
		for i, a := range s.Args {
			if slices.Contains(scripts, strings.ToLower(filepath.Ext(a))) && inside(filepath.Dir(s.Source.File), s.Dir, a) {
				warn("%s runs %s from the project, which can change without your approval", program, s.show(fmt.Sprintf("args[%d]", i), a))
				return
			}
		}
	}
	if s.Source.Project && filepath.IsAbs(s.Command) && inside(filepath.Dir(s.Source.File), "", s.Command) {
		warn("the program is part of the project")
	}
}

// programName returns the name of a program without folder and extension.
func programName(command string) string {
	name := strings.ToLower(filepath.Base(command))
	for _, ext := range []string{".exe", ".cmd", ".bat"} {
		name = strings.TrimSuffix(name, ext)
	}
	return name
}

// scripts are the extensions of files that interpreters run.
var scripts = []string{".js", ".mjs", ".cjs", ".ts", ".mts", ".py", ".sh", ".bash", ".rb", ".pl", ".php", ".ps1", ".bat", ".cmd"}

// codeFlags are the flags of interpreters that take code.
var codeFlags = map[string][]string{
	"sh": {"-c", "-lc", "-ic", "-ec"}, "python": {"-c"}, "node": {"-e", "--eval", "-p", "--print"}, "perl": {"-e", "-E"}, "ruby": {"-e"}, "php": {"-r"},
	"deno": {"eval"}, "bun": {"-e", "--eval"}, "npx": {"-c", "--call"}, "cmd": {"/c", "/C", "/k", "/K"},
	"powershell": {"-c", "-C", "-command", "-Command", "-EncodedCommand", "-enc", "-e"}, "env": {"-S", "--split-string"},
}

// interpreter returns the key in codeFlags of an interpreter, or "" for other
// programs.
func interpreter(program string) string {
	switch program {
	case "sh", "bash", "zsh", "dash", "ksh", "fish", "ash":
		return "sh"
	case "pwsh", "powershell":
		return "powershell"
	case "npx", "npm", "pnpm", "bunx":
		return "npx"
	}
	if strings.HasPrefix(program, "python") {
		return "python"
	}
	if _, ok := codeFlags[program]; ok {
		return program
	}
	return ""
}

// fetched returns the package that a program such as npx downloads, if its version
// is not pinned.
func fetched(program string, args []string) string {
	switch program {
	case "npx", "bunx", "uvx", "pipx":
	default:
		return ""
	}
	for _, a := range args {
		switch {
		case strings.HasPrefix(a, "-"), a == "run":
			continue
		case strings.HasPrefix(a, "."), strings.HasPrefix(a, "/"):
			return ""
		case strings.Contains(a, "=="):
			return ""
		}
		_, version, ok := strings.Cut(strings.TrimPrefix(a, "@"), "@")
		if ok && version != "latest" && strings.ContainsAny(version, "0123456789") && !strings.ContainsAny(version, "^~*x><") {
			return ""
		}
		return a
	}
	return ""
}

// inside reports whether a path, relative to dir, is in a folder.
func inside(folder, dir, path string) bool {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

// warnURL warns about URLs that are not encrypted or misleading.
func warnURL(s Server, warn func(string, ...any)) {
	u, err := url.Parse(s.URL)
	if err != nil {
		return
	}
	host := u.Hostname()
	addr, err := netip.ParseAddr(host)
	local := host == "localhost" || err == nil && addr.IsLoopback()
	if u.Scheme == "http" && !local {
		warn("http:// to %s is not encrypted; others on the network can read and change everything", u.Host)
	}
	if at := visible.AddressOf(s.URL); u.User != nil || strings.Contains(s.URL, `\`) {
		warn("the URL may be misleading: %s", at.Refused)
	}
	if err == nil && addr.IsLinkLocalUnicast() {
		warn("%s is a link-local address, where cloud machines get their credentials", host)
	}
}
