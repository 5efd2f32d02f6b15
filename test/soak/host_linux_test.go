package soak

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/store"
	"github.com/tenon-mcp/tenon/app/wirelog"
	"github.com/tenon-mcp/tenon/app/workspace"
	"github.com/tenon-mcp/tenon/internal/redact"
	"github.com/tenon-mcp/tenon/internal/tasktest"
)

// The host is a process of its own. Its model calls a tool that returns the text
// of the user, and repeats the result. It prints a line for each turn that it has
// acknowledged, and keeps the last sessions.
const (
	turnsOfASession = 5
	keptSessions    = 20
)

// hostSettings is what the process of the host gets, as JSON on standard input.
type hostSettings struct {
	Dir     string
	Servers []config.Server
}

func playHost() {
	var set hostSettings
	tasktest.Check(json.NewDecoder(os.Stdin).Decode(&set))
	secrets := &redact.Values{}
	w, err := workspace.Open(workspace.Options{Dir: set.Dir, Servers: set.Servers, Model: parrot{}, Unattended: true,
		Log: wirelog.NewLog(&wirelog.LogOptions{MaxMessages: 1000, MaxBytes: 1 << 20, Secrets: secrets}), Secrets: secrets,
		Settings: config.Settings{Rules: []config.Rule{{Effect: config.Allow, Server: "*", Tool: "*"}}, ToolSearch: config.ToolSearch{Mode: config.ToolSearchNever}},
		Host:     host.Options{CallIdle: 10 * time.Second}})
	tasktest.Check(err)
	ctx := context.Background()
	var kept []string
	for n := 0; ; n++ {
		s := w.Host.NewSession()
		for turn := range turnsOfASession {
			text := fmt.Sprintf("host-%d-%d", n, turn)
			began := time.Now()
			res, err := s.SendInput(ctx, host.Input{Data: text}, nil)
			took := time.Since(began)
			switch {
			case err != nil:
				fmt.Printf("failed %s %v\n", text, err)
			default:
				fmt.Printf("turn %s %s %d %q\n", s.ID, text, took.Milliseconds(), res.Answer)
			}
			time.Sleep(300 * time.Millisecond)
		}
		if kept = append(kept, s.ID); len(kept) > keptSessions {
			fmt.Println("delete", kept[0])
			if err := w.Host.DeleteSession(kept[0]); err != nil {
				fmt.Println("failed to delete", kept[0], err)
			}
			kept = kept[1:]
		}
	}
}

// A parrot is a model that calls a tool with what the user says, each time another
// one of those that are there, and then says the result.
type parrot struct{}

func (parrot) Info() llm.Info { return llm.Info{Provider: "script", Name: "parrot"} }

func (parrot) Stream(_ context.Context, r *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		lastOne := r.Messages[len(r.Messages)-1]
		answer, stop := llm.Message{Role: llm.RoleAssistant}, llm.StopEnd
		var echoes []string
		for _, tool := range r.Tools {
			if strings.HasSuffix(tool.Name, "echo") {
				echoes = append(echoes, tool.Name)
			}
		}
		text, heard := "there is no tool", false
		for _, p := range lastOne.Parts {
			if p.Kind == llm.PartToolResult {
				text, heard = "heard", true
				for _, q := range p.Result.Parts {
					text += " " + q.Text
				}
			}
		}
		if !heard && len(echoes) > 0 {
			arguments, _ := json.Marshal(said{Text: lastOne.Text()})
			call := &llm.ToolCall{ID: fmt.Sprint("c", len(r.Messages)), Name: echoes[len(r.Messages)/4%len(echoes)], Arguments: arguments}
			answer.Parts, stop = []llm.Part{{Kind: llm.PartToolCall, Call: call}}, llm.StopToolCalls
			if !yield(llm.Event{Kind: llm.EventCall, Call: call}, nil) {
				return
			}
		} else {
			answer.Parts = []llm.Part{llm.Text(text)}
			if !yield(llm.Event{Kind: llm.EventText, Text: text}, nil) {
				return
			}
		}
		yield(llm.Event{Kind: llm.EventDone, Stop: stop, Message: &answer}, nil)
	}
}

// hostLog reads what the host prints.
func (r *run) hostLog(lines *bufio.Scanner) {
	for lines.Scan() {
		var id, text, answer string
		var millis int
		line := lines.Text()
		r.mu.Lock()
		switch {
		case strings.HasPrefix(line, "delete "):
			delete(r.hostSessions, strings.TrimPrefix(line, "delete "))
		case strings.HasPrefix(line, "turn "):
			if _, err := fmt.Sscanf(line, "turn %s %s %d %q", &id, &text, &millis, &answer); err != nil {
				r.problem("the host printed %q: %v", line, err)
				break
			}
			r.hostSessions[id] = append(r.hostSessions[id], text)
			r.hostTurns++
			switch {
			case strings.Contains(answer, text):
				r.hostAnswers++
				r.latency["host"] = append(r.latency["host"], time.Duration(millis)*time.Millisecond)
			case strings.Contains(answer, "host-"):
				r.crossed = append(r.crossed, fmt.Sprintf("the host said %s and heard %q", text, answer))
			}
		default:
			r.hostFailed++
			r.reasons["host: "+clip(line)]++
		}
		r.mu.Unlock()
	}
}

// checkHost looks whether the sessions of the host have the turns that it had
// acknowledged.
func (r *run) checkHost() (checked int, lost []string) {
	db, err := store.Open(filepath.Join(r.dir, "host", "sessions.db"))
	if err != nil {
		return 0, []string{err.Error()}
	}
	defer db.Close()
	for id, turns := range r.hostSessions {
		saved, err := db.Load(id)
		if err != nil {
			lost = append(lost, fmt.Sprintf("session %s with %d turns: %v", id, len(turns), err))
			continue
		}
		all, err := json.Marshal(saved.Rows)
		if err != nil {
			lost = append(lost, err.Error())
		}
		for _, text := range turns {
			checked++
			if !strings.Contains(string(all), text) {
				lost = append(lost, "turn "+text+" of session "+id)
			}
		}
	}
	return checked, lost
}
