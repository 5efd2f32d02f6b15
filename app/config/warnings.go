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

// refusal says why a project's server may never be opened, or nothing.
func refusal(s Server) string {
	if s.Kind != Stdio || filepath.IsAbs(s.Command) {
		return ""
	}
	if strings.ContainsAny(s.Command, `/\`) || strings.HasPrefix(s.Command, ".") || filepath.VolumeName(s.Command) != "" {
		return fmt.Sprintf("the command %s is relative, so what it runs depends on the folder: a project file must name a program in PATH or write ${workspaceFolder}/…", quote(visible.Line(s.Command)))
	}
	return ""
}

// warnings is what a person should know about a server before it is opened.
func warnings(s Server) []string {
	var list []string
	warn := func(format string, args ...any) { list = append(list, visible.Line(fmt.Sprintf(format, args...))) }
	e := s.Entry()
	e.texts(func(place, text string) {
		if found := visible.Suspicious(text); len(found) > 0 {
			warn("%s has %s", place, strings.Join(found, ", "))
		}
	})
	slices.Sort(list) // a table has no order
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
		warn("the builtin server is given: %s", s.CommandLine())
	}
	for _, name := range slices.Sorted(maps.Keys(e.variables())) {
		to := "the program"
		if s.Kind == HTTP || s.Kind == SSE {
			u, _ := url.Parse(s.URL)
			to = u.Host
		}
		warn("it is given the value of %s, which goes to %s", name, to)
	}
	return list
}

// variables that make programs run or trust something else.
var dangerous = map[string]string{
	"LD_*": "makes programs load other code", "DYLD_*": "makes programs load other code",
	"NODE_OPTIONS": "makes Node.js load other code", "NODE_PATH": "makes Node.js load other code", "PYTHON*": "makes Python load other code",
	"PERL5OPT": "makes Perl load other code", "PERL5LIB": "makes Perl load other code", "RUBYOPT": "makes Ruby load other code", "RUBYLIB": "makes Ruby load other code",
	"JAVA_TOOL_OPTIONS": "makes Java load other code", "_JAVA_OPTIONS": "makes Java load other code", "JDK_JAVA_OPTIONS": "makes Java load other code",
	"BASH_ENV": "makes shells run a file", "ENV": "makes shells run a file", "PROMPT_COMMAND": "makes shells run a command", "SHELL": "chooses another shell", "IFS": "changes how shells read",
	"GIT_*": "can make Git run a command", "EDITOR": "can make programs run a command", "PAGER": "can make programs run a command", "BROWSER": "can make programs run a command",
	"HTTP_PROXY": "sends traffic to another machine", "HTTPS_PROXY": "sends traffic to another machine", "ALL_PROXY": "sends traffic to another machine",
	"SSL_CERT_*": "changes who is trusted on the net", "NODE_EXTRA_CA_CERTS": "changes who is trusted on the net", "NODE_TLS_REJECT_UNAUTHORIZED": "switches off the check of who is on the other side",
	"NPM_CONFIG_*": "changes where packages come from", "PIP_*": "changes where packages come from", "UV_*": "changes where packages come from", "GOPROXY": "changes where packages come from", "GOFLAGS": "changes what Go builds",
	"HOME": "makes programs read other settings", "XDG_CONFIG_HOME": "makes programs read other settings",
}

func dangerousVariable(name, value string) string {
	upper := strings.ToUpper(name)
	if upper == "PATH" {
		for _, dir := range filepath.SplitList(value) {
			if !filepath.IsAbs(dir) {
				return fmt.Sprintf("makes programs be looked for in %q, a folder that is not absolute", dir)
			}
		}
		return "changes where programs are looked for"
	}
	for pattern, why := range dangerous {
		if Glob(pattern, upper) {
			return why
		}
	}
	return ""
}

// warnCommand looks for commands that run something which no approval covers.
func warnCommand(s Server, warn func(string, ...any)) {
	program := programName(s.Command)
	if !filepath.IsAbs(s.Command) && strings.ContainsAny(s.Command, `/\`) {
		warn("the command is relative, so what it runs depends on the folder %s", s.Dir)
	}
	if program == "sudo" || program == "doas" || program == "su" || program == "pkexec" {
		warn("%s runs it with the rights of another user", program)
	}
	for i, a := range s.Args {
		if code := codeFlags[interpreter(program)]; slices.Contains(code, a) && i+1 < len(s.Args) {
			warn("%s runs the text after %s as code: %s", program, a, s.show(fmt.Sprintf("args[%d]", i+1), s.Args[i+1]))
		}
	}
	if name := fetched(program, s.Args); name != "" {
		warn("%s fetches %s from the net, in whatever version is current: what runs can change without a question", program, name)
	}
	if interpreter(program) != "" && s.Source.Project {
		for i, a := range s.Args {
			if slices.Contains(scripts, strings.ToLower(filepath.Ext(a))) && inside(filepath.Dir(s.Source.File), s.Dir, a) {
				warn("%s runs %s from the project, which can change without a question", program, s.show(fmt.Sprintf("args[%d]", i), a))
				return
			}
		}
	}
	if s.Source.Project && filepath.IsAbs(s.Command) && inside(filepath.Dir(s.Source.File), "", s.Command) {
		warn("the program is part of the project")
	}
}

// programName is the name of a program without its folder and extension.
func programName(command string) string {
	name := strings.ToLower(filepath.Base(command))
	for _, ext := range []string{".exe", ".cmd", ".bat"} {
		name = strings.TrimSuffix(name, ext)
	}
	return name
}

// scripts are the ends of names of files that interpreters run.
var scripts = []string{".js", ".mjs", ".cjs", ".ts", ".mts", ".py", ".sh", ".bash", ".rb", ".pl", ".php", ".ps1", ".bat", ".cmd"}

// codeFlags are the arguments after which programs take code.
var codeFlags = map[string][]string{
	"sh": {"-c", "-lc", "-ic", "-ec"}, "python": {"-c"}, "node": {"-e", "--eval", "-p", "--print"}, "perl": {"-e", "-E"}, "ruby": {"-e"}, "php": {"-r"},
	"deno": {"eval"}, "bun": {"-e", "--eval"}, "npx": {"-c", "--call"}, "cmd": {"/c", "/C", "/k", "/K"},
	"powershell": {"-c", "-C", "-command", "-Command", "-EncodedCommand", "-enc", "-e"}, "env": {"-S", "--split-string"},
}

// interpreter is the kind of a program that runs other code, or nothing.
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

// fetched is the package that a program such as npx fetches, if its version is
// left open.
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

// warnURL looks at where a connection goes.
func warnURL(s Server, warn func(string, ...any)) {
	u, err := url.Parse(s.URL)
	if err != nil {
		return
	}
	host := u.Hostname()
	addr, err := netip.ParseAddr(host)
	local := host == "localhost" || err == nil && addr.IsLoopback()
	if u.Scheme == "http" && !local {
		warn("http:// to %s is not encrypted: others on the way can read and change everything", u.Host)
	}
	if at := visible.AddressOf(s.URL); u.User != nil || strings.Contains(s.URL, `\`) {
		warn("the URL may not lead where it seems to: %s", at.Refused)
	}
	if err == nil && addr.IsLinkLocalUnicast() {
		warn("%s is an address where clouds keep the credentials of machines", host)
	}
}
