package term

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/mcp"
)

// A Welcome is the first screen of a new conversation: the model, the servers with
// what they offer, and things to try.
type Welcome struct {
	Why     string   // where the model comes from
	Connect string   // how to connect a model, if there is none
	Notes   []string // further lines
}

// offering is what a server offers.
type offering struct {
	tools     []*mcp.Tool
	prompts   []*mcp.Prompt
	resources int // and templates
}

// An offeringMsg has what a server offers.
type offeringMsg struct {
	server string
	found  *offering
}

// welcome is the block of the first screen. It changes while servers start.
type welcome struct {
	s       *screen
	offered map[string]*offering
}

// showWelcome shows the first screen, unless the session has messages.
func (s *screen) showWelcome() {
	if s.t.o.Welcome == nil || len(s.t.now().Messages()) > 0 {
		return
	}
	s.welcome = s.talked.add(&welcome{s: s, offered: map[string]*offering{}})
}

// askOffers asks a server what it offers, for the first screen.
func (s *screen) askOffers(server string) tea.Cmd {
	one := s.t.w.Fleet.Get(server)
	if s.welcome == nil || one == nil || !one.State().Usable() {
		return nil
	}
	return func() tea.Msg {
		ctx, stop := context.WithTimeout(s.t.ctx, listing)
		defer stop()
		found := &offering{}
		if about, err := one.Client().Discover(ctx); err == nil && about.Capabilities.Tools != nil {
			found.tools, _ = client.All(one.Client().Tools(ctx)) // one that fails offers nothing yet
		}
		if has, err := s.t.list(ctx, server); err == nil {
			found.prompts, found.resources = has.prompts, len(has.resources)+len(has.templates)
		}
		return offeringMsg{server, found}
	}
}

// askAllOffers asks all servers.
func (s *screen) askAllOffers() tea.Cmd {
	var all []tea.Cmd
	for _, one := range s.t.w.Fleet.All() {
		all = append(all, s.askOffers(one.Name()))
	}
	return tea.Batch(all...)
}

func (s *screen) offers(m offeringMsg) {
	if s.welcome != nil {
		s.welcome.block.(*welcome).offered[m.server] = m.found
		s.welcome.width = 0
	}
}

// mostWelcome bounds the servers of the first screen.
const mostWelcome = 6

func (b *welcome) lines(width int, th *theme) []string {
	o, small := b.s.t.o.Welcome, b.s.height < 18
	var out []string
	add := func(label string, rows ...string) {
		if !small {
			out = append(out, "")
		}
		if width < 60 {
			if !small || len(out) > 0 { // the first line of a small screen is that of the model
				out = append(out, " "+th.bold.Render(label))
			}
			out = append(out, indented(rows, "   ", "   ")...)
			return
		}
		out = append(out, indented(rows, " "+th.bold.Render(pad(label, 9)), strings.Repeat(" ", 10))...)
	}
	room := width - 11
	if width < 60 {
		room = width - 4
	}
	dim := func(text string) []string {
		rows := wrap(visible.Text(text), room)
		for i, r := range rows {
			rows[i] = th.dim.Render(r)
		}
		return rows
	}
	model := []string{cut(modelLabel(b.s.t.w.Host.Model()), room)}
	switch {
	case !b.s.t.hasModel():
		model = append(model, dim(o.Connect)...)
	case o.Why != "" && !small:
		model = append(model, dim(o.Why)...)
	}
	add("Model", model...)
	add("Servers", b.servers(room, small, th)...)
	if try := b.suggestions(); len(try) > 0 {
		for i, text := range try {
			try[i] = th.accent.Render(cut(text, room))
		}
		if !small {
			try = append(try, dim("Tab inserts one; / lists commands, @ attaches a file or resource")...)
		}
		add("Try", try...)
	}
	for _, n := range o.Notes {
		out = append(out, "")
		out = append(out, indented(dim(n), " ", " ")...)
	}
	return out
}

// servers returns a row for each server.
func (b *welcome) servers(room int, small bool, th *theme) (rows []string) {
	all := b.s.t.w.Fleet.All()
	if len(all) == 0 {
		return []string{th.dim.Render(cut("none; tenon config add NAME -- COMMAND adds one", room))}
	}
	most := mostWelcome
	if small {
		most = 2
	}
	wide := 0
	for _, one := range all[:min(most, len(all))] {
		wide = max(wide, min(columns(line(one.Name())), 16))
	}
	for i, one := range all {
		if i == most {
			rows = append(rows, th.dim.Render(cut("and "+count(len(all)-most, "more", "more")+": F2", room)))
			break
		}
		style, about := th.dim, b.about(one.Name(), one.State())
		if p := one.State().Phase; p == connect.Failed || p == connect.NeedsLogin {
			style = th.warn
		}
		rows = append(rows, cut(pad(line(one.Name()), wide)+"  "+style.Render(about), room))
	}
	return rows
}

// about says what a server offers, or why it does not.
func (b *welcome) about(name string, st connect.State) string {
	switch {
	case st.Phase == connect.NeedsLogin:
		return "needs login: /login " + line(name)
	case st.Why != "" && !st.Usable():
		return string(st.Phase) + ": " + line(st.Why)
	case !st.Usable():
		return string(st.Phase)
	}
	has := b.offered[name]
	if has == nil {
		return "ready"
	}
	var parts []string
	for _, p := range []struct {
		n         int
		one, many string
	}{{len(has.tools), "tool", "tools"}, {has.resources, "resource", "resources"}, {len(has.prompts), "prompt", "prompts"}} {
		if p.n > 0 {
			parts = append(parts, count(p.n, p.one, p.many))
		}
	}
	if parts == nil {
		return "ready, offers nothing"
	}
	return strings.Join(parts, " · ")
}

// hasModel reports whether a language model is connected.
func (t *talk) hasModel() bool {
	m := t.w.Host.Model()
	return m != nil && m.Info().Provider != "none"
}

// mostSuggestions bounds the things to try.
const mostSuggestions = 3

// suggestions returns messages and commands that work with the servers that are
// ready. They have names of tools and prompts, but no other text of servers.
func (b *welcome) suggestions() []string {
	var first, rest []string
	model := b.s.t.hasModel()
	if model {
		for _, name := range []string{"README.md", "readme.md", "README"} {
			if _, err := os.Stat(filepath.Join(b.s.t.now().Summary().Folder, name)); err == nil {
				first = append(first, "Sum up @"+name)
				break
			}
		}
	}
	for _, one := range b.s.t.w.Fleet.All() {
		has := b.offered[one.Name()]
		if has == nil || !one.State().Usable() {
			continue
		}
		mine := suggestionsOf(one.Name(), has, model)
		if len(mine) > 0 {
			first, rest = append(first, mine[0]), append(rest, mine[1:]...)
		}
	}
	all := append(first, rest...)
	return all[:min(len(all), mostSuggestions)]
}

// suggestionsOf returns the things to try with a server, the best first.
func suggestionsOf(server string, has *offering, model bool) (all []string) {
	if line(server) != server || strings.ContainsAny(server, " /:") {
		return nil
	}
	for _, t := range has.tools {
		needs := required(t)
		switch {
		case t.Name == "add" && slices.Equal(needs, []string{"a", "b"}):
			all = append(all, "add 2 and 3")
		case t.Name == "list_directory" && slices.Equal(needs, []string{"path"}) && model:
			all = append(all, "What is in this folder?")
		case t.Name == "list_directory" && slices.Equal(needs, []string{"path"}):
			all = append(all, "/call "+server+"/list_directory path=.")
		}
	}
	for _, p := range has.prompts {
		if plainName(p.Name) {
			all = append(all, "/"+server+":"+p.Name)
			break
		}
	}
	for _, t := range has.tools {
		if plainName(t.Name) && len(required(t)) == 0 && t.Annotations.ReadOnly() {
			all = append(all, "/call "+server+"/"+t.Name)
			break
		}
	}
	if model && len(has.tools) > 0 {
		all = append(all, "What can you do with "+server+"?")
	} else if len(has.tools) > 0 {
		all = append(all, "/tools "+server)
	}
	return all
}

// plainName reports whether a name of a server can be typed.
func plainName(name string) bool {
	return name != "" && len(name) <= 40 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") == ""
}

// required returns the arguments that a tool needs.
func required(t *mcp.Tool) []string {
	var s struct {
		Required []string `json:"required"`
	}
	if mcp.Unmarshal(t.InputSchema, &s) != nil {
		return nil
	}
	return s.Required
}

// try offers the suggestions as completions of an empty input.
func (s *screen) try() tea.Cmd {
	if s.welcome == nil || s.talked.last() != s.welcome {
		return nil
	}
	for _, text := range s.welcome.block.(*welcome).suggestions() {
		s.completed.choices = append(s.completed.choices, choice{word: text, open: true})
	}
	if len(s.completed.choices) == 0 {
		return nil
	}
	s.completed.from = 0
	return s.pick(1)
}
