package host

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/anthropic"
	"github.com/tenon-mcp/tenon/app/llm/llmtest"
	"github.com/tenon-mcp/tenon/app/llm/openai"
	"github.com/tenon-mcp/tenon/app/workspace"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/stdio"
)

// The judge is a server in a process of its own. It writes each effect to a file
// before it acknowledges it, and dies or hangs once for each step that says so.

const effectsVar = "TENON_HOST_TEST_EFFECTS"

type postIn struct {
	Task  int    `json:"task"`
	Step  int    `json:"step"`
	Try   int    `json:"try"`
	Fault string `json:"fault,omitzero" doc:"before, after or hang: what happens once"`
}

func playJudge() {
	dir := os.Getenv(effectsVar)
	s := server.New(mcp.Implementation{Name: "judge", Version: "1"}, nil)
	yes := true
	reads := &server.ToolOptions{Annotations: &mcp.ToolAnnotations{ReadOnlyHint: &yes}}
	once := func(what string) bool {
		f, err := os.OpenFile(filepath.Join(dir, what), os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			f.Close()
		}
		return err == nil
	}
	post := func(ctx context.Context, _ *mcp.Call, in postIn) (string, error) {
		first := in.Fault != "" && once(fmt.Sprintf("fault-%d-%d", in.Task, in.Step))
		if first && in.Fault == "hang" {
			<-ctx.Done()
			return "", ctx.Err()
		}
		if first && in.Fault == "before" {
			os.Exit(3)
		}
		f, err := os.OpenFile(filepath.Join(dir, "effects"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return "", err
		}
		defer f.Close()
		if _, err := fmt.Fprintf(f, "%d-%d\n", in.Task, in.Step); err != nil {
			return "", err
		}
		if first && in.Fault == "after" {
			os.Exit(4)
		}
		return fmt.Sprintf("receipt-%d-%d.", in.Task, in.Step), nil
	}
	server.AddTool(s, "post", "Book one step of a task", post, nil)
	server.AddTool(s, "ledger", "Book one step in the ledger", post, nil)
	server.AddTool(s, "status", "Say whether a step is booked", func(_ context.Context, _ *mcp.Call, in postIn) (string, error) {
		text, err := os.ReadFile(filepath.Join(dir, "effects"))
		if err != nil && !os.IsNotExist(err) {
			return "", err
		}
		if slices.Contains(strings.Split(string(text), "\n"), fmt.Sprintf("%d-%d", in.Task, in.Step)) {
			return fmt.Sprintf("booked-%d-%d.", in.Task, in.Step), nil
		}
		return "absent", nil
	}, reads)
	server.AddTool(s, "look", "Look something up", func(_ context.Context, _ *mcp.Call, in postIn) (string, error) {
		return fmt.Sprintf("seen-%d-%d. ", in.Task, in.Step) + strings.Repeat("row of data; ", in.Try), nil
	}, reads)
	server.AddTool(s, "mutate", "Change what ledger is", func(context.Context, *mcp.Call, struct{}) (string, error) {
		server.AddTool(s, "ledger", fmt.Sprintf("Book one step in the ledger, in the form of %d", time.Now().UnixNano()), post, nil)
		return "changed", nil
	}, nil)
	stdio.Serve(context.Background(), s, nil)
}

// A dayStep is one step of a task.
type dayStep struct {
	kind  string // post, look, looks, deny, before, after, hang, change
	fault string // of the model before the step: rate, overloaded, cut, cutcall, silent
	stop  bool   // the person stops the turn, closes the host, and resumes the session
}

// A dayTask is a task, and what the model that works on it knows.
type dayTask struct {
	id    int
	steps []dayStep

	at    int    // the current step
	phase string // of the step
	try   int    // how often the effect was requested
	asked int    // how often for its status
	n     int    // calls so far
	ids   []string
	turn  llmtest.Turn
}

var (
	whichTask = regexp.MustCompile(`Do task (\d+)\.`)
	dayFaults = []string{"rate", "overloaded", "cut", "cutcall", "silent"}
)

// makeDay returns the tasks of a day: 2 to 30 steps each, with faults.
func makeDay(r *rand.Rand, n int) []*dayTask {
	var day []*dayTask
	for id := range n {
		t := &dayTask{id: id}
		for range 2 + r.IntN(8) + r.IntN(8)*r.IntN(4) {
			t.steps = append(t.steps, dayStep{kind: []string{"post", "post", "look", "looks"}[r.IntN(4)]})
		}
		t.steps = t.steps[:min(len(t.steps), 30)]
		some := func() *dayStep { return &t.steps[r.IntN(len(t.steps))] }
		some().fault = dayFaults[id%len(dayFaults)]
		if id%3 == 0 {
			some().kind = "deny"
		}
		switch id % 5 { // at most 3 deaths in a group of 5 tasks: more, and the server is not started again
		case 0:
			some().kind = "before"
		case 1:
			some().kind = "after"
		case 2:
			some().kind = "change"
		case 3:
			some().stop = true
		case 4:
			if id%2 == 0 {
				some().kind = "hang"
			}
		}
		day = append(day, t)
	}
	return day
}

// A dayModel plays the model: it does the steps in order, looks whether an effect
// took place if nobody knows, and repeats it only then.
type dayModel struct {
	t     *testing.T
	mu    sync.Mutex
	tasks []*dayTask

	requests, base int // base: bytes of the first request
	figures        dayFigures
}

func (m *dayModel) answer(body []byte) llmtest.Turn {
	found := whichTask.FindSubmatch(body)
	if found == nil {
		return llmtest.Turn{Status: 400, Body: `{"error":{"message":"no task"}}`}
	}
	id, _ := strconv.Atoi(string(found[1]))
	var request map[string]any
	if err := json.Unmarshal(body, &request); err != nil {
		return llmtest.Turn{Status: 400}
	}
	results := map[string]string{}
	collect(request, results)
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.tasks[id]
	if m.requests++; m.base == 0 {
		m.base = len(body)
	}
	if len(k.ids) > 0 && results[k.ids[len(k.ids)-1]] == "" { // asked again, or resumed
		return k.turn
	}
	var texts []string
	for _, id := range k.ids {
		texts = append(texts, results[id])
	}
	fault := k.next(texts, strings.Contains(string(body), `judge__ledger`) && hasTool(request, "judge__ledger"))
	switch fault {
	case "rate":
		return llmtest.Turn{Status: 429, Header: http.Header{"Retry-After-Ms": {"20"}}}
	case "overloaded":
		return llmtest.Turn{Status: 503, Header: http.Header{"Retry-After-Ms": {"20"}}}
	case "cut":
		return llmtest.Turn{Text: []string{"Let me"}, Cut: true}
	case "cutcall":
		broken := k.turn
		broken.Cut = true
		return broken
	case "silent":
		return llmtest.Turn{Text: []string{"Hm"}, Hang: true}
	}
	return k.turn
}

func hasTool(request map[string]any, name string) bool {
	tools, _ := json.Marshal(request["tools"])
	return strings.Contains(string(tools), `"`+name+`"`)
}

// collect finds the results of calls in a request of any of the three APIs.
func collect(v any, into map[string]string) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range []string{"tool_use_id", "tool_call_id"} {
			if id, ok := v[name].(string); ok {
				into[id] += flat(v["content"]) + " "
			}
		}
		if id, ok := v["call_id"].(string); ok && v["type"] == "function_call_output" {
			into[id] += flat(v["output"]) + " "
		}
		for _, inner := range v {
			collect(inner, into)
		}
	case []any:
		for _, inner := range v {
			collect(inner, into)
		}
	}
}

func flat(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		text := ""
		for _, part := range v {
			if o, ok := part.(map[string]any); ok {
				s, _ := o["text"].(string)
				text += s
			}
		}
		return text
	}
	return ""
}

// next judges the results of the last calls, sets the next turn, and returns the
// fault that comes before it.
func (k *dayTask) next(results []string, ledger bool) (fault string) {
	all := strings.Join(results, "\n")
	if k.at < len(k.steps) && k.phase != "" {
		step, done := k.steps[k.at], false
		mine := fmt.Sprintf("-%d-%d.", k.id, k.at)
		switch {
		case k.phase == "again": // after a denial; the host must not ask again
			done = true
		case step.kind == "deny" && strings.Contains(all, "denied"):
			k.phase = "again"
		case step.kind == "change" && k.phase == "mutate":
			k.phase = "ledger"
		case strings.Contains(all, "receipt"+mine), strings.Contains(all, "booked"+mine), strings.Contains(all, "seen"+mine):
			done = true
		case k.phase == "status" && strings.Contains(all, "absent"):
			k.phase = "post"
			k.try++
		case k.phase == "look": // it was stopped, and changes nothing
		default:
			k.phase = "status"
			k.asked++
			time.Sleep(min(time.Duration(k.asked)*50*time.Millisecond, time.Second))
		}
		if done {
			k.at, k.phase, k.try, k.asked = k.at+1, "", 0, 0
		}
	}
	if k.at == len(k.steps) {
		k.ids, k.turn = nil, llmtest.Turn{Text: []string{fmt.Sprintf("Task %d ", k.id), "is done."}}
		return ""
	}
	step := &k.steps[k.at]
	if k.phase == "" {
		fault, step.fault = step.fault, ""
		if k.phase = "post"; step.kind == "look" || step.kind == "looks" {
			k.phase = "look"
		} else if step.kind == "change" {
			k.phase = "mutate"
		}
	}
	if k.phase == "ledger" && !ledger {
		k.ids, k.turn = nil, llmtest.Turn{Text: []string{"ledger is not available: please approve it."}}
		return fault
	}
	call := func(tool string, in any) {
		k.n++
		args, _ := json.Marshal(in)
		id := fmt.Sprintf("c%dx%d", k.id, k.n)
		k.ids = append(k.ids, id)
		k.turn.Calls = append(k.turn.Calls, llm.ToolCall{ID: id, Name: "judge__" + tool, Arguments: args})
	}
	k.ids, k.turn = nil, llmtest.Turn{Text: []string{"Next."}, Usage: llm.Usage{Input: 100, Output: 10}}
	in := postIn{Task: k.id, Step: k.at, Try: k.try}
	switch k.phase {
	case "post", "again":
		if slices.Contains([]string{"before", "after", "hang"}, step.kind) {
			in.Fault = step.kind
		}
		call("post", in)
	case "ledger":
		call("ledger", in)
	case "mutate":
		call("mutate", struct{}{})
	case "status":
		in.Try = k.asked
		call("status", in)
	case "look":
		in.Try = 400
		call("look", in)
		for i := range 2 {
			if step.kind == "looks" {
				in.Try = 401 + i
				call("look", in)
			}
		}
	}
	return fault
}

// A scripted day: 40 tasks with faults of the model, of the server and of the
// person's patience. All end right, the person is not asked twice, every effect
// takes place once, and each acknowledged one is once in the saved session.
func TestScriptedDay(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	const tasks, group = 40, 5
	m := &dayModel{t: t, tasks: makeDay(rand.New(rand.NewPCG(20, 26)), tasks)}
	steps := 0
	for _, k := range m.tasks {
		steps += len(k.steps)
		if len(k.steps) < 2 || len(k.steps) > 30 {
			t.Fatalf("task %d has %d steps", k.id, len(k.steps))
		}
	}
	provider := llmtest.NewFunc(t, m.answer)
	var groups sync.WaitGroup
	room := make(chan struct{}, 4)
	for i := range tasks / group {
		groups.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			d := &dayGroup{t: t, m: m, provider: provider, n: i, dir: t.TempDir(), asked: map[string]int{}, acks: map[string]bool{}, sessions: map[int]string{}}
			d.work(m.tasks[i*group : (i+1)*group])
		})
	}
	groups.Wait()
	t.Logf("%d tasks, %d steps, %d requests to the model", tasks, steps, m.requests)
	m.figures.print(t)
}

// A dayGroup is some tasks that share a folder and a server.
type dayGroup struct {
	t        *testing.T
	m        *dayModel
	provider *llmtest.Server
	n        int
	dir      string
	w        *workspace.Workspace
	sessions map[int]string // by task

	mu    sync.Mutex
	turn  int
	asked map[string]int
	acks  map[string]bool // receipts that the host got
	ends  []string
}

// model returns a model of one of the three APIs.
func (d *dayGroup) model() llm.Model {
	key, idle := llmtest.Key, 3*time.Second
	switch d.n % 3 {
	case 0:
		return anthropic.New("claude-sonnet-4-5", &anthropic.Options{Key: key, BaseURL: d.provider.URL, Client: d.provider.Client(), Idle: idle})
	case 1:
		return openai.New("gpt-5", &openai.Options{Key: key, BaseURL: d.provider.V1(), Dialect: openai.OpenAI, API: openai.Chat, Client: d.provider.Client(), Idle: idle})
	}
	return openai.New("gpt-5", &openai.Options{Key: key, BaseURL: d.provider.V1(), Dialect: openai.OpenAI, API: openai.Responses, Client: d.provider.Client(), Idle: idle})
}

func (d *dayGroup) open() {
	judge := played(d.t, "judge")
	judge.Env[effectsVar] = d.dir
	w, err := workspace.Open(workspace.Options{Dir: filepath.Join(d.dir, "host"), Servers: []config.Server{judge}, Model: d.model(), Event: d.event, Host: host.Options{CallIdle: 5 * time.Second, MaxSteps: 200}})
	if err != nil {
		d.t.Fatal(err)
	}
	d.w = w
	ctx, stop := context.WithTimeout(d.t.Context(), long)
	defer stop()
	if err := w.Ready(ctx, "judge"); err != nil {
		d.t.Error(err)
	}
}

func (d *dayGroup) close() {
	if err := d.w.Close(); err != nil {
		d.t.Error(err)
	}
}

// event plays the person.
func (d *dayGroup) event(e host.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case e.Kind == host.EventResult:
		d.ends = append(d.ends, e.Result.Stop)
	case e.Kind == host.EventTool && e.Call.Phase == host.CallDone && e.Call.Result != nil:
		for _, c := range e.Call.Result.Content {
			if text, ok := c.(*mcp.TextContent); ok && strings.HasPrefix(text.Text, "receipt-") {
				d.acks[text.Text] = true
			}
		}
	case e.Kind == host.EventAsk && e.Ask.Kind == host.AskApproval:
		key := fmt.Sprint(d.turn, " ", e.Ask.Call.Tool, " ", string(e.Ask.Call.Arguments))
		if d.asked[key]++; d.asked[key] > 1 {
			d.t.Errorf("asked %d times: %s", d.asked[key], key)
		}
		var in postIn
		_ = json.Unmarshal(e.Ask.Call.Arguments, &in)
		reply := host.Reply{Action: "once"}
		switch step := d.step(in); {
		case e.Ask.Call.Tool == "status" || e.Ask.Call.Tool == "look":
			reply.Action = "session"
		case e.Ask.Call.Tool == "post" && step.kind == "deny":
			reply = host.Reply{Action: "deny", Reason: "not today"}
		}
		id := e.Ask.ID
		go func() { _ = d.w.Host.Reply(id, reply) }() // it fails if the turn has been stopped
	}
}

func (d *dayGroup) step(in postIn) dayStep {
	d.m.mu.Lock()
	defer d.m.mu.Unlock()
	if k := d.m.tasks[in.Task]; in.Step < len(k.steps) {
		return k.steps[in.Step]
	}
	return dayStep{}
}

// work does the tasks, and then judges.
func (d *dayGroup) work(tasks []*dayTask) {
	d.open()
	for _, k := range tasks {
		d.do(k)
	}
	d.close()
	d.judge(tasks)
}

// do does one task: the person approves changed tools, and resumes the session after
// a stop.
func (d *dayGroup) do(k *dayTask) {
	s := d.w.Host.NewSession()
	d.sessions[k.id] = s.ID
	text := fmt.Sprintf("Do task %d.", k.id)
	for round := 0; ; round++ {
		if round > 10 {
			d.t.Errorf("task %d does not end", k.id)
			return
		}
		d.mu.Lock()
		d.turn++
		d.mu.Unlock()
		ctx, stop := context.WithTimeout(d.t.Context(), 2*long)
		halted := d.haltAt(ctx, k, stop)
		err := s.Send(ctx, text)
		stop()
		switch last := lastText(s); {
		case <-halted:
			d.close()
			d.open()
			if s, err = d.w.Host.Session(d.sessions[k.id]); err != nil {
				d.t.Error(err)
				return
			}
			text = "Go on."
		case err != nil:
			d.t.Errorf("task %d: %v", k.id, err)
			return
		case strings.Contains(last, "please approve"):
			for _, tool := range d.w.Host.Tools(d.t.Context()) {
				if tool.Held != "" {
					if err := d.w.Book.Approve(tool.Server, tool.Tool); err != nil {
						d.t.Error(err)
					}
				}
			}
			text = "Approved, go on."
		case last == fmt.Sprintf("Task %d is done.", k.id):
			d.mu.Lock()
			end := d.ends[len(d.ends)-1]
			d.mu.Unlock()
			if end != "end" {
				d.t.Errorf("task %d ends with %s", k.id, end)
			}
			return
		default:
			d.t.Errorf("task %d ends with %q", k.id, last)
			return
		}
	}
}

// haltAt stops the turn when the model is at the step where the person does. The
// channel says whether it did.
func (d *dayGroup) haltAt(ctx context.Context, k *dayTask, stop func()) <-chan bool {
	halted := make(chan bool, 1)
	reached := func() bool {
		d.m.mu.Lock()
		defer d.m.mu.Unlock()
		if k.at < len(k.steps) && k.steps[k.at].stop {
			k.steps[k.at].stop = false
			return true
		}
		return false
	}
	go func() {
		for ctx.Err() == nil {
			if reached() {
				stop()
				halted <- true
				return
			}
			time.Sleep(time.Millisecond)
		}
		halted <- false
	}()
	return halted
}

func lastText(s *host.Session) string {
	all := s.Messages()
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Role == llm.RoleAssistant {
			return all[i].Text()
		}
	}
	return ""
}

// judge compares the effects with what was to be done, and the saved sessions with
// what was acknowledged.
func (d *dayGroup) judge(tasks []*dayTask) {
	raw, err := os.ReadFile(filepath.Join(d.dir, "effects"))
	if err != nil && !os.IsNotExist(err) {
		d.t.Error(err)
	}
	count := map[string]int{}
	for line := range strings.Lines(string(raw)) {
		count[strings.TrimSpace(line)]++
	}
	d.open()
	defer d.close()
	for _, k := range tasks {
		s, err := d.w.Host.Session(d.sessions[k.id])
		if err != nil {
			d.t.Error(err)
			continue
		}
		d.m.mu.Lock()
		d.m.figures.count(k, s, d.m.base)
		d.m.mu.Unlock()
		said, answered := map[string]int{}, map[string]int{}
		for _, m := range s.Messages() {
			for _, p := range m.Parts {
				if p.Result == nil {
					continue
				}
				answered[p.Result.CallID]++
				for _, receipt := range regexp.MustCompile(`receipt-\d+-\d+\.`).FindAllString(llm.Results(*p.Result).Text(), -1) {
					said[receipt]++
				}
			}
		}
		for id, n := range answered {
			if n != 1 {
				d.t.Errorf("task %d: call %s has %d results", k.id, id, n)
			}
		}
		for i, step := range k.steps {
			want, name := 1, fmt.Sprintf("%d-%d", k.id, i)
			if step.kind == "deny" || strings.HasPrefix(step.kind, "look") {
				want = 0
			}
			if count[name] != want {
				d.t.Errorf("task %d, step %d (%s): %d effects", k.id, i, step.kind, count[name])
			}
			if receipt := "receipt-" + name + "."; d.acks[receipt] && said[receipt] != 1 {
				d.t.Errorf("task %d, step %d (%s): acknowledged, and %d times in the session", k.id, i, step.kind, said[receipt])
			}
			delete(count, name)
		}
	}
	if d.n == 0 && len(d.acks) == 0 {
		d.t.Error("nothing was acknowledged")
	}
}
