package redis_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/tenon-mcp/tenon/cluster"
	"github.com/tenon-mcp/tenon/cluster/redis"
	"github.com/tenon-mcp/tenon/internal/logtest"
	"github.com/tenon-mcp/tenon/internal/redistest"
)

const secret = "hunter2-hunter2"

func TestURLs(t *testing.T) {
	for raw, want := range map[string]string{
		"http://:" + secret + "@h":                         "does not start with redis://",
		"redis://:" + secret + "@h:port":                   "invalid URL",
		"redis://:" + secret + "@":                         "invalid URL",
		"redis://:" + secret + "@h/%zz":                    "invalid URL",
		"redis://:" + secret + "@h/users":                  "number of a database",
		"redis://:" + secret + "@h/-1":                     "number of a database",
		"redis://:" + secret + "@h?db=1":                   `unknown parameter "db"`,
		"redis://:" + secret + "@h?addr=h2":                "several addresses",
		"redis://:" + secret + "@h?cluster=1":              "can only be true",
		"redis://:" + secret + "@h/1?cluster=true":         "only the database 0",
		"redis://:" + secret + "@h?cluster=true&master=m":  "exclude each other",
		"redis://:" + secret + "@h?ca=f":                   "rediss://",
		"rediss://:" + secret + "@h?ca=/no/such/file":      "read the CA certificates",
		"rediss://:" + secret + "@h?cert=/no/such/file":    "read the client certificate",
		"redis://:" + secret + "@h;x?sentinel_password=%z": "invalid URL",
		"redis://u:" + secret + "@127.0.0.1:1":             "unavailable",
	} {
		_, err := redis.Open(t.Context(), raw, &redis.Options{Timeout: 5 * time.Second, Log: quiet})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v, want %s", raw, err, want)
		}
	}
}

// A lockedBuffer is a buffer for concurrent use.
type lockedBuffer = logtest.Buffer

// Neither errors nor log messages contain a password, also a wrong one.
func TestPasswordsStaySecret(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, nil)
	password := func(p string) {
		t.Helper()
		if got := server.Do("ACL", "SETUSER", "ada", "on", "resetpass", ">"+p, "~*", "&*", "+@all"); got != "+OK" {
			t.Fatal(got)
		}
		server.Do("CLIENT", "KILL", "USER", "ada")
	}
	password(secret)
	var log lockedBuffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	_, err := redis.Open(t.Context(), server.WithUser("ada", secret+"x"), &redis.Options{Log: logger})
	if !errors.Is(err, cluster.ErrUnavailable) || !strings.Contains(err.Error(), "WRONGPASS") || strings.Contains(err.Error(), secret) {
		t.Errorf("a wrong password: %v", err)
	}
	s := open(t, server.WithUser("ada", secret), &redis.Options{Log: logger})
	password("another")
	// try repeats an operation until done reports true of its error.
	try := func(done func(error) bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			err := s.Delete(t.Context(), "k")
			if err != nil && (!errors.Is(err, cluster.ErrUnavailable) || strings.Contains(err.Error(), secret)) || time.Now().After(end) {
				t.Fatalf("the password was changed: %v", err)
			}
			if done(err) {
				return
			}
		}
	}
	try(func(err error) bool { return err != nil && strings.Contains(err.Error(), "WRONGPASS") })
	password(secret)
	try(func(err error) bool { return err == nil })
	if text := log.String(); strings.Contains(text, secret) || !strings.Contains(text, "Redis is unavailable") || !strings.Contains(text, "available again") {
		t.Errorf("the log: %s", text)
	}
}

// The clock of the process does not matter: the store has that of Redis.
func TestTimeIsThatOfRedis(t *testing.T) {
	t.Parallel()
	m := miniredis.RunT(t)
	long := time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)
	m.SetTime(long)
	s := open(t, "redis://"+m.Addr()+"/2?prefix=other:", nil)
	now, err := s.Now(t.Context())
	if d := now.Sub(long); err != nil || d < 0 || d > time.Hour {
		t.Errorf("%v, %v, want about %v", now, err, long)
	}
	for _, key := range m.DB(2).Keys() {
		if !strings.HasPrefix(key, "other:") {
			t.Errorf("the key %q does not have the prefix", key)
		}
	}
	if len(m.DB(2).Keys()) == 0 {
		t.Error("the store does not use the database of its URL")
	}
}

// A Redis Cluster passes the same tests, and replicas that know different nodes
// share everything.
func TestRedisCluster(t *testing.T) {
	t.Parallel()
	nodes := redistest.StartCluster(t, 3)
	t.Run("suite", func(t *testing.T) { runReal(t, nodes...) })
	for _, s := range nodes {
		if strings.HasPrefix(s.Do("DBSIZE"), ":0") {
			t.Errorf("the node %s has no keys", s.Addr)
		}
	}
}
