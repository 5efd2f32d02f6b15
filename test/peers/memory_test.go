package peers

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
)

// A graph is what the memory server keeps.
type graph struct {
	Entities []struct {
		Name         string   `json:"name"`
		EntityType   string   `json:"entityType"`
		Observations []string `json:"observations"`
	} `json:"entities"`
	Relations []struct {
		From         string `json:"from"`
		To           string `json:"to"`
		RelationType string `json:"relationType"`
	} `json:"relations"`
}

const graphURI = "memory://knowledge-graph"

// TestMemory fills the memory server, reads it back in three ways, hears of
// changes, and goes on after the server was killed.
func TestMemory(t *testing.T) {
	parallel(t)
	file := filepath.Join(t.TempDir(), "memory.jsonl")
	r := meet(t, "server-memory", nil, map[string]string{"MEMORY_FILE_PATH": file}, client.Options{})
	equal(t, "tools", r.tools(), []string{"add_observations", "create_entities", "create_relations", "delete_entities",
		"delete_observations", "delete_relations", "open_nodes", "read_graph", "search_nodes"})
	news := r.listen(mcp.SubscriptionFilter{ResourceSubscriptions: []string{graphURI}})

	var want graph
	fill := `{"entities":[{"name":"Ada","entityType":"person","observations":["writes programs"]},` +
		`{"name":"Engine","entityType":"machine","observations":[]}],` +
		`"relations":[{"from":"Ada","to":"Engine","relationType":"programs"}]}`
	if err := json.Unmarshal([]byte(fill), &want); err != nil {
		t.Fatal(err)
	}
	r.call("create_entities", map[string]any{"entities": want.Entities})
	r.heard(news, mcp.NotificationResourceUpdated)
	r.call("create_relations", map[string]any{"relations": want.Relations})
	r.remembers(want)
	if text := r.read(graphURI).Text; !strings.Contains(text, `"Engine"`) {
		t.Errorf("the resource says %s", text)
	}
	if data, err := os.ReadFile(file); err != nil || !strings.Contains(string(data), "writes programs") {
		t.Errorf("on disk: %s, %v", data, err)
	}

	// The server dies. Tenon starts it again, subscribes again, and since
	// nobody knows what was missed it tells of a change.
	conn, err := r.server.Connection(r.ctx())
	if err != nil {
		t.Fatal(err)
	}
	news.Reset()
	process, err := os.FindProcess(conn.Child().Pid())
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-conn.Done()
	r.heard(news, mcp.NotificationResourceUpdated)
	r.remembers(want)
	news.Reset()
	r.call("delete_entities", map[string]any{"entityNames": []string{"Engine"}})
	r.heard(news, mcp.NotificationResourceUpdated)
	want.Entities, want.Relations = want.Entities[:1], want.Relations[:0]
	r.remembers(want)
}

func (r *reference) remembers(want graph) {
	r.t.Helper()
	got, err := client.Call[graph](r.ctx(), r.Client, "read_graph", nil, nil)
	if err != nil || !reflect.DeepEqual(got, want) {
		r.t.Errorf("read_graph: %+v, %v; want %+v", got, err, want)
	}
}
