package tasks_test

import (
	"testing"

	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/ext/tasks/storetest"
)

func TestMemory(t *testing.T) {
	stores := map[string]*tasks.Memory{}
	storetest.Run(t, func(t *testing.T) tasks.Store {
		if stores[t.Name()] == nil {
			stores[t.Name()] = &tasks.Memory{}
		}
		return stores[t.Name()]
	})
}
