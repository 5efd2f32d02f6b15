package redis

import (
	"context"

	"github.com/redis/rueidis"

	"github.com/tenon-mcp/tenon/cluster/redis/internal/raw"
)

// Raw returns the connection for other stores of Tenon on the same Redis, such
// as that of package redistasks.
func (s *Store) Raw() raw.Conn { return rawConn{s} }

type rawConn struct{ s *Store }

func (c rawConn) Key(kind, name string) string { return c.s.key(kind, name) }

func (c rawConn) Channel(topic string) string { return c.s.hub.prefix + topic }

func (c rawConn) Clustered() bool { return c.s.clustered() }

func (c rawConn) Script(ctx context.Context, l *rueidis.Lua, keys []string, args ...string) (rueidis.RedisResult, error) {
	return c.s.do(ctx, func(ctx context.Context, client rueidis.Client) rueidis.RedisResult {
		return l.Exec(ctx, client, keys, args)
	})
}

func (c rawConn) Commands(ctx context.Context, build func(rueidis.Builder) []rueidis.Completed) (all []rueidis.RedisResult, err error) {
	_, err = c.s.do(ctx, func(ctx context.Context, client rueidis.Client) (first rueidis.RedisResult) {
		all = client.DoMulti(ctx, build(client.B())...)
		for _, r := range all {
			if first = r; r.Error() != nil && !rueidis.IsRedisNil(r.Error()) {
				break
			}
		}
		return first
	})
	return all, err
}
