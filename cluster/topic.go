package cluster

import (
	"context"
	"log/slog"
	"strings"
	"time"
)

// A Topic carries messages between the replicas of a cluster: each message
// reaches the subscribers at all other replicas. Nothing is stored.
type Topic struct {
	r    *Replica
	name string
}

// Topic returns the topic with this name.
func (r *Replica) Topic(name string) *Topic { return &Topic{r, "topic/" + name} }

// Publish sends a message to the other replicas. It logs an error.
func (t *Topic) Publish(data []byte) {
	message := append([]byte(t.r.id+" "), data...)
	ctx, cancel := context.WithTimeout(t.r.ctx, publishTimeout)
	defer cancel()
	if err := t.r.store.Publish(ctx, t.name, message); err != nil && t.r.ctx.Err() == nil {
		t.r.opts.Logger.Error("message not published to other replicas", slog.String("topic", t.name), slog.Any("error", err))
	}
}

const publishTimeout = 5 * time.Second

// Subscribe calls receive with each message of another replica, one at a time in
// order, until stop is called. It calls lost after messages may have been missed.
func (t *Topic) Subscribe(receive func(data []byte), lost func()) (stop func(), err error) {
	ctx, cancel := context.WithTimeout(t.r.ctx, publishTimeout)
	defer cancel()
	return t.r.store.Subscribe(ctx, t.name, func(message []byte) {
		from, data, _ := strings.Cut(string(message), " ")
		if from != t.r.id {
			receive([]byte(data))
		}
	}, lost)
}
