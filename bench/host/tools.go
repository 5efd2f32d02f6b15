package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
)

// A labelled set is the tools of many servers and what people ask of them.
type labelled struct {
	servers []struct {
		Server string            `json:"server"`
		Tools  []json.RawMessage `json:"tools"`
	}
	questions []struct {
		Query string   `json:"query"`
		Want  []string `json:"want"`
		Held  bool     `json:"held"`
	}
}

func load(dir string) (*labelled, error) {
	var l labelled
	for file, v := range map[string]any{"tools.json": &l.servers, "queries.json": &l.questions} {
		data, err := os.ReadFile(dir + "/" + file)
		if err == nil {
			err = json.Unmarshal(data, v)
		}
		if err != nil {
			return nil, err
		}
	}
	return &l, nil
}

// shelf is a server that lists tools and does nothing.
func shelf(tools []json.RawMessage) mcp.Handler {
	list, err := json.Marshal(map[string]any{"tools": tools})
	if err != nil {
		panic(err)
	}
	return mcp.HandlerFunc(func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
		if c.Method == mcp.MethodToolsList {
			return mcp.Result{Body: list}, nil
		}
		return mcp.Result{}, mcp.Errorf(mcp.CodeMethodNotFound, "there is only a list of tools")
	})
}

// attach gives a host all servers of the set, and again under other names until
// there are that many tools.
func (l *labelled) attach(h *host.Host, atLeast int) error {
	n := 0
	for round := 0; round == 0 || n < atLeast; round++ {
		for _, s := range l.servers {
			name, tools := s.Server, s.Tools
			if round > 0 {
				name = fmt.Sprint(name, "-", round)
				tools = tools[:min(len(tools), atLeast-n)]
			}
			if len(tools) == 0 {
				continue
			}
			o := h.ClientOptions(name)
			if err := h.Attach(name, client.New(shelf(tools), &o), nil); err != nil {
				return err
			}
			n += len(tools)
		}
	}
	return nil
}

func manyTools(s *sheet, dir string) error {
	l, err := load(dir)
	if err != nil {
		return err
	}
	if err := l.cost(s); err != nil {
		return err
	}
	h := host.New(nil)
	defer h.Close()
	if err := l.attach(h, 0); err != nil {
		return err
	}
	ctx := context.Background()
	count := len(h.Tools(ctx))
	hits, all, best := 0, 0, 0
	began := time.Now()
	for _, q := range l.questions {
		if !q.Held {
			continue
		}
		all++
		found := h.Search(ctx, q.Query, 5)
		right := func(t host.Tool) bool { return slices.Contains(q.Want, t.Server+"/"+t.Tool.Name) }
		if slices.ContainsFunc(found, right) {
			hits++
		}
		if len(found) > 0 && right(found[0]) {
			best++
		}
	}
	took := time.Since(began) / time.Duration(max(1, all))
	at5, at1 := float64(hits)/float64(all), float64(best)/float64(all)
	s.put(fmt.Sprintf("recall@1 of the search, %d tools, %d questions held out", count, all), fmt.Sprintf("%.3f", at1), "", true)
	s.put("recall@5 of the search", fmt.Sprintf("%.3f", at5), "at least 0.9", at5 >= 0.9)
	s.put("a search, with the index made anew", ms(took), "", true)
	return nil
}

// cost is what the model is given of 500 tools, beside what all of them are.
func (l *labelled) cost(s *sheet) error {
	w, clean, err := open(nil, nil, `{"script":1,"model":{"provider":"script","name":"bench","context":200000}}`, `{"expect":{}}`, `{"text":"ok"}`)
	if err != nil {
		return err
	}
	defer clean()
	if err := l.attach(w.Host, 500); err != nil {
		return err
	}
	naive, n := 0, 0
	for _, t := range w.Host.Tools(context.Background()) {
		naive += host.Tokens(llm.Tool{Name: t.Name, Description: "[" + t.Server + "] " + t.Tool.Description, Schema: t.Tool.InputSchema})
		n++
	}
	session := w.Host.NewSession()
	if err := session.Send(context.Background(), "hello"); err != nil {
		return err
	}
	sent := 0
	for _, t := range session.LastRequest().Tools {
		sent += host.Tokens(t)
	}
	share := 100 * float64(sent) / float64(naive)
	s.put(fmt.Sprintf("tokens of schemas for %d tools, all of them", n), fmt.Sprint(naive), "", true)
	s.put("tokens of schemas that are sent", fmt.Sprint(sent), "", true)
	s.put("share of that", fmt.Sprintf("%.2f %%", share), "at most 2 %", share <= 2)
	return nil
}
