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

// sensitive are the names that other programs run, or trust as settings of
// theirs, without asking: who may write them may do anything. A name counts at
// any depth, and with everything below it.
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

// Sensitive returns the names that can be written only when
// [Config.AllowSensitive] has them.
func Sensitive() []string { return slices.Clone(sensitive) }

// guard refuses to change what is sensitive, and the roots themselves.
func (f *files) guard(p place) error {
	if p.rel == "." {
		return denied("%s is an allowed directory itself: it can be neither replaced, nor moved, nor deleted", p)
	}
	for _, name := range sensitive {
		rel := p.rel
		if strings.Contains(name, "/") { // the root may be its first part
			rel = path.Join(filepath.Base(p.root.real), rel)
		}
		if f.allowsSensitive(name) || !touches(rel, name) {
			continue
		}
		return denied("%s is or lies in %s, which other programs run or trust: it can be changed only if the server is configured to (AllowSensitive %q, or allow=%s)", p, name, name, name)
	}
	return nil
}

func (f *files) allowsSensitive(name string) bool {
	return slices.Contains(f.AllowSensitive, "*") || slices.Contains(f.AllowSensitive, name)
}

// touches reports whether a path is a sensitive name or lies below it.
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

// matching counts how many names are the same from the start on.
func matching(have, want []string) int {
	n := 0
	for n < len(have) && n < len(want) && sameName(have[n], want[n]) {
		n++
	}
	return n
}

// guardMove refuses to move a directory to where what is in it becomes
// sensitive: who moves one with fish in it to .config has made .config/fish.
func (f *files) guardMove(from, to place) error {
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

// sameName compares a name with a sensitive one as the most forgiving file
// systems would: without regard to case, to dots and spaces at the end, to
// streams, to characters that cannot be seen, and to short names.
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

// shortForm fits the short names of Windows, such as GIT~1.
var shortForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([^.~]{1,6})~\d+$`) })

// newName refuses names that nobody should make: they break lists that have a
// line for each file, or were meant as a path of another system.
func newName(p place) error {
	for part := range strings.SplitSeq(p.rel, "/") {
		if strings.ContainsFunc(part, unicode.IsControl) {
			return fmt.Errorf("the name %q has a line break or another control character in it: choose a name without", part)
		}
		if strings.Contains(part, `\`) {
			return fmt.Errorf(`the name %q has a backslash in it: separate directories with /`, part)
		}
		if len(part) > 255 {
			return fmt.Errorf("the name that begins with %q is longer than 255 bytes", part[:40])
		}
		if isOurs(part) {
			return fmt.Errorf("names such as %q are used by this server while it writes: choose another", part)
		}
	}
	return nil
}
