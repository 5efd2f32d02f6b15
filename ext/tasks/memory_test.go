package tasks_test

import (
	"testing"

	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/ext/tasks/storetest"
)

// sharedMemory returns a function that returns the same store within one test.
func sharedMemory() func(t *testing.T) tasks.Store {
	stores := map[string]*tasks.Memory{}
	return func(t *testing.T) tasks.Store {
		if stores[t.Name()] == nil {
			stores[t.Name()] = &tasks.Memory{}
		}
		return stores[t.Name()]
	}
}

func TestMemory(t *testing.T) { storetest.Run(t, sharedMemory()) }

func TestManagersShareMemory(t *testing.T) { storetest.RunManagers(t, sharedMemory()) }
