package page

import "testing"

// Somebody who has never heard of MCP finds the answers to ten questions in
// Learn, without the documentation: by opening the diagrams and pressing nothing
// but the blue button of each. The answers are looked for in the text that can be
// seen.
func TestTenQuestions(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{servers: samples(t)})
	h.ready(t, "calc", "files", "notes", "shop")
	p := open(t, h.address(), screen{width: 1440, height: 900})
	p.until(`document.querySelectorAll('.counts').length === 4`)
	at := ""
	for _, q := range []struct{ question, diagram, answer string }{
		{"What is MCP?", "Anatomy", "MCP connects a program to tools."},
		{"Why does each server have a client of its own?", "Anatomy", "If that server hangs or lies, only this client is affected."},
		{"What stands between the model and a server?", "Anatomy", "before anything is called"},
		{"Who decides that a tool is called?", "Primitives", "The model decides"},
		{"What is a resource?", "Primitives", "Things to read: files, notes, rows."},
		{"Can a server ask me something?", "Primitives", "The server asks you"},
		{"Which message gets no response?", "Messages", "Tells something and wants no response: it has no id."},
		{"Is a tool that fails an error of the protocol?", "Messages", "A tool that fails is no error: its result says isError"},
		{"What has changed between the protocol versions?", "Lifecycles", "each request says everything itself"},
		{"What does HTTP add to a message?", "Transport", "Mcp-Method:"},
	} {
		if q.diagram != at {
			at = q.diagram
			p.clickText(q.diagram)
			p.click(`.learn-tools .play`)
		}
		t.Log(q.question)
		p.sees(q.answer)
	}
}
