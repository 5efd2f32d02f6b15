package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/app/config"
)

// notRun are beginnings and parts of examples that this test does not run, and
// why.
var notRun = map[string]string{
	"tenon auth key":      "needs a keyring and a key",
	"npx ":                "fetches a program from the net",
	"https://example.com": "is a server on the net",
	"--registry https://": "is a registry on the net",
	"--model anthropic":   "needs a model on the net",
	"summarise README.md": "needs a language model: words cannot be matched to a tool",
	"tenon gateway":       "runs until it is interrupted",
	"tenon listen":        "runs until it is interrupted",
	"tenon upgrade":       "asks on the net",
	"--http ":             "runs until it is interrupted",
}

// examples are the lines that the help texts show, by command.
func examples(t *testing.T) map[string][]string {
	all := map[string][]string{}
	for _, c := range allCommands((&program{}).root("")) {
		for line := range strings.Lines(c.Example + "\n" + c.Long) {
			indented, line := strings.HasPrefix(line, "  "), strings.TrimSpace(line)
			if indented && (strings.HasPrefix(line, "tenon ") || strings.Contains(line, "| tenon ")) {
				all[c.CommandPath()] = append(all[c.CommandPath()], line)
			}
		}
	}
	if len(all) < 15 {
		t.Fatalf("only %v have examples", slices.Sorted(maps.Keys(all)))
	}
	return all
}

// C14: every example of the help that can be run without a network or a person
// does what it says: it ends with exit code 0.
func TestExamplesOfTheHelpWork(t *testing.T) {
	home := t.TempDir()
	bin := filepath.Join(home, "bin")
	if err := os.MkdirAll(filepath.Join(home, "work", "notes"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	script(t, bin, "tenon", "exec "+binary(t).Path+" \"$@\"\n")
	write(t, filepath.Join(home, "work", "README.md"), "# Read me\n")
	write(t, filepath.Join(home, "work", "notes", "Plan.md"), "# Plan\n\nThe budget.\n")
	write(t, filepath.Join(home, "work", "server.json"), `{"name":"com.example/weather","version":"1.0.0","description":"Forecasts","packages":[{"registryType":"npm","identifier":"weather","version":"1.0.0","transport":{"type":"stdio"},"packageArguments":[{"type":"named","name":"--units","isRequired":true}]}]}`)
	sh := func(line string) (int, string) {
		cmd := binary(t)
		cmd.Env = slices.DeleteFunc(cmd.Env, func(e string) bool {
			name, _, _ := strings.Cut(e, "=")
			return strings.HasSuffix(name, "_API_KEY") || strings.HasSuffix(name, "_BASE_URL") || name == "OLLAMA_HOST"
		})
		set(cmd, "PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
		set(cmd, "TENON_CONFIG_DIR", filepath.Join(home, "config"))
		set(cmd, "HOME", home)
		var err error
		if cmd.Path, err = exec.LookPath("sh"); err != nil {
			t.Skip("there is no sh")
		}
		cmd.Args, cmd.Dir = []string{"sh", "-c", line}, filepath.Join(home, "work")
		code, out, errs := output(t, cmd)
		return code, out + errs
	}
	if code, text := sh("tenon config add notes 'builtin:notes?vault=notes'"); code != 0 {
		t.Fatal(text)
	}
	all, ran, used := examples(t), 0, map[string]bool{}
	for _, command := range slices.Sorted(maps.Keys(all)) {
		for _, line := range all[command] {
			left := false
			for part := range notRun {
				if strings.Contains(line, part) {
					left, used[part] = true, true
				}
			}
			if left {
				continue
			}
			ran++
			if code, text := sh(line); code != 0 {
				t.Errorf("%s: %s: exit code %d\n%s", command, line, code, text)
			}
		}
	}
	if ran < 25 || len(used) != len(notRun) {
		t.Errorf("%d examples were run; of those that are not, there are only %v", ran, used)
	}
}

// zsh expands a word with ? and fails if no file matches it, and every shell ends a
// command at &: examples have such servers in quotes.
func TestExamplesOfTheHelpQuoteServers(t *testing.T) {
	for command, lines := range examples(t) {
		for _, line := range lines {
			if unquoted.MatchString(line) {
				t.Errorf("%s: the server needs quotes: %s", command, line)
			}
		}
	}
}

var unquoted = regexp.MustCompile(`(^|\s)builtin:\w+\?`)

// docs/gateway.md has every program whose configuration --from can read.
func TestDocsNameTheProgramsOfFrom(t *testing.T) {
	data, err := os.ReadFile("../../docs/gateway.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for _, app := range config.Apps {
		app = strings.TrimSuffix(strings.TrimSuffix(app, "-desktop"), "-code")
		if !regexp.MustCompile("`--from` reads the configuration of [^;]*`" + app + "`").MatchString(text) {
			t.Errorf("docs/gateway.md does not say that --from reads the configuration of %s", app)
		}
	}
}
