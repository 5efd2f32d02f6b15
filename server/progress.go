package server

import (
	"strconv"
	"sync"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// Progress tells the caller how far a call has come, if it wants to know. done
// must grow from one time to the next; what does not is dropped. A total of 0
// means that nobody knows it.
func Progress(c *mcp.Call, done, total float64, message string) {
	if !c.Progress || c.Side == nil {
		return
	}
	params, err := mcp.Marshal(mcp.ProgressParams{Progress: done, Total: total, Message: message})
	if err == nil {
		c.Tell(mcp.Note{Method: mcp.NoteProgress, Params: params})
	}
}

// rising returns a call whose progress only rises, as the protocol wants it.
func rising(c *mcp.Call) *mcp.Call {
	if !c.Progress || c.Side == nil {
		return c
	}
	var mu sync.Mutex // a tool may tell from many goroutines
	var last float64
	started := false
	side, copied := c.Side, *c
	copied.Side = func(n mcp.Note) {
		if n.Method == mcp.NoteProgress {
			mu.Lock()
			defer mu.Unlock()
			done, err := strconv.ParseFloat(string(rawjson.Lookup(n.Params, "progress")), 64)
			if err != nil || started && done <= last {
				return
			}
			last, started = done, true
		}
		side(n)
	}
	return &copied
}
