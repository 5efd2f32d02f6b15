package term

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/app/args"
	"github.com/tenon-mcp/tenon/mcp"
)

// completing is how long a server may take to complete a word.
const completing = 2 * time.Second

// mostChoices bounds a list of completions.
const mostChoices = 50

// A choice is one way to complete a word.
type choice struct {
	word  string // what the word becomes
	about string
	open  bool // the word goes on: no space after it
}

// A completion is what the word before the cursor could become.
type completion struct {
	from    int // where the word begins, in bytes
	choices []choice
}

// complete finds out what the word before the cursor could become. It may ask
// servers.
func (t *talk) complete(ctx context.Context, text string, at int) completion {
	text = text[:at]
	from := strings.LastIndexAny(text, " \n\t") + 1
	word := text[from:]
	c := completion{from: from}
	switch {
	case from == 0 && strings.HasPrefix(word, "/"):
		c.choices = t.completeCommand(ctx, word)
	case strings.HasPrefix(word, "@"):
		c.choices = t.completeResource(ctx, word, "@")
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

func (t *talk) completeURI(ctx context.Context, server, uri, before string) []choice {
	has, err := t.list(ctx, server)
	if err != nil {
		return nil
	}
	var all []choice
	for _, r := range has.resources {
		if strings.HasPrefix(r.URI, uri) {
			all = append(all, choice{word: before + r.URI, about: r.DisplayName()})
		}
	}
	for _, tpl := range has.templates {
		head, rest, ok := strings.Cut(tpl.URITemplate, "{")
		name, tail, ok2 := strings.Cut(rest, "}")
		name = strings.TrimRight(strings.TrimLeft(name, "+#./;?&"), "*")
		switch {
		case !ok || !ok2:
		case len(uri) < len(head) && strings.HasPrefix(head, uri):
			all = append(all, choice{word: before + head, about: tpl.URITemplate + "  " + tpl.DisplayName(), open: true})
		case strings.HasPrefix(uri, head):
			for _, v := range t.ask(ctx, server, mcp.ResourceRef(tpl.URITemplate), name, uri[len(head):], nil) {
				full := head + v
				if !strings.Contains(tail, "{") {
					full += tail
				}
				all = append(all, choice{word: before + full, about: tpl.DisplayName()})
			}
		}
	}
	return all
}

// ask has a server complete a value. A server that cannot has no choices.
func (t *talk) ask(ctx context.Context, server string, ref mcp.CompletionRef, name, value string, others map[string]string) []string {
	c, err := t.server(server)
	if err != nil {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, completing)
	defer stop()
	p := mcp.CompleteParams{Ref: ref, Argument: mcp.CompletionArgument{Name: name, Value: value}}
	if len(others) > 0 {
		p.Context = &mcp.CompletionContext{Arguments: others}
	}
	found, err := c.Complete(ctx, p)
	if err != nil {
		return nil
	}
	return found.Values
}

// completeArgument completes a word after a command or a prompt.
func (t *talk) completeArgument(ctx context.Context, before, word string) []choice {
	words, _, _ := args.Unfinished(before + " ") // a word whose quote is open is still being typed
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
	case "session":
		return t.completeSession(word)
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
	name, value, valued := strings.Cut(word, "=")
	var all []choice
	for _, f := range toolSheet(found.Tool.InputSchema, nil).fields {
		switch {
		case valued && f.Name == name:
			for _, o := range f.Options {
				if text := args.Escape(o.Value); strings.HasPrefix(text, value) {
					all = append(all, choice{word: name + "=" + text, about: o.Title})
				}
			}
		case !valued && strings.HasPrefix(f.Name, word) && !strings.Contains(f.Name, "=") && !slices.ContainsFunc(given, func(g string) bool { return strings.HasPrefix(g, f.Name+"=") }):
			all = append(all, choice{word: f.Name + "=", about: f.Description, open: true})
		}
	}
	return all
}

// completePromptArgument completes name= and, with the server's help, values.
func (t *talk) completePromptArgument(ctx context.Context, server, prompt string, given []string, word string) []choice {
	has, err := t.list(ctx, server)
	if err != nil {
		return nil
	}
	i := slices.IndexFunc(has.prompts, func(p *mcp.Prompt) bool { return p.Name == prompt })
	if i < 0 {
		return nil
	}
	others := map[string]string{}
	for _, g := range given {
		if k, v, ok := strings.Cut(g, "="); ok {
			others[k] = v
		}
	}
	name, value, valued := strings.Cut(word, "=")
	var all []choice
	if valued {
		for _, v := range t.ask(ctx, server, mcp.PromptRef(prompt), name, strings.Trim(value, `"'`), others) {
			all = append(all, choice{word: name + "=" + args.Quote(v)})
		}
		return all
	}
	for _, a := range has.prompts[i].Arguments {
		if _, done := others[a.Name]; !done && strings.HasPrefix(a.Name, word) {
			all = append(all, choice{word: a.Name + "=", about: a.Description, open: true})
		}
	}
	return all
}
