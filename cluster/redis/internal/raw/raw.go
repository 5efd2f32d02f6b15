// Package raw is how the packages below cluster/redis use the connection of a
// store, with its timeouts, its prefix and its rules for outages.
package raw

import (
	"context"

	"github.com/redis/rueidis"
)

// A Conn is the connection of a store. A result that is nil in Redis is no error.
type Conn interface {
	// Key returns the key of something of a kind. The name decides the slot in a
	// Redis Cluster. Kinds have more than one letter: the others are the store's.
	Key(kind, name string) string
	// Channel returns the channel of a topic.
	Channel(topic string) string
	// Clustered reports whether there are several nodes.
	Clustered() bool
	// Script runs a script. Its keys are in one slot.
	Script(ctx context.Context, l *rueidis.Lua, keys []string, args ...string) (rueidis.RedisResult, error)
	// Commands runs commands, in no order. It returns the first error.
	Commands(ctx context.Context, build func(rueidis.Builder) []rueidis.Completed) ([]rueidis.RedisResult, error)
}
