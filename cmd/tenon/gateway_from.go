package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/app/config"
)

// useFrom makes the commands of this run use the servers of another program.
func (p *program) useFrom(app string) error {
	switch {
	case app == "":
		return nil
	case app == "claude":
		p.from = []string{"claude-desktop", "claude-code"}
	case slices.Contains(config.Apps, app):
		p.from = []string{app}
	default:
		return usagef("--from must be claude, %s, not %q", strings.Join(config.Apps, ", "), app)
	}
	c, err := p.config()
	if err != nil {
		return err
	}
	var files []string
	for _, e := range c.Entries() {
		if !slices.Contains(files, e.Source.File) {
			files = append(files, e.Source.File)
		}
	}
	if len(files) == 0 {
		return usagef("the configuration of %s has no server", app)
	}
	p.note("Using the servers of %s", strings.Join(files, " and "))
	return nil
}

// paste prints what to put into the configuration of each host.
func (g *gatewayRun) paste(url string) {
	if g.p.log != nil {
		return
	}
	me, err := os.Executable()
	if err != nil {
		me = "tenon"
	}
	headers := ""
	claude := "claude mcp add --transport http tenon " + url
	stdio := []string{"gateway", "--stdio"}
	if variable := g.v.token; variable != "" {
		headers = fmt.Sprintf(`, "headers": {"Authorization": "Bearer ${env:%s}"}`, variable)
		claude += fmt.Sprintf(` --header "Authorization: Bearer $%s"`, variable)
	}
	for _, s := range g.v.servers {
		stdio = append(stdio, "-s", s)
	}
	if g.v.from != "" {
		stdio = append(stdio, "--from", g.v.from)
	}
	if g.p.project != "" {
		stdio = append(stdio, "--project", g.p.project)
	}
	command, _ := json.Marshal(me)
	args, _ := json.Marshal(stdio)
	g.p.note(`To use it, add this to the configuration of a host:
  Claude Code     %s
  Cursor          ~/.cursor/mcp.json            {"mcpServers": {"tenon": {"url": %q%s}}}
  VS Code         .vscode/mcp.json              {"servers": {"tenon": {"type": "http", "url": %q%s}}}
  Claude Desktop  claude_desktop_config.json    {"mcpServers": {"tenon": {"command": %s, "args": %s}}}
                  (it starts a gateway of its own: its file has no servers at a URL)`, claude, url, headers, url, headers, command, args)
}
