package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// neighbourVar makes the test binary a server of 2025-06-18 that behaves as its
// value says. All have the tools pid, which returns the id of the process, and
// large, which returns 5 MB.
//
//	good      as it should
//	floods    sends log messages as fast as it can
//	garbage   writes lines that are no messages as fast as it can
//	storm     changes its list 100 times a second
//	hangs     never responds
//	dies      ends at once
const neighbourVar = "TENON_TEST_NEIGHBOUR"

func serveNeighbour(how string) {
	var mu sync.Mutex
	write := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Printf(format+"\n", args...)
	}
	switch how {
	case "dies":
		os.Exit(3)
	case "hangs":
		time.Sleep(time.Hour)
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Name string }
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		result := `{}`
		switch m.Method {
		case "initialize":
			result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true},"logging":{}},"serverInfo":{"name":"neighbour","version":"1"}}`
			go misbehave(how, write)
		case "tools/list":
			result = `{"tools":[{"name":"pid","inputSchema":{"type":"object"}},{"name":"large","inputSchema":{"type":"object"}}]}`
		case "tools/call":
			text := fmt.Sprint(os.Getpid())
			if m.Params.Name == "large" {
				text = strings.Repeat("x", 5<<20)
			}
			result = fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, text)
		case "ping", "logging/setLevel":
		default:
			write(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown method"}}`, m.ID)
			continue
		}
		write(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}
}

// misbehave does what the neighbour does besides.
func misbehave(how string, write func(format string, args ...any)) {
	for {
		switch how {
		case "floods":
			write(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"flood"}}`)
		case "garbage":
			write("this is no message")
		case "storm":
			write(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			time.Sleep(10 * time.Millisecond)
		default:
			return
		}
	}
}

// neighbours writes a project with servers by name: each is how it behaves, and
// after a space further members of its entry, such as `,"timeout":"2s"`.
func neighbours(t testing.TB, servers map[string]string) (dir string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var entries []string
	for name, more := range servers {
		how, more, _ := strings.Cut(more, " ")
		entries = append(entries, fmt.Sprintf(`%q:{"command":%q,"env":{%q:%q,"GORACE":"atexit_sleep_ms=0"}%s}`, name, self, neighbourVar, how, more))
	}
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ".mcp.json"), []byte(`{"mcpServers":{`+strings.Join(entries, ",")+`}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}
