package term

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/app/args"
	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/repl"
	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/mcp"
)

// completing bounds the time that a server has to list its tools for a completion.
const completing = 2 * time.Second

// mostChoices bounds a list of completions.
const mostChoices = 50

// A choice is one way to complete a word.
type choice struct {
	word  string // the completed word
	about string
	open  bool // more follows in the same word: no space after it
}

// A completion has the candidates for the word before the cursor.
type completion struct {
	from    int // the start of the word, in bytes
	choices []choice
}

// complete returns what the word before the cursor could become. It may send
// requests to servers.
func (t *talk) complete(ctx context.Context, text string, at int) completion {
	text = text[:at]
	from := strings.LastIndexAny(text, " \n\t") + 1
	word := text[from:]
	c := completion{from: from}
	switch {
	case from == 0 && strings.HasPrefix(word, "/"):
		c.choices = t.completeCommand(ctx, word)
	case strings.HasPrefix(word, "@"):
		c.choices = append(t.completeResource(ctx, word, "@"), completeFile(strings.TrimPrefix(word, "@"), "@")...)
	case strings.HasPrefix(text, "/"):
		c.choices = t.completeArgument(ctx, text[:from], word)
	}
	c.choices = slices.DeleteFunc(c.choices, func(o choice) bool { return o.word == word && !o.open })
	c.choices = c.choices[:min(len(c.choices), mostChoices)]
	return c
}

// completeCommand completes /command and /server:prompt.
func (t *talk) completeCommand(ctx context.Context, word string) []choice {
	var all []choice
	for _, c := range commands() {
		if strings.HasPrefix("/"+c.name, word) {
			all = append(all, choice{word: "/" + c.name, about: c.about})
		}
	}
	return append(all, t.completePrompt(ctx, strings.TrimPrefix(word, "/"), "/")...)
}

// completePrompt completes server:name.
func (t *talk) completePrompt(ctx context.Context, word, before string) []choice {
	var all []choice
	server, _, parted := strings.Cut(word, ":")
	for _, n := range t.names() {
		if parted && n != server || !strings.HasPrefix(n+":", word[:min(len(word), len(n)+1)]) {
			continue
		}
		has, err := t.list(ctx, n)
		if err != nil {
			continue
		}
		for _, p := range has.prompts {
			if full := n + ":" + p.Name; strings.HasPrefix(full, word) {
				all = append(all, choice{word: before + full, about: p.Description})
			}
		}
	}
	return all
}

// completeResource completes server:uri, from lists and from templates.
func (t *talk) completeResource(ctx context.Context, word, before string) []choice {
	server, uri, parted := strings.Cut(strings.TrimPrefix(word, before), ":")
	if !parted {
		var all []choice
		for _, n := range t.names() {
			if strings.HasPrefix(n, server) {
				all = append(all, choice{word: before + n + ":", open: true})
			}
		}
		return all
	}
	return t.completeURI(ctx, server, uri, before+server+":")
}

// completeFile completes the path of a file or folder. Names that begin with a dot
// are candidates only after a dot.
func completeFile(word, before string) (all []choice) {
	dir, name := filepath.Split(word)
	at := dir
	if rest, ok := strings.CutPrefix(dir, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil
		}
		at = filepath.Join(home, rest)
	}
	if at == "" {
		at = "."
	}
	f, err := os.Open(at)
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(mostEntries) // of a folder with more, some
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		n := e.Name()
		if !strings.HasPrefix(n, name) || strings.HasPrefix(n, ".") && !strings.HasPrefix(name, ".") || visible.Line(n) != n || strings.Contains(n, `"`) {
			continue
		}
		path := dir + n
		switch {
		case e.IsDir():
			all = append(all, choice{word: before + path + "/", open: true})
		case strings.ContainsAny(path, " \t"):
			all = append(all, choice{word: before + `"` + path + `"`})
		default:
			all = append(all, choice{word: before + path})
		}
	}
	return all
}

// mostEntries bounds the entries of a folder that are looked at.
const mostEntries = 2000

func (t *talk) completeURI(ctx context.Context, server, uri, before string) []choice {
	has, err := t.list(ctx, server)
	if err != nil {
		return nil
	}
	c, err := t.server(server)
	if err != nil {
		return nil
	}
	var all []choice
	for _, o := range repl.URI(ctx, c, has.resources, has.templates, uri) {
		all = append(all, choice{word: before + o.Word, about: o.About, open: o.Open})
	}
	return all
}

// arguments returns candidates of the form name=value, with the value quoted.
func arguments(found []repl.Candidate) []choice {
	var all []choice
	for _, o := range found {
		name, value, _ := strings.Cut(o.Word, "=")
		if value != "" {
			value = args.Quote(value)
		}
		all = append(all, choice{word: name + "=" + value, about: o.About, open: o.Open})
	}
	return all
}

// completeArgument completes a word after a command or a prompt.
func (t *talk) completeArgument(ctx context.Context, before, word string) []choice {
	words, _, _ := args.Unfinished(before + " ") // a word with an open quote is not complete
	if len(words) == 0 {
		return nil
	}
	if server, name, ok := strings.Cut(strings.TrimPrefix(words[0], "/"), ":"); ok {
		return t.completePromptArgument(ctx, server, name, words[1:], word)
	}
	c, _, err := t.parsed(words[0])
	if err != nil || c == nil || len(c.words) == 0 {
		return nil
	}
	kind := c.words[min(len(words)-1, len(c.words)-1)]
	switch {
	case kind == "prompt" && len(words) > 1:
		server, name, _ := strings.Cut(words[1], ":")
		return t.completePromptArgument(ctx, server, name, words[2:], word)
	case kind == "argument":
		return t.completeToolArgument(ctx, words[1], words[2:], word)
	case len(words)-1 >= len(c.words):
		return nil
	}
	switch kind {
	case "server":
		return matching(t.names(), word)
	case "tool":
		return t.completeTool(ctx, word)
	case "uri":
		return t.completeURI(ctx, words[1], word, "")
	case "prompt":
		return t.completePrompt(ctx, word, "")
	case "model":
		if t.o.Models != nil {
			return matching(t.o.Models(ctx), word)
		}
	case "effort":
		return matching(config.Efforts, word)
	case "session":
		return t.completeSession(word)
	case "taskaction":
		return matching(taskActions, word)
	case "permissionaction":
		return matching([]string{"remove", "allow", "ask", "deny"}, word)
	case "permission":
		var found []choice
		for _, e := range t.w.Book.List(t.now().ID) {
			if e.Fixed == "" && strings.HasPrefix(e.ID, word) {
				found = append(found, choice{word: e.ID, about: permissionText(&e)})
			}
		}
		return found
	case "task":
		return t.completeTask(word)
	}
	return nil
}

func matching(all []string, word string) []choice {
	var found []choice
	for _, s := range all {
		if strings.HasPrefix(s, word) {
			found = append(found, choice{word: s})
		}
	}
	return found
}

func (t *talk) completeSession(word string) []choice {
	list, err := t.w.Host.Sessions()
	if err != nil {
		return nil
	}
	var all []choice
	for _, s := range list {
		if strings.HasPrefix(s.ID, word) {
			all = append(all, choice{word: s.ID, about: s.Title})
		}
	}
	return all
}

func (t *talk) completeTool(ctx context.Context, word string) []choice {
	ctx, stop := context.WithTimeout(ctx, completing)
	defer stop()
	var all []choice
	for _, tool := range t.w.Host.Tools(ctx) {
		full := tool.Server + "/" + tool.Tool.Name
		if strings.HasPrefix(full, word) || word != "" && strings.HasPrefix(tool.Tool.Name, word) {
			all = append(all, choice{word: full, about: tool.Tool.Description})
		}
	}
	return all
}

// completeToolArgument completes name= and, where the schema lists them, its
// values.
func (t *talk) completeToolArgument(ctx context.Context, tool string, given []string, word string) []choice {
	found, err := t.tool(ctx, tool)
	if err != nil {
		return nil
	}
	return arguments(repl.ToolArgument(found.Tool.InputSchema, given, unquoted(word)))
}

// completePromptArgument completes name= and, with the server's help, values.
func (t *talk) completePromptArgument(ctx context.Context, server, prompt string, given []string, word string) []choice {
	has, err := t.list(ctx, server)
	if err != nil {
		return nil
	}
	i := slices.IndexFunc(has.prompts, func(p *mcp.Prompt) bool { return p.Name == prompt })
	c, err := t.server(server)
	if i < 0 || err != nil {
		return nil
	}
	return arguments(repl.PromptArgument(ctx, c, has.prompts[i], given, unquoted(word)))
}

// unquoted returns name=value without quotes around the value.
func unquoted(word string) string {
	name, value, ok := strings.Cut(word, "=")
	if !ok {
		return word
	}
	return name + "=" + strings.Trim(value, `"'`)
}
