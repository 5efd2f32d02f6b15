package fs

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// sensitive lists the names whose content other programs run or trust
// without asking. Writing one of them may allow to run any code. A name
// counts at any depth, with everything below it.
var sensitive = []string{
	// version control: hooks, and settings that name programs
	".git", ".hg", ".svn", ".husky", ".gitconfig",
	// servers and permissions of agents and editors
	".mcp.json", ".claude", ".claude.json", ".codex", ".cursor", ".gemini", ".vscode", ".idea", ".zed", ".devcontainer", ".windsurf", ".kiro",
	"claude_desktop_config.json", "tenon.json", ".config/tenon", "Application Support/tenon", "Roaming/tenon",
	// shells
	".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile",
	".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login", ".logout", ".inputrc", ".envrc",
	".xprofile", ".xsession", ".xsessionrc", ".xinitrc", ".pam_environment", ".vimrc", ".exrc", ".emacs",
	".config/fish", ".config/autostart", ".config/systemd", ".config/environment.d", ".config/git", "Library/LaunchAgents",
	// keys and credentials
	".ssh", ".gnupg", ".netrc", ".npmrc", ".yarnrc.yml", ".pypirc", ".cargo", ".docker", ".kube", ".aws",
}

// Sensitive returns the names that cannot be written unless
// [Config.AllowSensitive] lists them.
func Sensitive() []string { return slices.Clone(sensitive) }

// guard returns an error if p is sensitive or a root.
func (f *files) guard(p location) error {
	if p.rel == "." {
		return denied("%s is an allowed directory; it cannot be replaced, moved or deleted", p)
	}
	for _, name := range sensitive {
		rel := p.rel
		if strings.Contains(name, "/") { // the root may be the first element of the name
			rel = path.Join(filepath.Base(p.root.real), rel)
		}
		if f.allowsSensitive(name) || !touches(rel, name) {
			continue
		}
		return denied("%s is %s or in it, which other programs run or trust; to change it, the server needs the setting AllowSensitive %q (allow=%s)", p, name, name, name)
	}
	return nil
}

func (f *files) allowsSensitive(name string) bool {
	return slices.Contains(f.AllowSensitive, "*") || slices.Contains(f.AllowSensitive, name)
}

// touches reports whether a path is a sensitive name or below one.
func touches(rel, name string) bool {
	want := strings.Split(name, "/")
	have := strings.Split(rel, "/")
	for at := 0; at+len(want) <= len(have); at++ {
		if matching(have[at:], want) == len(want) {
			return true
		}
	}
	return false
}

// matching returns the number of leading elements that are equal.
func matching(have, want []string) int {
	n := 0
	for n < len(have) && n < len(want) && sameName(have[n], want[n]) {
		n++
	}
	return n
}

// guardMove returns an error if the move would make a file sensitive, such
// as a move of a directory that contains fish to .config.
func (f *files) guardMove(from, to location) error {
	have := strings.Split(to.rel, "/")
	for _, name := range sensitive {
		want := strings.Split(name, "/")
		for at := range have {
			n := matching(have[at:], want)
			if n == 0 || n < len(have)-at || n == len(want) || f.allowsSensitive(name) {
				continue
			}
			rest := path.Join(want[n:]...)
			if _, err := from.root.dir.Lstat(path.Join(from.rel, rest)); err == nil {
				return f.guard(to.join(rest))
			}
		}
	}
	return nil
}

// sameName compares a name with a sensitive name as the most lenient file
// systems do: it ignores case, dots and spaces at the end, alternate
// streams, invisible characters, and short names.
func sameName(name, want string) bool {
	name, _, _ = strings.Cut(name, ":")
	name = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, name)
	name = strings.TrimRight(name, ". ")
	if strings.EqualFold(name, want) {
		return true
	}
	short := shortForm().FindStringSubmatch(name)
	if short == nil {
		return false
	}
	letters := strings.ReplaceAll(want, ".", "")
	return strings.HasPrefix(strings.ToLower(letters), strings.ToLower(short[1]))
}

// shortForm matches 8.3 names of Windows such as GIT~1.
var shortForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([^.~]{1,6})~\d+$`) })

// newName rejects names that would break line-based listings or are paths of
// another system.
func newName(p location) error {
	for part := range strings.SplitSeq(p.rel, "/") {
		if strings.ContainsFunc(part, unicode.IsControl) {
			return fmt.Errorf("the name %q contains a control character; choose another name", part)
		}
		if strings.Contains(part, `\`) {
			return fmt.Errorf(`the name %q contains a backslash; separate directories with /`, part)
		}
		if len(part) > 255 {
			return fmt.Errorf("the name starting with %q is longer than 255 bytes", part[:40])
		}
		if isReserved(part) {
			return fmt.Errorf("names such as %q are reserved for temporary files; choose another name", part)
		}
	}
	return nil
}
