package fs

import (
	"fmt"
	"github.com/tenon-mcp/tenon/internal/needtest"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// What is left out is what git leaves out.
func TestGitignoreAsGit(t *testing.T) {
	needtest.Program(t, "git")
	random := rand.New(rand.NewPCG(5, 6))
	pick := func(from ...string) string { return from[random.IntN(len(from))] }
	pattern := func() string {
		parts := []string{}
		for range 1 + random.IntN(3) {
			parts = append(parts, pick("a", "b", "c", "*", "?", "a*", "*.o", "**", "[ab]", "[!a]", "d.o", "{a,b}", `\a`, "a.c"))
		}
		return pick("", "", "!", "/") + strings.Join(parts, "/") + pick("", "", "/", " ", "/*", "/**")
	}
	for round := range 40 {
		tree := map[string]string{}
		for range 40 {
			name := pick("a", "b", "c", "d")
			for range random.IntN(4) {
				name += "/" + pick("a", "b", "c")
			}
			tree[name+"/"+pick("a", "d.o", "e.o", "a.c", "x")+pick("", "1")] = "x"
		}
		for range 3 {
			var lines []string
			for range 1 + random.IntN(5) {
				lines = append(lines, pattern())
			}
			tree[pick("", "a/", "b/", "a/b/")+".gitignore"] = strings.Join(lines, "\n")
		}
		for name := range tree { // no name may be a file and a directory
			for other := range tree {
				if strings.HasPrefix(other, name+"/") {
					delete(tree, other)
				}
			}
		}
		b := newBench(t, Config{}, tree)
		git := func(args ...string) string {
			cmd := exec.Command("git", append([]string{"-C", b.dir, "-c", "core.excludesFile="}, args...)...)
			cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("git %v: %v\n%s", args, err, out)
			}
			return string(out)
		}
		git("init", "-q")
		want := strings.Fields(git("ls-files", "--others", "--exclude-standard"))
		var got []string
		for name := range strings.FieldsSeq(b.says("search_files", `{"path":".","pattern":"**","gitignore":true}`)) {
			if info, err := os.Stat(name); err == nil && !info.IsDir() {
				got = append(got, strings.TrimPrefix(name, b.dir+"/"))
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			rules := ""
			for name, text := range tree {
				if strings.HasSuffix(name, ".gitignore") {
					rules += fmt.Sprintf("%s: %q\n", name, text)
				}
			}
			extra := slices.DeleteFunc(slices.Clone(got), func(n string) bool { return slices.Contains(want, n) })
			missing := slices.DeleteFunc(slices.Clone(want), func(n string) bool { return slices.Contains(got, n) })
			t.Errorf("round %d: shown though ignored: %v; not shown: %v\n%s", round, extra, missing, rules)
		}
	}
}
