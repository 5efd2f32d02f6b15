// Command httpmem measures what idle sessions and open streams cost a server
// in resident memory and goroutines: Tenon in both eras, as a GET of a session
// and as subscriptions/listen, beside a bare net/http handler that holds a
// stream open.
//
//	go run ./httpmem -sessions 20000 -streams 2000
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/freeport"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

func main() {
	role := flag.String("serve", "", "play this server (used by the program itself)")
	addr := flag.String("addr", "", "where to listen")
	sessions := flag.Int("sessions", 20_000, "how many idle sessions")
	streams := flag.Int("streams", 2_000, "how many open streams")
	flag.Parse()
	if *role != "" {
		serve(*role, *addr)
		return
	}
	if err := measure(*sessions, *streams); err != nil {
		log.Fatal(err)
	}
}

func measure(sessions, streams int) error {
	if err := with("tenon", func(addr string, state func() (int, int)) error {
		rss, gor := state()
		if _, err := open(addr, sessions); err != nil {
			return err
		}
		after, gorAfter := state()
		fmt.Printf("tenon: %d idle sessions: %.2f KiB resident each, %d goroutines more\n", sessions, float64(after-rss)/float64(sessions)/1024, gorAfter-gor)
		return nil
	}); err != nil {
		return err
	}
	cost := map[string]float64{}
	for _, role := range []string{"silent floor", "floor", "tenon", "tenon, modern", "tenon within net/http", "tenon within net/http, modern"} {
		err := with(role, func(addr string, state func() (int, int)) error {
			ids := make([]string, streams)
			if !strings.HasSuffix(role, "modern") {
				var err error
				if ids, err = open(addr, streams); err != nil {
					return err
				}
			}
			first, err := listen(addr, ids[0]) // which brings code into memory that all of them share
			if err != nil {
				return err
			}
			first.Close()
			rss, gor := state()
			for _, id := range ids {
				c, err := listen(addr, id)
				if err != nil {
					return err
				}
				defer c.Close()
			}
			after, gorAfter := state()
			cost[role] = float64(after-rss) / float64(streams) / 1024
			fmt.Printf("%s: %d open streams: %.1f KiB resident each, %.2f goroutines each\n", role, streams, cost[role], float64(gorAfter-gor)/float64(streams))
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, role := range []string{"tenon", "tenon, modern", "tenon within net/http", "tenon within net/http, modern"} {
		fmt.Printf("%s: an open stream costs %.2f x a bare one that has sent an event, as ours has, and %.2f x one that has sent nothing\n", role, cost[role]/cost["floor"], cost[role]/cost["silent floor"])
	}
	return nil
}

// with runs a server while f looks at it. state collects garbage and returns
// the resident bytes and the number of goroutines.
func with(role string, f func(addr string, state func() (rss, goroutines int)) error) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	addr, err := freeport.Addr()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, "-serve", role, "-addr", addr)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	for range 200 {
		if c, err := net.Dial("tcp", addr); err == nil {
			c.Close()
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return f(addr, func() (int, int) {
		var rss, gor int
		for range 3 {
			res, err := http.Get("http://" + addr + "/state")
			if err != nil {
				log.Fatal(err)
			}
			fmt.Fscan(res.Body, &rss, &gor)
			res.Body.Close()
			time.Sleep(200 * time.Millisecond)
		}
		return rss, gor
	})
}

const (
	initBody  = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{"listChanged":true},"sampling":{},"elicitation":{}},"clientInfo":{"name":"httpmem","version":"1"}}}`
	readyBody = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

// open opens sessions that then say nothing more.
func open(addr string, n int) (ids []string, err error) {
	for range n {
		res, err := post(addr, "", initBody)
		if err != nil {
			return nil, err
		}
		id := res.Header.Get("Mcp-Session-Id")
		if _, err := post(addr, id, readyBody); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	http.DefaultClient.CloseIdleConnections()
	return ids, nil
}

func post(addr, session, body string) (*http.Response, error) {
	req, err := http.NewRequest("POST", "http://"+addr+"/mcp", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	if res.StatusCode >= 300 {
		err = fmt.Errorf("status %s", res.Status)
	}
	return res, err
}

// listenBody opens a stream of the newest revision.
const listenBody = `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"httpmem","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`

// listen opens a stream on a raw socket, that of a session or, without one, of
// the newest revision, and waits for its headers.
func listen(addr, session string) (net.Conn, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	if session == "" {
		fmt.Fprintf(c, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\nContent-Length: %d\r\n\r\n%s", addr, len(listenBody), listenBody)
	} else {
		fmt.Fprintf(c, "GET /mcp HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\nMcp-Session-Id: %s\r\n\r\n", addr, session)
	}
	r := bufio.NewReaderSize(c, 1024)
	line, err := r.ReadString('\n')
	if err == nil && !strings.Contains(line, "200") {
		err = fmt.Errorf("the stream was refused: %s", line)
	}
	return c, err
}

func serve(role, addr string) {
	mux := http.NewServeMux()
	mux.HandleFunc("/state", func(w http.ResponseWriter, _ *http.Request) {
		debug.FreeOSMemory()
		raw, _ := os.ReadFile("/proc/self/statm")
		var size, resident int
		fmt.Sscan(string(raw), &size, &resident)
		fmt.Fprintln(w, resident*os.Getpagesize(), runtime.NumGoroutine())
	})
	switch role {
	case "tenon", "tenon, modern", "tenon within net/http", "tenon within net/http, modern":
		s := server.New(mcp.Implementation{Name: "mem", Version: "1"}, nil)
		server.AddTool(s, "echo", "echoes", func(_ context.Context, _ *mcp.Call, in struct {
			Msg string `json:"msg"`
		}) (string, error) {
			return in.Msg, nil
		}, nil)
		h, err := streamable.NewHandler(s, &streamable.Options{TakeOver: !strings.Contains(role, "within")}) // as streamable.Serve does, or not
		if err != nil {
			log.Fatal(err)
		}
		mux.Handle("/mcp", h)
		l, err := net.Listen("tcp", addr)
		if err != nil {
			log.Fatal(err)
		}
		web := streamable.NewHTTPServer(mux)
		log.Fatal(web.Serve(streamable.StrictListener(web, l)))
	case "floor", "silent floor":
		mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				io.Copy(io.Discard, r.Body)
				w.Header().Set("Mcp-Session-Id", "x")
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			if role == "floor" { // a silent one leaves a buffer of net/http untouched
				io.WriteString(w, "id: 1\ndata: \n\n")
			}
			http.NewResponseController(w).Flush()
			<-r.Context().Done()
		})
	}
	log.Fatal(http.ListenAndServe(addr, mux))
}
