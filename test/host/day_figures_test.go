package host

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/llm"
)

// Figures for decision 0026: what the conversations of the scripted day cost, and
// what they would cost if runs of steps that need no decision were one script each.
// TENON_DAY_FIGURES=1 prints them.

// A dayCost is what requests cost, in bytes.
type dayCost struct {
	requests   int
	sent       int // all that is sent
	fresh, old int // of it: new since the request before, and the rest
	out        int // what the model writes
}

// add counts a request that sends the whole conversation so far.
func (c *dayCost) add(conversation int, before *int, wrote int) {
	c.requests++
	c.sent += conversation
	c.fresh += conversation - *before
	c.old += *before
	c.out += wrote
	*before = conversation + wrote
}

// billed weighs the bytes as prices do: what is cached costs a tenth, and what the
// model writes five times as much as what it reads.
func (c *dayCost) billed() int { return c.fresh + c.old/10 + 5*c.out }

func (c *dayCost) String() string {
	return fmt.Sprintf("%4d requests, %9d bytes sent, %8d fresh, %7d written, %8d billed", c.requests, c.sent, c.fresh, c.out, c.billed())
}

// What a script would cost beside the calls in it, in bytes. A line such as
// r3 = call("judge.post", task=7, step=3) has 42.
const (
	definitionBytes = 900 // of the tool that runs scripts
	scriptBytes     = 120 // of a script without calls
	lineBytes       = 45  // of a call
	keptBytes       = 100 // of a result of which the model needs little
)

// dayFigures are sums over tasks.
type dayFigures struct{ now, scripts, scriptsThatFilter dayCost }

// count adds a task. The base is what every request has: instructions and tools.
func (f *dayFigures) count(k *dayTask, s *host.Session, base int) {
	quiet := func(step int) bool {
		return step < len(k.steps) && (k.steps[step].kind == "post" || strings.HasPrefix(k.steps[step].kind, "look"))
	}
	talk := s.Messages()
	now, code, filtered := 0, 0, 0 // conversations at the request before
	size, codeSize, filteredSize := base, base+definitionBytes, base+definitionBytes
	inRun := false
	for i, m := range talk {
		switch m.Role {
		case llm.RoleUser:
			n := len(m.Text())
			size, codeSize, filteredSize, inRun = size+n, codeSize+n, filteredSize+n, false
		case llm.RoleAssistant:
			wrote, calls := len(m.Text()), 0
			step := -1
			for _, p := range m.Parts {
				if p.Call != nil {
					wrote += len(p.Call.Arguments) + len(p.Call.Name)
					calls++
					fmt.Sscanf(after(string(p.Call.Arguments), `"step":`), "%d", &step)
				}
			}
			got, little := 0, 0
			if i+1 < len(talk) && talk[i+1].Role == llm.RoleTool {
				for _, p := range talk[i+1].Parts {
					n := len(llm.Results(*p.Result).Text())
					got, little = got+n, little+min(n, keptBytes)
				}
			}
			f.now.add(size, &now, wrote)
			size += wrote + got
			switch {
			case calls > 0 && step >= 0 && quiet(step) && inRun: // one more line of the script before
				f.scripts.out += lineBytes * calls
				f.scriptsThatFilter.out += lineBytes * calls
				codeSize += lineBytes*calls + got
				filteredSize += lineBytes*calls + little
			case calls > 0 && step >= 0 && quiet(step):
				wrote = scriptBytes + lineBytes*calls
				f.scripts.add(codeSize, &code, wrote)
				f.scriptsThatFilter.add(filteredSize, &filtered, wrote)
				codeSize, filteredSize, inRun = codeSize+wrote+got, filteredSize+wrote+little, true
			default:
				f.scripts.add(codeSize, &code, wrote)
				f.scriptsThatFilter.add(filteredSize, &filtered, wrote)
				codeSize, filteredSize, inRun = codeSize+wrote+got, filteredSize+wrote+little, false
			}
		}
	}
}

func after(text, what string) string {
	_, rest, _ := strings.Cut(text, what)
	return rest
}

// print logs the sums.
func (f *dayFigures) print(t *testing.T) {
	if os.Getenv("TENON_DAY_FIGURES") == "" {
		return
	}
	t.Logf("now:                          %s", &f.now)
	t.Logf("scripts, whole results:       %s", &f.scripts)
	t.Logf("scripts, %d bytes of each:   %s", keptBytes, &f.scriptsThatFilter)
}
