package main

import (
	"context"
	"sync"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/choose"
)

// A modelRegistry opens the models that the page offers, and closes a model when
// another replaces it.
type modelRegistry struct {
	p    *program
	mu   sync.Mutex
	open *choose.Choice
}

func (m *modelRegistry) list(ctx context.Context) []string {
	names := []string{"none"}
	for _, f := range choose.Survey(ctx, nil) {
		if f.Problem != "" {
			continue
		}
		if len(f.Models) == 0 {
			names = append(names, f.Provider)
		}
		for _, one := range f.Models {
			names = append(names, f.Provider+"/"+one)
		}
	}
	return names
}

func (m *modelRegistry) choose(ctx context.Context, name string) (llm.Model, error) {
	c, err := m.p.choose(ctx, name)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	old := m.open
	m.open = c
	m.mu.Unlock()
	return c.Model, closeChoice(old)
}

func (m *modelRegistry) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := closeChoice(m.open); err != nil {
		m.p.note("%v", err)
	}
}

func closeChoice(c *choose.Choice) error {
	if c == nil || c.Close == nil {
		return nil
	}
	return c.Close()
}
