package redis_test

import (
	"fmt"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/cluster"
	"github.com/tenon-mcp/tenon/cluster/redis"
	"github.com/tenon-mcp/tenon/internal/redistest"
)

// What each thing costs in Redis is at most what docs/scale-out.md says.
func TestSizes(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, nil)
	s := open(t, server.URL, &redis.Options{Timeout: 30 * time.Second})
	used := func() int {
		n, err := strconv.Atoi(regexp.MustCompile(`used_memory:(\d+)`).FindStringSubmatch(server.Do("INFO", "memory"))[1])
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	ctx := t.Context()
	digest := func(i int) string { return fmt.Sprintf("%043d", i) } // as long as one in base64
	for _, c := range []struct {
		what string
		most int // bytes
		f    func(i int) error
	}{
		{"a used proof", 300, func(i int) error {
			_, err := s.Once(ctx, "dpop "+digest(0)+" "+digest(i), time.Hour)
			return err
		}},
		{"a mark of a session", 260, func(i int) error {
			_, err := s.Set(ctx, "session/"+digest(i), []byte("1"), 0, time.Hour)
			return err
		}},
		{"a count of a limit", 300, func(i int) error {
			_, err := s.Take(ctx, "limit "+digest(i), 1, cluster.Bucket{Rate: 1, Burst: 10})
			return err
		}},
		{"a login of 2 kB", 2800, func(i int) error {
			_, err := s.Set(ctx, "login "+digest(i), make([]byte, 2000), 0, time.Hour)
			return err
		}},
	} {
		const n, callers = 10_000, 50
		before := used()
		var wg sync.WaitGroup
		for from := range callers {
			wg.Go(func() {
				for i := from; i < n; i += callers {
					if err := c.f(i); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		each := (used() - before) / n
		t.Logf("%s: %d bytes", c.what, each)
		if each > c.most {
			t.Errorf("%s costs %d bytes, more than %d", c.what, each, c.most)
		}
	}
}
