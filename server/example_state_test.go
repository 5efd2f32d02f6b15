package server_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// baskets are what callers have put aside. A basket is found with the handle
// that opening it returned, and only by the principal who opened it.
type baskets struct {
	mu  sync.Mutex
	all map[string][]string // by owner and handle
}

func (b *baskets) open(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
	handle := rand.Text()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all[c.Caller.Principal.Key()+handle] = []string{}
	return handle, nil
}

type put struct {
	Basket string `json:"basket" doc:"what open_basket returned"`
	Item   string `json:"item"`
}

func (b *baskets) put(_ context.Context, c *mcp.Call, in put) (string, error) {
	key := c.Caller.Principal.Key() + in.Basket
	b.mu.Lock()
	defer b.mu.Unlock()
	items, ok := b.all[key]
	if !ok {
		return "", errors.New("there is no such basket: open one with open_basket")
	}
	b.all[key] = append(items, in.Item)
	return fmt.Sprint(len(items)+1, " in the basket"), nil
}

// State that lasts from one call to the next has a handle, which is an argument
// of the calls. This works for clients of every revision, with and without
// sessions.
func Example_stateAcrossCalls() {
	s := server.New(mcp.Implementation{Name: "shop", Version: "1.0"}, nil)
	b := &baskets{all: map[string][]string{}}
	server.AddTool(s, "open_basket", "Open a basket, and return its handle", b.open, nil)
	server.AddTool(s, "put_in_basket", "Put an item into a basket", b.put, nil)

	ctx := context.Background()
	c := client.New(s, nil)
	defer c.Close()
	opened, err := c.CallTool(ctx, "open_basket", nil, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	handle := opened.Content.Text()
	for _, p := range []put{{handle, "tea"}, {handle, "cup"}, {"guessed", "tea"}} {
		res, err := c.CallTool(ctx, "put_in_basket", p, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(res.Content.Text())
	}
	// Output:
	// 1 in the basket
	// 2 in the basket
	// there is no such basket: open one with open_basket
}
