package main

import (
	"cmp"
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

// paste prints what to put into the configuration of each host. Clients send an API
// key if that is the only way in: others log in by themselves.
func (g *gatewayRun) paste(url string) {
	if g.p.log != nil {
		return
	}
	stdio := []string{"gateway", "--stdio"}
	for _, s := range g.v.servers {
		stdio = append(stdio, "-s", s)
	}
	if g.v.from != "" {
		stdio = append(stdio, "--from", g.v.from)
	}
	if g.p.project != "" {
		stdio = append(stdio, "--project", g.p.project)
	}
	h := hostConfigs{url: cmp.Or(g.v.public, url), stdio: stdio}
	what := ""
	switch {
	case g.v.token != "":
		h.shellToken, h.fileToken = "$"+g.v.token, "${env:"+g.v.token+"}"
	case g.v.issuer != "":
		what = "; it asks you to log in"
	case g.keys != nil:
		h.shellToken, h.fileToken = "KEY", "KEY"
		what = ", with an API key (tenon gateway keys add NAME) in place of KEY"
	}
	g.p.note("To use it, add this to the configuration of a host%s:\n%s", what, h)
}

// hostConfigs is how hosts are configured to use a gateway.
type hostConfigs struct {
	url                   string
	shellToken, fileToken string   // how the token is written in a shell and in a file; empty means that none is sent
	stdio                 []string // the arguments of a gateway on standard input and output
}

// String returns a line for each host.
func (h hostConfigs) String() string {
	me, err := os.Executable()
	if err != nil {
		me = "tenon"
	}
	headers, option, free := "", "", ""
	if h.fileToken != "" {
		headers = fmt.Sprintf(`, "headers": {"Authorization": "Bearer %s"}`, h.fileToken)
		option = fmt.Sprintf(` --header "Authorization: Bearer %s"`, h.shellToken)
		free = ", and needs no token"
	}
	command, _ := json.Marshal(me)
	args, _ := json.Marshal(h.stdio)
	return fmt.Sprintf(`  Claude Code     claude mcp add --transport http tenon %[1]s%[2]s
  Cursor          ~/.cursor/mcp.json            {"mcpServers": {"tenon": {"url": %[3]q%[4]s}}}
  VS Code         .vscode/mcp.json              {"servers": {"tenon": {"type": "http", "url": %[3]q%[4]s}}}
  Claude Desktop  claude_desktop_config.json    {"mcpServers": {"tenon": {"command": %[5]s, "args": %[6]s}}}
                  (it starts a gateway of its own%[7]s: its file has no servers at a URL)`, h.url, option, h.url, headers, command, args, free)
}
