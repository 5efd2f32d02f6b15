package term

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/app/args"
	"github.com/tenon-mcp/tenon/app/show"
	"github.com/tenon-mcp/tenon/mcp"
)

// A command is a command that the user types after a slash, in both user
// interfaces.
type command struct {
	group             string // of this and the following commands in /help; "" means that of the one before
	name, args, about string

	// words are the kinds of its arguments, for completion: server, tool, uri,
	// prompt, session, model, taskaction, task, permissionaction, permission or
	// nothing.
	words []string

	// run runs the command. Its output is shown, and the caller carries out what
	// it returns.
	run func(ctx context.Context, t *talk, words []string, out *show.Printer) (outcome, error)
}

// outcome is what to do when a command has ended.
type outcome struct {
	say     string     // send this message
	fill    *callSheet // let the user fill this in
	session bool       // show another session
	list    string     // let the user choose one: "sessions" or "models"
	quit    bool       // leave
	items   []listItem // of the list
	notes   []string   // messages to show

	clipboard string // copy this through the terminal
}

// A callSheet is a sheet and its tool or prompt.
type callSheet struct {
	*sheet
	title  string
	server string
	tool   *mcp.Tool   // set: the sheet has its arguments
	prompt *mcp.Prompt // set: the sheet has its arguments
}

// commands returns all commands, in the order of /help.
func commands() []command {
	return []command{
		{group: "Conversation", name: "clear", about: "start a new conversation; the old one is saved", run: runClear},
		{name: "resume", args: "[id]", words: []string{"session"}, about: "continue a saved conversation, from a list", run: runResume},
		{name: "compact", args: "[what to keep]", about: "replace the older part by a summary", run: runCompact},
		{name: "queue", args: "[remove N|all]", about: "list or remove the messages that wait", run: runQueue},
		{name: "undo", about: "remove the last turn, and say what its calls changed", run: runUndo},
		{name: "redo", about: "bring back the turn that /undo removed", run: runRedo},
		{name: "copy", about: "copy the last answer", run: runCopy},
		{name: "export", args: "[file]", about: "write the conversation to a file: Markdown, or JSON (.json)", run: runExport},
		{name: "editor", about: "write the message in your editor (Ctrl-G)", run: runEditor},

		{group: "Model", name: "model", args: "[name]", words: []string{"model"}, about: "choose the model", run: runModel},
		{name: "effort", args: "[level]", words: []string{"effort"}, about: "show or choose how much the model thinks", run: runEffort},

		{group: "Tools", name: "tools", args: "[server]", words: []string{"server"}, about: "list the tools", run: runTools},
		{name: "call", args: "server/tool [name=value …]", words: []string{"tool", "argument"}, about: "call a tool; missing arguments are asked for", run: runCall},
		{name: "resources", args: "[server]", words: []string{"server"}, about: "list resources and templates", run: runResources},
		{name: "read", args: "server uri", words: []string{"server", "uri"}, about: "read a resource", run: runRead},
		{name: "prompts", args: "[server]", words: []string{"server"}, about: "list the prompts", run: runPrompts},
		{name: "prompt", args: "server:name [name=value …]", words: []string{"prompt"}, about: "use a prompt; /server:name does the same", run: runPrompt},
		{name: "tasks", args: "[background|wait|cancel [id]]", words: []string{"taskaction", "task"}, about: "list calls that run as tasks, or act on one", run: runTasks},

		{group: "Permissions", name: "permissions", args: "[remove|allow|ask|deny id]", words: []string{"permissionaction", "permission"}, about: "show, change and remove rules and answers", run: runPermissions},
		{name: "allow", args: "server/tool", words: []string{"tool"}, about: "always allow a tool", run: runAllow},
		{name: "deny", args: "server/tool", words: []string{"tool"}, about: "always deny a tool and hide it from the model", run: runDeny},
		{name: "forget", args: "server[/tool]", words: []string{"tool"}, about: "forget your decision about a tool", run: runForget},
		{name: "approve", args: "server[/tool]", words: []string{"tool"}, about: "show changed tools; enter it again to approve them", run: runApprove},

		{group: "Servers", name: "servers", about: "show the servers; restart, switch off, log in", run: runServers},
		{name: "restart", args: "server", words: []string{"server"}, about: "restart a server", run: runRestart},
		{name: "disable", args: "server", words: []string{"server"}, about: "switch a server off", run: runDisable},
		{name: "login", args: "server", words: []string{"server"}, about: "open a server's login page", run: runLogin},
		{name: "mute", args: "server", words: []string{"server"}, about: "decline all questions from a server", run: runMute},
		{name: "unmute", args: "server", words: []string{"server"}, about: "let a server ask again", run: runUnmute},
		{name: "wire", args: "[server]", words: []string{"server"}, about: "show the messages", run: runWire},

		{group: "Program", name: "help", about: "list commands and keys", run: runHelp},
		{name: "quit", about: "quit (also Ctrl-D)", run: func(context.Context, *talk, []string, *show.Printer) (outcome, error) {
			return outcome{quit: true}, nil
		}},
	}
}

// parsed returns the command in a line. /server:name is a prompt.
func (t *talk) parsed(text string) (c *command, words []string, err error) {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "/") {
		return nil, nil, nil
	}
	first, _, _ := strings.Cut(text[1:], " ")
	server, _, prompt := strings.Cut(first, ":")
	prompt = prompt && t.w.Fleet.Get(server) != nil
	if first == "" || strings.ContainsAny(first, ":/") && !prompt { // a path such as /etc/hosts, or a name with spaces
		return nil, nil, nil
	}
	if words, err = args.Split(text[1:]); err != nil {
		return nil, nil, err
	}
	all := commands()
	if prompt {
		i := slices.IndexFunc(all, func(c command) bool { return c.name == "prompt" })
		return &all[i], words, nil
	}
	for i := range all {
		if all[i].name == cmp.Or(otherNames[words[0]], words[0]) {
			if all[i].args == "" && len(words) > 1 {
				return nil, nil, fmt.Errorf("unexpected argument %q; write /%s alone", words[1], words[0])
			}
			return &all[i], words[1:], nil
		}
	}
	var near []string
	for _, c := range all {
		if strings.HasPrefix(c.name, words[0]) || strings.HasPrefix(words[0], c.name) {
			near = append(near, "/"+c.name)
		}
	}
	if near != nil {
		return nil, nil, fmt.Errorf("unknown command /%s; did you mean %s?", words[0], strings.Join(near, " or "))
	}
	return nil, nil, fmt.Errorf("unknown command /%s; /help lists all commands", words[0])
}

// otherNames are further names of commands.
var otherNames = map[string]string{"exit": "quit", "new": "clear", "sessions": "resume", "save": "export"}

func runHelp(_ context.Context, _ *talk, _ []string, out *show.Printer) (outcome, error) {
	out.Markdown("Text goes to the model. `@server:uri` in it attaches a resource, `@file` a file or an image, and `/server:prompt name=value` uses a prompt.\n")
	group, rows := "", [][2]string(nil)
	for _, c := range commands() {
		if c.group != "" && rows != nil {
			out.Terms(group, rows)
			rows = nil
		}
		group = cmp.Or(c.group, group)
		rows = append(rows, [2]string{strings.TrimSpace("/" + c.name + " " + c.args), c.about})
	}
	out.Terms(group, rows)
	return outcome{}, out.Err()
}

func runTools(ctx context.Context, t *talk, words []string, out *show.Printer) (outcome, error) {
	if len(words) > 0 {
		if _, err := t.server(words[0]); err != nil {
			return outcome{}, err
		}
	}
	ctx, stop := context.WithTimeout(ctx, listing)
	defer stop()
	by := map[string][]*mcp.Tool{}
	var hidden, held, odd []string
	for _, tool := range t.w.Host.Tools(ctx) {
		if len(words) > 0 && tool.Server != words[0] {
			continue
		}
		by[tool.Server] = append(by[tool.Server], tool.Tool)
		if tool.Hidden {
			hidden = append(hidden, tool.Server+"/"+line(tool.Tool.Name))
		}
		if tool.Held != "" {
			held = append(held, tool.Server+"/"+line(tool.Tool.Name))
		}
		for _, w := range tool.Warnings {
			odd = append(odd, tool.Server+"/"+line(tool.Tool.Name)+": "+line(w))
		}
	}
	for _, n := range slices.Sorted(maps.Keys(by)) {
		fmt.Fprintf(out.W, "%s\n", out.Bold(n))
		if err := out.Tools(by[n]); err != nil {
			return outcome{}, err
		}
		fmt.Fprintln(out.W)
	}
	var a outcome
	for _, s := range odd {
		a.notes = append(a.notes, "Look closely: "+s)
	}
	if hidden != nil {
		a.notes = append(a.notes, "Denied, and hidden from the model: "+strings.Join(hidden, ", "))
	}
	if held != nil {
		a.notes = append(a.notes, "Hidden from the model until you approve them (/approve): "+strings.Join(held, ", "))
	}
	if len(by) == 0 {
		a.notes = append(a.notes, "No ready server has tools. /servers shows the state of each server.")
	}
	return a, nil
}

func runCall(ctx context.Context, t *talk, words []string, _ *show.Printer) (outcome, error) {
	if len(words) == 0 {
		return outcome{}, fmt.Errorf("usage: /call server/tool name=value … (/tools lists the tools)")
	}
	t.waitFor(ctx, words[0])
	tool, err := t.tool(ctx, words[0])
	if err != nil {
		return outcome{}, err
	}
	var given json.RawMessage
	if len(words) == 2 && strings.HasPrefix(words[1], "{") {
		given = json.RawMessage(words[1])
		if !json.Valid(given) {
			return outcome{}, fmt.Errorf("%s is not JSON (put it in quotes, as in /call %s '{\"a\": 1}')", words[1], words[0])
		}
	} else if given, err = args.Parse(tool.Tool.InputSchema, words[1:]); err != nil {
		return outcome{}, err
	}
	s := toolSheet(tool.Tool.InputSchema, given)
	if len(s.missing()) > 0 {
		return outcome{fill: &callSheet{sheet: s, title: tool.Server + "/" + line(tool.Tool.Name), server: tool.Server, tool: tool.Tool}}, nil
	}
	return outcome{}, t.call(ctx, tool.Server, tool.Tool.Name, given)
}

func runPrompt(ctx context.Context, t *talk, words []string, _ *show.Printer) (outcome, error) {
	if len(words) == 0 {
		return outcome{}, fmt.Errorf("usage: /prompt server:name name=value … (/prompts lists the prompts)")
	}
	server, name, ok := strings.Cut(words[0], ":")
	rest := words[1:]
	if !ok && len(rest) > 0 {
		name, rest, ok = rest[0], rest[1:], true
	}
	if !ok {
		return outcome{}, fmt.Errorf("%q is not a prompt; write server:name", words[0])
	}
	has, err := t.list(ctx, server)
	if err != nil {
		return outcome{}, err
	}
	i := slices.IndexFunc(has.prompts, func(p *mcp.Prompt) bool { return p.Name == name })
	if i < 0 {
		return outcome{}, fmt.Errorf("%s has no prompt %q; /prompts %s lists its prompts", server, name, server)
	}
	given := map[string]string{}
	for _, w := range rest {
		key, value, ok := strings.Cut(w, "=")
		if !ok {
			return outcome{}, fmt.Errorf("%q is not name=value. Quote values that have spaces: name=\"two words\"", w)
		}
		given[key] = value
	}
	s := promptSheet(has.prompts[i], given)
	if len(s.missing()) > 0 {
		return outcome{fill: &callSheet{sheet: s, title: server + ":" + line(name), server: server, prompt: has.prompts[i]}}, nil
	}
	return outcome{say: promptLine(server, name, given)}, nil
}

// done makes the call of a filled-in sheet.
func (c *callSheet) done(ctx context.Context, t *talk) (outcome, error) {
	if c.prompt != nil {
		return outcome{say: promptLine(c.server, c.prompt.Name, c.values())}, nil
	}
	content, err := c.content()
	if err != nil {
		return outcome{}, err
	}
	return outcome{}, t.call(ctx, c.server, c.tool.Name, content)
}
