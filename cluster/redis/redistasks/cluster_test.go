package redistasks_test

import (
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/cluster/redis"
	"github.com/tenon-mcp/tenon/ext/tasks/storetest"
	"github.com/tenon-mcp/tenon/internal/redistest"
	"github.com/tenon-mcp/tenon/internal/tasktest"
)

// On a Redis Cluster tasks are on all nodes; each script uses keys of one slot. A change whose hint was lost between
// the nodes is seen all the same.
func TestRedisCluster(t *testing.T) {
	nodes := redistest.StartCluster(t, 3)
	t.Run("suite", func(t *testing.T) { storetest.Run(t, real(nodes[0])) })
	t.Run("managers", func(t *testing.T) { storetest.RunManagers(t, real(nodes[1])) })
	t.Run("lost hints", func(t *testing.T) {
		s := open(t, nodes[0].URL, redis.Options{Prefix: "lost:", Timeout: 30 * time.Second})
		ids := []string{"one", "two", "three", "four", "five"}
		changed := make(map[string]chan struct{})
		for _, id := range ids {
			r := record(id)
			if err := s.Create(t.Context(), r, 100); err != nil {
				t.Fatal(err)
			}
			seen := make(chan struct{}, 1)
			changed[id] = seen
			defer s.Watch(id, func() {
				select {
				case seen <- struct{}{}:
				default:
				}
			})()
			// A change that publishes nothing, at the node that has the task.
			for _, n := range nodes {
				if got := n.Do("HINCRBY", "lost:task:{"+id+"}", "v", "1"); !strings.HasPrefix(got, "-MOVED") && got != ":2" {
					t.Fatalf("the key is another now: %s", got)
				}
			}
		}
		for _, id := range ids {
			select {
			case <-changed[id]:
			case <-time.After(tasktest.HangGuard):
				t.Fatalf("the change of %q is not seen", id)
			}
			if r, err := s.Get(t.Context(), id); err != nil || r.Version != 2 {
				t.Errorf("%q: %+v %v", id, r, err)
			}
		}
	})
}
