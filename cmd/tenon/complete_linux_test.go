package main

import (
	"testing"

	"github.com/tenon-mcp/tenon/internal/needtest"
	"github.com/tenon-mcp/tenon/internal/ptytest"
)

// C16: the scripts work in the shells themselves, at a terminal, and need
// nothing that those do not bring along: Tab completes a whole call.
func TestCompletionInShells(t *testing.T) {
	for _, c := range []struct {
		shell       []string
		setUp       string
		interactive string // what is typed
	}{
		{[]string{"bash", "--norc", "--noprofile", "-i"}, "source <(tenon completion bash)", "tenon cal\tbuil\tcal\tad\ta\t20 b\t22 --form\tjsonl\r"},
		{[]string{"zsh", "-f", "-i"}, "autoload -U compinit; compinit -u -D; source <(tenon completion zsh)", "tenon call builtin:cal\tad\ta\t20 b\t22 --form\tjsonl\r"},
		{[]string{"fish", "--no-config", "-i"}, "tenon completion fish | source", "tenon call builtin:cal\tad\ta\t20 b\t22 --form\tjsonl\r"},
	} {
		t.Run(c.shell[0], func(t *testing.T) {
			path := needtest.Program(t, c.shell[0])
			s := ptytest.New(t)
			cmd := binary(t)
			script(t, cmd.Dir, "tenon", "exec "+cmd.Path+" \"$@\"\n")
			set(cmd, "PATH", cmd.Dir+":/usr/bin:/bin")
			set(cmd, "TERM", "xterm")
			cmd.Path, cmd.Args = path, c.shell
			atTerminal(t, cmd, s.TTY)
			s.Press(c.setUp + "; echo read''y\r")
			s.Sees("ready")
			s.Press(c.interactive)
			s.Sees(`"result":42`)
			s.Press("exit\r")
			cmd.Wait()
		})
	}
}
