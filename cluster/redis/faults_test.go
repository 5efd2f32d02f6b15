//go:build unix

package redis_test

import (
	"context"
	"errors"
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/cluster"
	"github.com/tenon-mcp/tenon/cluster/redis"
	"github.com/tenon-mcp/tenon/internal/redistest"
)

// hangGuard is how long something may take that never does. It is not a measure.
const hangGuard = time.Minute

// eventually repeats f until it reports true.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(hangGuard); !f(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("timeout while waiting until " + what)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func set(t *testing.T, s *redis.Store, key, value string) int64 {
	t.Helper()
	version, err := s.Set(t.Context(), key, []byte(value), cluster.AnyVersion, time.Hour)
	must(t, err)
	return version
}

// recovers waits until the store can be used.
func recovers(t *testing.T, s *redis.Store) {
	t.Helper()
	eventually(t, "the store recovers", func() bool {
		_, err := s.Set(t.Context(), "probe", nil, cluster.AnyVersion, time.Hour)
		if err != nil && !errors.Is(err, cluster.ErrUnavailable) {
			t.Fatal(err)
		}
		return err == nil
	})
}

// unavailable fails the test unless every method says that Redis is away. Called
// during an outage, each returns without waiting: there are so many calls that
// the test would end otherwise.
func unavailable(t *testing.T, s *redis.Store) {
	t.Helper()
	ctx, start := t.Context(), time.Now()
	for range 500 {
		_, _, err1 := s.Get(ctx, "k", time.Hour)
		_, err2 := s.Acquire(ctx, "k", "me", time.Hour)
		_, err3 := s.Epoch(ctx)
		_, err4 := s.Subscribe(ctx, "t", func([]byte) {}, func() {})
		err5 := s.Publish(ctx, "t", nil)
		for _, err := range []error{err1, err2, err3, err4, err5} {
			if !errors.Is(err, cluster.ErrUnavailable) {
				t.Fatalf("%v, want %v", err, cluster.ErrUnavailable)
			}
		}
	}
	if time.Since(start) > hangGuard {
		t.Error("a store that is known to be away makes callers wait")
	}
}

// loses waits until an operation finds that Redis is away.
func loses(t *testing.T, s *redis.Store) {
	t.Helper()
	eventually(t, "Redis is away", func() bool {
		_, _, err := s.Get(t.Context(), "k", time.Hour)
		if err != nil && !errors.Is(err, cluster.ErrUnavailable) {
			t.Fatal(err)
		}
		return err != nil
	})
}

func epochOf(t *testing.T, s *redis.Store) string {
	t.Helper()
	id, err := s.Epoch(t.Context())
	must(t, err)
	return id
}

func TestRestartedEmpty(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, nil)
	s, other := open(t, server.URL, nil), open(t, server.URL, nil)
	set(t, s, "k", "v")
	before := epochOf(t, s)
	server.Kill()
	loses(t, s)
	unavailable(t, s)
	server.Restart()
	recovers(t, s)
	after := epochOf(t, s)
	if after == before {
		t.Error("the epoch is that of the lost data")
	}
	if _, version, err := s.Get(t.Context(), "k", 0); version != 0 || err != nil {
		t.Errorf("version %d, %v of a lost value", version, err)
	}
	// A replica that made no call meanwhile learns it as well.
	recovers(t, other)
	if got := epochOf(t, other); got != after {
		t.Errorf("epoch %q for one replica, %q for the other", after, got)
	}
}

func TestRestartedWithData(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, &redistest.Options{Keep: true})
	s := open(t, server.URL, nil)
	version, before := set(t, s, "k", "v"), epochOf(t, s)
	_, err := s.Acquire(t.Context(), "lease", "ada", time.Hour)
	must(t, err)
	_, err = s.Once(t.Context(), "use", time.Hour)
	must(t, err)
	position, err := s.Append(t.Context(), "log", []byte("1"), cluster.LogLimit{Entries: 9, Bytes: 9, TTL: time.Hour})
	must(t, err)
	server.Restart()
	recovers(t, s)
	if value, got, err := s.Get(t.Context(), "k", 0); string(value) != "v" || got != version || err != nil {
		t.Errorf("%q with version %d, %v, want v with %d", value, got, err, version)
	}
	if holder, err := s.Acquire(t.Context(), "lease", "bob", time.Hour); holder != "ada" || err != nil {
		t.Errorf("%q has the lease, %v", holder, err)
	}
	if first, err := s.Once(t.Context(), "use", time.Hour); first || err != nil {
		t.Errorf("a use is forgotten: %v, %v", first, err)
	}
	if _, complete, err := s.Read(t.Context(), "log", position); !complete || err != nil {
		t.Errorf("the log is not continued: %v, %v", complete, err)
	}
	if got := epochOf(t, s); got != before {
		t.Error("the epoch has changed though the data are there")
	}
}

// A server that does not answer, but keeps its connections, costs each waiting
// caller the timeout and everybody after them nothing.
func TestRedisThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, nil)
	s := open(t, server.URL, &redis.Options{Timeout: 200 * time.Millisecond})
	publisher := open(t, server.URL, &redis.Options{Timeout: 200 * time.Millisecond})
	received, lost := make(chan string, 1000), make(chan bool, 1000)
	stop, err := s.Subscribe(t.Context(), "t", func(data []byte) { received <- string(data) }, func() { lost <- true })
	must(t, err)
	defer stop()
	recovers(t, s)
	before := epochOf(t, s)
	version := set(t, s, "k", "v")

	server.Pause()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := s.Get(ctx, "k", 0); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled call: %v", err)
	}
	loses(t, s)
	unavailable(t, s)
	time.Sleep(2 * time.Second) // longer than pings and the timeout
	unavailable(t, s)
	server.Resume()

	recovers(t, s)
	if got := epochOf(t, s); got != before {
		t.Error("the epoch has changed though the data are there")
	}
	if _, got, err := s.Get(t.Context(), "k", 0); got != version || err != nil {
		t.Errorf("version %d, %v, want %d", got, err, version)
	}
	select {
	case <-lost:
	case <-time.After(hangGuard):
		t.Fatal("the subscriber does not learn that messages may be missing")
	}
	recovers(t, publisher)
	must(t, publisher.Publish(t.Context(), "t", []byte("after")))
	for {
		select {
		case got := <-received:
			if got == "after" {
				return
			}
		case <-time.After(hangGuard):
			t.Fatal("the subscription does not go on")
		}
	}
}

func TestLostSubscription(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, nil)
	s := open(t, server.URL, nil)
	events := make(chan string, 100)
	stop, err := s.Subscribe(t.Context(), "t", func(data []byte) { events <- string(data) }, func() { events <- "lost" })
	must(t, err)
	defer stop()
	for range 3 {
		if got := server.Do("CLIENT", "KILL", "TYPE", "pubsub"); got != ":1" {
			t.Fatalf("killed %s connections", got)
		}
		select {
		case got := <-events:
			if got != "lost" {
				t.Fatalf("received %q, want the loss", got)
			}
		case <-time.After(hangGuard):
			t.Fatal("the loss is not signalled")
		}
		must(t, s.Publish(t.Context(), "t", []byte("again")))
		if got := <-events; got != "again" {
			t.Fatalf("received %q", got)
		}
	}
}

func TestFullMemory(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, &redistest.Options{Config: []string{"maxmemory 8mb", "maxmemory-policy noeviction"}})
	s := open(t, server.URL, nil)
	set(t, s, "k", "v")
	var err error
	n := 0
	for ; err == nil && n < 1000; n++ {
		_, err = s.Set(t.Context(), "fill"+strconv.Itoa(n), make([]byte, 100_000), 0, time.Hour)
	}
	if !errors.Is(err, cluster.ErrFull) || errors.Is(err, cluster.ErrUnavailable) {
		t.Fatalf("after %d values: %v, want %v", n, err, cluster.ErrFull)
	}
	for i := 0; i < 100_000 && err == nil; i++ { // there may be room for something small
		_, err = s.Once(t.Context(), "use"+strconv.Itoa(i), time.Hour)
	}
	if !errors.Is(err, cluster.ErrFull) {
		t.Errorf("once: %v", err)
	}
	if value, _, err := s.Get(t.Context(), "k", time.Hour); string(value) != "v" || err != nil {
		t.Errorf("get: %q, %v", value, err)
	}
	epochOf(t, s)
	for i := range n {
		must(t, s.Delete(t.Context(), "fill"+strconv.Itoa(i)))
	}
	set(t, s, "k", "w")
}

func TestReplicaThatIsReadOnly(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, nil)
	s := open(t, server.URL, nil)
	set(t, s, "k", "v")
	server.Do("REPLICAOF", "127.0.0.1", "1")
	_, err := s.Set(t.Context(), "k", nil, cluster.AnyVersion, time.Hour)
	if !errors.Is(err, cluster.ErrUnavailable) || !strings.Contains(err.Error(), "READONLY") {
		t.Errorf("write to a replica: %v", err)
	}
	unavailable(t, s)
	server.Do("REPLICAOF", "NO", "ONE")
	recovers(t, s)
	eventually(t, "a subscription works on the new connection", func() bool {
		stop, err := s.Subscribe(t.Context(), "t", func([]byte) {}, func() {})
		if err == nil {
			stop()
		}
		return err == nil
	})
}

func TestForgottenScripts(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, nil)
	s := open(t, server.URL, nil)
	version := set(t, s, "k", "v")
	server.Do("SCRIPT", "FLUSH")
	if next := set(t, s, "k", "w"); next <= version {
		t.Errorf("version %d after %d", next, version)
	}
}

// Emptying a running server begins a new epoch, which replicas notice although
// their connections go on.
func TestEmptiedRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, nil)
	s := open(t, server.URL, nil)
	stop, err := s.Subscribe(t.Context(), "t", func([]byte) {}, func() {}) // all connections are made
	must(t, err)
	defer stop()
	before := epochOf(t, s)
	server.Do("FLUSHALL")
	server.Do("CONFIG", "RESETSTAT")
	eventually(t, "the epoch changes", func() bool {
		var wg sync.WaitGroup
		defer wg.Wait()
		for range 50 {
			wg.Go(func() { _, _ = s.Epoch(t.Context()) })
		}
		return epochOf(t, s) != before
	})
	calls := regexp.MustCompile(`cmdstat_evalsha:calls=(\d+)`).FindStringSubmatch(server.Do("INFO", "commandstats") + "cmdstat_evalsha:calls=0")
	if n, err := strconv.Atoi(calls[1]); err != nil || n < 1 || n > 5 { // 1 unless the machine stalls
		t.Errorf("callers read the epoch %d times, want once", n)
	}
}

// A store that finds its primary by Sentinel goes on with the replica that
// replaces it.
func TestSentinelFailover(t *testing.T) {
	t.Parallel()
	primary := redistest.Start(t, nil)
	host, port, _ := net.SplitHostPort(primary.Addr)
	replica := redistest.Start(t, &redistest.Options{Config: []string{
		"replicaof " + host + " " + port, "masterauth \"" + redistest.Password + "\"",
	}})
	sentinel := redistest.StartSentinel(t, primary)
	s := open(t, "redis://:"+url.QueryEscape(redistest.Password)+"@"+sentinel.Addr+"?master=main", nil)
	events := make(chan string, 100)
	stop, err := s.Subscribe(t.Context(), "t", func(data []byte) { events <- string(data) }, func() {})
	must(t, err)
	defer stop()
	eventually(t, "the replica follows", func() bool {
		return strings.Contains(replica.Do("INFO", "replication"), "master_link_status:up")
	})
	set(t, s, "k", "v")
	if got := primary.Do("WAIT", "1", "10000"); got != ":1" {
		t.Fatalf("%s replicas have the value", got)
	}
	eventually(t, "the sentinel knows the replica", func() bool {
		return strings.Contains(sentinel.Do("SENTINEL", "REPLICAS", "main"), replica.Addr)
	})
	primary.Kill()
	loses(t, s)
	recovers(t, s)
	if value, _, err := s.Get(t.Context(), "k", 0); string(value) != "v" || err != nil {
		t.Errorf("%q, %v after the failover", value, err)
	}
	eventually(t, "the subscription goes on", func() bool {
		_ = s.Publish(t.Context(), "t", []byte("again"))
		return len(events) > 0
	})
}

// A Redis Cluster that loses a node is unavailable for what that node had, and
// the store goes on when the node is back.
func TestRedisClusterLosesANode(t *testing.T) {
	t.Parallel()
	nodes := redistest.StartCluster(t, 3)
	s := open(t, nodes[0].URL, nil)
	const keys = 30 // on every node
	use := func() (failed int) {
		for i := range keys {
			_, err := s.Set(t.Context(), strconv.Itoa(i), nil, cluster.AnyVersion, time.Hour)
			if err != nil && !errors.Is(err, cluster.ErrUnavailable) {
				t.Fatal(err)
			}
			if err != nil {
				failed++
			}
		}
		return failed
	}
	if n := use(); n > 0 {
		t.Fatalf("%d of %d operations fail", n, keys)
	}
	nodes[1].Kill()
	eventually(t, "operations fail", func() bool { return use() > 0 })
	nodes[1].Restart()
	eventually(t, "all operations succeed", func() bool { return use() == 0 })
}
