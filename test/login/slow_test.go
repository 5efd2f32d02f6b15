package login

import (
	"context"
	"testing"
	"time"

	authlogin "github.com/tenon-mcp/tenon/auth/login"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
)

// A person may take their time at the login: nothing that bounds how long a
// server may be silent counts while they type, neither when the server is met
// nor in a call, and the newest revision is spoken all the same.
//
// It runs by itself: what is bounded below is also how long a browser and the
// provider may take, which beside five others can be long.
func TestSlowPerson(t *testing.T) {
	p := startProvider(t, told{})
	ada := newPerson(t, "ada")
	ada.thinks = 35 * time.Second // longer than any limit below, each of which is long for a busy machine
	url := protected(t, p, "/mcp", readAndWrite(), nil)
	e := endpoint(t, url, &authlogin.Options{Loopback: ada.loopback()})
	e.Era.ConnectTimeout, e.Era.ProbeTimeout = 33*time.Second, 30*time.Second
	conn, err := e.Connect(t.Context(), (&client.Options{}).Profile())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if got := conn.Revision(); got != mcp.Revision("2026-07-28") {
		t.Errorf("%s is spoken with a server of 2026-07-28", got)
	}
	c := client.New(conn, &client.Options{IdleTimeout: 33 * time.Second})
	defer c.Close()
	if _, err := client.Call[string](context.Background(), c, "write", nil, nil); err != nil {
		t.Error(err)
	}
	ada.seen(t, 2)
}
