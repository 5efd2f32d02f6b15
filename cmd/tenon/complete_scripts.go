package main

import (
	"bytes"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// bashRequest is the hidden command that the script for bash runs.
const bashRequest = "__completeBash"

// completing reports whether a command line asks for completion.
func completing(first string) bool {
	return first == cobra.ShellCompRequestCmd || first == cobra.ShellCompNoDescRequestCmd
}

// bashScript needs nothing but bash 3.2. Bash splits words at ":" and "=", so
// tenon gets the line itself and answers with what readline replaces: a line that
// says what kind of words there are, and the words.
const bashScript = `# bash completion for tenon: source this file. It needs no other package.
_tenon() {
    local kind word reply
    COMPREPLY=()
    reply=$("${1/#\~/$HOME}" ` + bashRequest + ` "${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null </dev/null)
    {
        IFS= read -r kind
        while IFS= read -r word; do
            COMPREPLY+=("$word")
        done
    } <<<"$reply"
    case $kind in
    words) compopt +o default +o bashdefault 2>/dev/null ;;
    folders) compopt +o nospace +o default +o bashdefault -o dirnames 2>/dev/null ;;
    *) compopt +o nospace 2>/dev/null ;;
    esac
}
complete -o bashdefault -o default -o nospace -F _tenon tenon
`

const zshScript = `#compdef tenon
# zsh completion for tenon: put this file as _tenon into a folder of $fpath, or
# source it after compinit.
_tenon() {
    local -a lines names shown
    local line
    integer kind
    lines=("${(@f)$("${(Q)words[1]}" __complete "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null </dev/null)}")
    [[ ${lines[-1]} == :<-> ]] || return 1
    kind=${lines[-1]#:}
    for line in "${(@)lines[1,-2]}"; do
        names+=("${line%%$'\t'*}")
        shown+=("${line/$'\t'/  -- }")
    done
    if (( ${#names} )); then
        if (( kind & 2 )); then
            compadd -S '' -d shown -a names
        else
            compadd -d shown -a names
        fi
    elif (( kind & 16 )); then
        _files -/
    elif ! (( kind & 4 )); then
        _files
    fi
}
if [[ ${funcstack[1]} == _tenon ]]; then
    _tenon "$@"
else
    compdef _tenon tenon
fi
`

const fishScript = `# fish completion for tenon: source this file, or save it as
# ~/.config/fish/completions/tenon.fish.
function __tenon_complete
    set -l words (commandline -opc)
    set -l current (string replace -r '^["\']' '' -- (commandline -ct))
    set -l lines ($words[1] __complete $words[2..-1] "$current" 2>/dev/null </dev/null)
    set -l kind (string replace ':' '' -- $lines[-1])
    if test (count $lines) -gt 1
        printf '%s\n' $lines[1..-2]
    else if contains -- "$kind" 16 20
        __fish_complete_directories "$current"
    else if contains -- "$kind" 0 1 2
        __fish_complete_path "$current"
    end
end
complete -c tenon -f -a '(__tenon_complete)'
`

// scripts are the completion scripts by shell. An empty one is cobra's.
var scripts = map[string]string{"bash": bashScript, "zsh": zshScript, "fish": fishScript, "powershell": ""}

func scriptNames() iter.Seq[string] { return maps.Keys(scripts) }

func (p *program) completionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print a completion script for bash, zsh, fish or powershell",
		Long: `Print a script that completes tenon's command lines: commands, flags and their
values, servers, and a server's tools, arguments, enum values, resource URIs and
prompts. The scripts need no other package.

  bash        source <(tenon completion bash)                in ~/.bashrc
  zsh         source <(tenon completion zsh)                 in ~/.zshrc, after compinit
  fish        tenon completion fish | source                 in ~/.config/fish/config.fish
  powershell  tenon completion powershell | Out-String | Invoke-Expression

To complete names from a server, Tab connects to it for at most ` + completionLimit.String() + `.
A server from a project file is not started until you approve it.`,
		Example: "  tenon completion bash\n  tenon completion zsh > _tenon",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("missing SHELL: bash, zsh, fish or powershell")
			}
			text, ok := scripts[args[0]]
			switch {
			case !ok:
				return usagef("unknown shell %q%s", args[0], suggest(args[0], slices.Sorted(scriptNames())))
			case text == "":
				return cmd.Root().GenPowerShellCompletionWithDesc(p.out)
			}
			_, err := fmt.Fprint(p.out, text)
			return err
		},
	}
}

func (p *program) completeBashCommand() *cobra.Command {
	return &cobra.Command{
		Use: bashRequest + " LINE BREAKS", Short: "Complete a line of bash", Hidden: true, DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usagef("this command is for the script of tenon completion bash")
			}
			return p.completeBash(cmd, args[0], args[1])
		},
	}
}

// completeBash completes the line up to the cursor. Breaks are the characters
// that readline splits words at.
func (p *program) completeBash(cmd *cobra.Command, line, breaks string) error {
	l := parseBash(line, breaks)
	if len(l.done) == 0 {
		return usagef("no command in the line")
	}
	var out bytes.Buffer
	sub := &program{in: p.in, out: &out, err: p.err, flags: p.flags, ctx: cmd.Context()}
	words := append([]string{cobra.ShellCompNoDescRequestCmd}, append(l.done[1:], l.word)...)
	if err := sub.rootFor(words[0], words).ExecuteContext(cmd.Context()); err != nil {
		return err
	}
	all := strings.Split(strings.TrimSpace(out.String()), "\n")
	number, err := strconv.Atoi(strings.TrimPrefix(all[len(all)-1], ":"))
	if err != nil {
		return fmt.Errorf("read the candidates: %w", err)
	}
	all, kind := all[:len(all)-1], cobra.ShellCompDirective(number)
	switch {
	case kind&cobra.ShellCompDirectiveFilterDirs != 0:
		fmt.Fprintln(p.out, "folders")
	case kind&cobra.ShellCompDirectiveNoFileComp != 0 || len(all) > 0:
		fmt.Fprintln(p.out, "words")
	default:
		fmt.Fprintln(p.out, "files")
	}
	for _, one := range all {
		if text, ok := l.insert(one, len(all) == 1); ok {
			fmt.Fprintln(p.out, text)
		}
	}
	return nil
}

// A bashLine is a command line of bash up to the cursor, as far as completion
// needs to understand it. Nothing in it is expanded.
type bashLine struct {
	done  []string // the words that are complete, without their quotes
	word  string   // the word at the cursor, without its quotes
	kept  int      // bytes of word that stand before what readline replaces
	quote byte     // the quote that is open at the cursor; 0 if none is
}

// parseBash splits a line as bash does, and finds where the word begins that
// readline replaces: after the quote that is open, or else after the last
// character of breaks that is not quoted.
func parseBash(line, breaks string) bashLine {
	var l bashLine
	var word strings.Builder
	begun := false
	for i := 0; i < len(line); i++ {
		c := line[i]
		space := c == ' ' || c == '\t' || c == '\n'
		begun = begun || !space || l.quote != 0
		switch {
		case l.quote != 0 && c == l.quote:
			l.quote = 0
		case c == '\\' && l.quote != '\'' && i+1 < len(line) && (l.quote == 0 || strings.IndexByte("$`\"\\", line[i+1]) >= 0):
			i++
			word.WriteByte(line[i])
		case l.quote != 0:
			word.WriteByte(c)
		case c == '\'' || c == '"':
			l.quote, l.kept = c, word.Len()
		case space:
			if begun {
				l.done = append(l.done, word.String())
			}
			word.Reset()
			begun, l.kept = false, 0
		default:
			word.WriteByte(c)
			if strings.IndexByte(breaks, c) >= 0 {
				l.kept = word.Len()
			}
		}
	}
	l.word = word.String()
	return l
}

// insert is the text that readline puts in the place of its word for a proposal.
// It is false for a proposal that cannot stand within the open quote. What a
// server proposes is quoted: it must not run when the line is entered.
func (l *bashLine) insert(proposal string, only bool) (string, bool) {
	if len(proposal) < l.kept {
		return "", false
	}
	text := proposal[l.kept:]
	switch l.quote {
	case '\'':
		return text, !strings.Contains(text, "'")
	case '"':
		return strings.NewReplacer("$", `\$`, "`", "\\`", `"`, `\"`, `\`, `\\`).Replace(text), !strings.Contains(text, "!")
	}
	var b strings.Builder
	for _, c := range []byte(text) {
		if c < 0x80 && (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && strings.IndexByte("_@%+=:,./-", c) < 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	if only && !goesOn(proposal) {
		b.WriteByte(' ')
	}
	return b.String(), true
}
