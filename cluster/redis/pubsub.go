package redis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/tenon-mcp/tenon/cluster"
	"github.com/tenon-mcp/tenon/cluster/internal/mailbox"
)

// A hub receives the messages of all topics over one connection, which it
// restores when it is lost.
type hub struct {
	s      *Store
	prefix string // of channels

	mu     sync.Mutex
	topics map[string]map[*mailbox.Mailbox]struct{} // by channel
	conn   rueidis.DedicatedClient                  // nil while there is none
	ready  chan struct{}                            // closed when there is a connection for the first time
	once   bool                                     // there was a connection
}

func (h *hub) init(s *Store) {
	h.s, h.prefix = s, s.prefix+kindTopic+":"
	if db := s.option.SelectDB; db != 0 { // Redis has the same channels for all databases
		h.prefix = s.prefix + kindTopic + strconv.Itoa(db) + ":"
	}
	h.topics, h.ready = map[string]map[*mailbox.Mailbox]struct{}{}, make(chan struct{})
}

// run keeps a connection with all subscriptions until the Store is closed.
func (h *hub) run() {
	for wait := firstProbe; h.s.ctx.Err() == nil; wait = min(2*wait, slowProbe) {
		if h.s.outage.Load() == nil && h.serve() {
			wait = firstProbe
		}
		select {
		case <-h.s.ctx.Done():
		case <-time.After(wait):
		}
	}
}

// serve subscribes to all topics and receives until the connection ends. It
// reports whether there was one.
func (h *hub) serve() bool {
	conn, release := h.s.client().Dedicate()
	defer release()
	ended := conn.SetPubSubHooks(rueidis.PubSubHooks{OnMessage: h.receive})
	h.mu.Lock()
	channels := append(slices.Collect(maps.Keys(h.topics)), h.prefix)
	h.conn = conn // who subscribes from now on uses it
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		h.conn = nil
		h.mu.Unlock()
	}()
	err := h.locate(conn)
	if err == nil {
		err = h.subscribe(h.s.ctx, conn, channels...)
	}
	if err != nil {
		if err, away := explain(err); away && h.s.ctx.Err() == nil {
			h.s.lose(err)
		}
		return false
	}
	h.restored()
	select {
	case <-ended:
	case <-h.s.ctx.Done():
	}
	return true
}

// locate connects to the node of a Redis Cluster that publishes messages, so that
// they do not depend on the connections between nodes.
func (h *hub) locate(conn rueidis.DedicatedClient) error {
	if !h.s.clustered() {
		return nil
	}
	ctx, cancel := context.WithTimeout(h.s.ctx, h.s.timeout)
	defer cancel()
	return conn.Do(ctx, conn.B().Exists().Key(h.node()).Build()).Error()
}

// node returns a key of the node of a Redis Cluster that publishes messages.
func (h *hub) node() string { return h.s.key(kindTopic, "publisher") }

// restored tells all subscribers that messages may be missing, unless there was
// no connection before.
func (h *hub) restored() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.once {
		h.once = true
		close(h.ready)
		return
	}
	for _, boxes := range h.topics {
		for box := range boxes {
			box.Lost()
		}
	}
}

// subscribe subscribes to channels and waits for the confirmation.
func (h *hub) subscribe(ctx context.Context, conn rueidis.DedicatedClient, channels ...string) error {
	ctx, cancel := context.WithTimeout(ctx, h.s.timeout)
	defer cancel()
	return conn.Do(ctx, conn.B().Subscribe().Channel(channels...).Build()).Error()
}

// receive queues a message; it must not block.
func (h *hub) receive(m rueidis.PubSubMessage) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for box := range h.topics[m.Channel] {
		box.Put([]byte(m.Message))
	}
}

// disconnect closes the connection, which run restores.
func (h *hub) disconnect() {
	h.mu.Lock()
	conn := h.conn
	h.mu.Unlock()
	if conn != nil {
		conn.Close()
	}
}

// close ends all subscriptions.
func (h *hub) close() {
	h.mu.Lock()
	topics := h.topics
	h.topics = nil
	h.mu.Unlock()
	for _, boxes := range topics {
		for box := range boxes {
			box.Close()
		}
	}
}

// add adds a subscriber and returns the connection. ok is false if there is none.
func (h *hub) add(channel string, box *mailbox.Mailbox) (conn rueidis.DedicatedClient, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.topics == nil || h.conn == nil {
		return nil, false
	}
	if h.topics[channel] == nil {
		h.topics[channel] = map[*mailbox.Mailbox]struct{}{}
	}
	h.topics[channel][box] = struct{}{}
	return h.conn, true
}

// remove removes a subscriber. The last one of a channel unsubscribes.
func (h *hub) remove(channel string, box *mailbox.Mailbox) {
	h.mu.Lock()
	boxes := h.topics[channel]
	_, had := boxes[box]
	delete(boxes, box)
	last := had && len(boxes) == 0
	if last {
		delete(h.topics, channel)
	}
	conn := h.conn
	h.mu.Unlock()
	box.Close()
	if last && conn != nil {
		h.unsubscribe(conn, channel)
	}
}

// unsubscribe ends what the server sends for a channel. If another subscriber
// came meanwhile, it subscribes again.
func (h *hub) unsubscribe(conn rueidis.DedicatedClient, channel string) {
	ctx, cancel := context.WithTimeout(h.s.ctx, h.s.timeout)
	defer cancel()
	_ = conn.Do(ctx, conn.B().Unsubscribe().Channel(channel).Build()).Error() // what still comes is dropped
	h.mu.Lock()
	again := len(h.topics[channel]) > 0
	h.mu.Unlock()
	if again {
		_ = h.subscribe(h.s.ctx, conn, channel)
		h.lost(channel)
	}
}

func (h *hub) lost(channel string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for box := range h.topics[channel] {
		box.Lost()
	}
}

// Publish implements [cluster.Store].
func (s *Store) Publish(ctx context.Context, topic string, data []byte) error {
	if err := errors.Join(cluster.CheckKeys(topic), cluster.CheckValue(data)); err != nil {
		return err
	}
	if s.clustered() {
		_, err := s.script(ctx, publishScript, s.hub.node(), s.hub.prefix+topic, string(data))
		return err
	}
	_, err := s.command(ctx, func(c rueidis.Client) rueidis.Completed {
		return c.B().Publish().Channel(s.hub.prefix + topic).Message(string(data)).Build()
	})
	return err
}

// publishScript publishes at the node of a Redis Cluster that has KEYS[1]: only
// messages of one node have an order.
var publishScript = rueidis.NewLuaScript(`return redis.call('PUBLISH', ARGV[1], ARGV[2])`)

// Subscribe implements [cluster.Store].
func (s *Store) Subscribe(ctx context.Context, topic string, receive func(data []byte), lost func()) (func(), error) {
	if err := errors.Join(cluster.CheckKeys(topic), ctx.Err()); err != nil {
		return nil, err
	}
	if s.ctx.Err() != nil {
		return nil, cluster.ErrClosed
	}
	if o := s.outage.Load(); o != nil {
		return nil, o.err
	}
	timed, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	select {
	case <-s.hub.ready:
	case <-timed.Done():
	case <-s.ctx.Done():
	}
	channel, box := s.hub.prefix+topic, mailbox.Open(receive, lost)
	conn, ok := s.hub.add(channel, box)
	err := fmt.Errorf("redis: %w: not connected", cluster.ErrUnavailable)
	if ok {
		err = s.hub.subscribe(ctx, conn, channel)
	}
	if err == nil {
		return func() { s.hub.remove(channel, box) }, nil
	}
	s.hub.remove(channel, box)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case s.ctx.Err() != nil:
		return nil, cluster.ErrClosed
	case !ok:
		return nil, err
	}
	err, _ = explain(err)
	return nil, err
}
