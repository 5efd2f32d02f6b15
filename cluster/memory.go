package cluster

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/cluster/internal/mailbox"
)

// Memory is a [Store] within one process. What it holds ends with it.
type Memory struct {
	epoch string

	mu     sync.Mutex
	closed bool
	last   int64 // version or log number given last
	items  map[itemKey]*item
	sweep  int // number of items at which expired ones are removed
	topics map[string]map[*mailbox.Mailbox]struct{}
}

var _ Store = (*Memory)(nil)

// A kind separates the keys of different things.
type kind byte

const (
	kindValue kind = iota
	kindUse
	kindLease
	kindGroup
	kindBucket
	kindLog
)

type itemKey struct {
	kind kind
	key  string
}

// An item is what is stored under a key; which fields are used depends on the
// kind.
type item struct {
	expires time.Time

	data    []byte // value
	version int64  // value

	owner string // lease

	members map[string]*item // group

	tokens float64   // bucket, at the time filled
	filled time.Time // bucket

	number  int64 // log: which of the logs that had this key
	first   int64 // log: sequence number of entries[0]
	size    int   // log: bytes of all entries
	entries [][]byte
}

const minSweep = 1024

// NewMemory returns an empty Memory.
func NewMemory() *Memory {
	return &Memory{
		epoch:  rand.Text(),
		items:  map[itemKey]*item{},
		topics: map[string]map[*mailbox.Mailbox]struct{}{},
		sweep:  minSweep,
	}
}

// begin checks ctx and the keys and locks the store; the caller unlocks it
// unless there is an error.
func (m *Memory) begin(ctx context.Context, keys ...string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := CheckKeys(keys...); err != nil {
		return err
	}
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return ErrClosed
	}
	return nil
}

// find returns the live item of a key, or nil.
func (m *Memory) find(k kind, key string) *item {
	it := m.items[itemKey{k, key}]
	if it == nil || !it.expires.After(time.Now()) {
		return nil
	}
	return it
}

// put stores an item and removes expired ones when many were added.
func (m *Memory) put(k kind, key string, it *item, ttl time.Duration) {
	now := time.Now()
	it.expires = now.Add(ttl)
	m.items[itemKey{k, key}] = it
	if len(m.items) < m.sweep {
		return
	}
	maps.DeleteFunc(m.items, func(_ itemKey, it *item) bool { return !it.expires.After(now) })
	m.sweep = max(minSweep, 2*len(m.items))
}

// next returns a number that grows.
func (m *Memory) next() int64 {
	m.last = max(m.last+1, time.Now().UnixMicro())
	return m.last
}

// Get implements [Store].
func (m *Memory) Get(ctx context.Context, key string, extend time.Duration) ([]byte, int64, error) {
	if err := m.begin(ctx, key); err != nil {
		return nil, 0, err
	}
	defer m.mu.Unlock()
	it := m.find(kindValue, key)
	if it == nil {
		return nil, 0, nil
	}
	if extend > 0 {
		it.expires = time.Now().Add(extend)
	}
	return bytes.Clone(it.data), it.version, nil
}

// Set implements [Store].
func (m *Memory) Set(ctx context.Context, key string, value []byte, version int64, ttl time.Duration) (int64, error) {
	if err := CheckValue(value); err != nil {
		return 0, err
	}
	if err := CheckTTL(ttl); err != nil {
		return 0, err
	}
	if err := m.begin(ctx, key); err != nil {
		return 0, err
	}
	defer m.mu.Unlock()
	var stored int64
	if it := m.find(kindValue, key); it != nil {
		stored = it.version
	}
	if version != AnyVersion && version != stored {
		return 0, ErrConflict
	}
	v := m.next()
	m.put(kindValue, key, &item{data: bytes.Clone(value), version: v}, ttl)
	return v, nil
}

// Delete implements [Store].
func (m *Memory) Delete(ctx context.Context, key string) error {
	if err := m.begin(ctx, key); err != nil {
		return err
	}
	defer m.mu.Unlock()
	delete(m.items, itemKey{kindValue, key})
	return nil
}

// Once implements [Store].
func (m *Memory) Once(ctx context.Context, key string, ttl time.Duration) (bool, error) {
	if err := CheckTTL(ttl); err != nil {
		return false, err
	}
	if err := m.begin(ctx, key); err != nil {
		return false, err
	}
	defer m.mu.Unlock()
	if m.find(kindUse, key) != nil {
		return false, nil
	}
	m.put(kindUse, key, &item{}, ttl)
	return true, nil
}

// Acquire implements [Store].
func (m *Memory) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (string, error) {
	if err := CheckTTL(ttl); err != nil {
		return "", err
	}
	if err := CheckKeys(owner); err != nil {
		return "", err
	}
	if err := m.begin(ctx, key); err != nil {
		return "", err
	}
	defer m.mu.Unlock()
	if it := m.find(kindLease, key); it != nil && it.owner != owner {
		return it.owner, nil
	}
	m.put(kindLease, key, &item{owner: owner}, ttl)
	return owner, nil
}

// Release implements [Store].
func (m *Memory) Release(ctx context.Context, key, owner string) error {
	if err := m.begin(ctx, key, owner); err != nil {
		return err
	}
	defer m.mu.Unlock()
	if it := m.find(kindLease, key); it != nil && it.owner == owner {
		delete(m.items, itemKey{kindLease, key})
	}
	return nil
}

// Register implements [Store].
func (m *Memory) Register(ctx context.Context, group, member string, data []byte, ttl time.Duration) error {
	if err := CheckValue(data); err != nil {
		return err
	}
	if err := CheckTTL(ttl); err != nil {
		return err
	}
	if err := m.begin(ctx, group, member); err != nil {
		return err
	}
	defer m.mu.Unlock()
	now := time.Now()
	g := m.find(kindGroup, group)
	if g == nil {
		g = &item{members: map[string]*item{}}
	}
	maps.DeleteFunc(g.members, func(_ string, it *item) bool { return !it.expires.After(now) })
	g.members[member] = &item{data: bytes.Clone(data), expires: now.Add(ttl)}
	m.put(kindGroup, group, g, max(ttl, g.expires.Sub(now)))
	return nil
}

// Unregister implements [Store].
func (m *Memory) Unregister(ctx context.Context, group, member string) error {
	if err := m.begin(ctx, group, member); err != nil {
		return err
	}
	defer m.mu.Unlock()
	if g := m.find(kindGroup, group); g != nil {
		delete(g.members, member)
	}
	return nil
}

// Members implements [Store].
func (m *Memory) Members(ctx context.Context, group string) (map[string][]byte, error) {
	if err := m.begin(ctx, group); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	members := map[string][]byte{}
	g := m.find(kindGroup, group)
	if g == nil {
		return members, nil
	}
	now := time.Now()
	for name, it := range g.members {
		if it.expires.After(now) {
			members[name] = bytes.Clone(it.data)
		}
	}
	return members, nil
}

// Take implements [Store].
func (m *Memory) Take(ctx context.Context, key string, n int, b Bucket) (time.Duration, error) {
	if err := b.Check(n); err != nil {
		return 0, err
	}
	if err := m.begin(ctx, key); err != nil {
		return 0, err
	}
	defer m.mu.Unlock()
	now := time.Now()
	tokens := float64(b.Burst)
	if it := m.find(kindBucket, key); it != nil {
		tokens = min(tokens, it.tokens+now.Sub(it.filled).Seconds()*b.Rate)
	}
	if missing := float64(n) - tokens; missing > TokenRounding {
		wait := min(missing/b.Rate*float64(time.Second), float64(MaxWait))
		return max(time.Microsecond, time.Duration(wait)), nil
	}
	tokens = min(float64(b.Burst), max(0, tokens-float64(n)))
	m.put(kindBucket, key, &item{tokens: tokens, filled: now}, b.FillTime())
	return 0, nil
}

// Append implements [Store].
func (m *Memory) Append(ctx context.Context, log string, data []byte, limit LogLimit) (string, error) {
	if err := limit.Check(data); err != nil {
		return "", err
	}
	if err := m.begin(ctx, log); err != nil {
		return "", err
	}
	defer m.mu.Unlock()
	l := m.find(kindLog, log)
	if l == nil {
		l = &item{number: m.next(), first: 1}
	}
	l.entries = append(l.entries, bytes.Clone(data))
	l.size += len(data)
	for len(l.entries) > limit.Entries || l.size > limit.Bytes {
		l.size -= len(l.entries[0])
		l.entries[0] = nil
		l.entries = l.entries[1:]
		l.first++
	}
	m.put(kindLog, log, l, limit.TTL)
	return position(l.number, l.first+int64(len(l.entries))-1), nil
}

// Read implements [Store].
func (m *Memory) Read(ctx context.Context, log, after string) ([]Entry, bool, error) {
	number, seq, err := ParsePosition(after)
	if err != nil {
		return nil, false, err
	}
	if err := m.begin(ctx, log); err != nil {
		return nil, false, err
	}
	defer m.mu.Unlock()
	l := m.find(kindLog, log)
	if l == nil {
		return nil, after == "", nil
	}
	complete := seq+1 >= l.first
	if after != "" && number != l.number {
		complete, seq = false, 0
	}
	skip := min(max(0, seq+1-l.first), int64(len(l.entries)))
	var entries []Entry
	for i, data := range l.entries[skip:] {
		entries = append(entries, Entry{Position: position(l.number, l.first+skip+int64(i)), Data: bytes.Clone(data)})
	}
	return entries, complete, nil
}

// position names an entry by the number of its log and its sequence number.
func position(number, seq int64) string {
	return strconv.FormatInt(number, 10) + "-" + strconv.FormatInt(seq, 10)
}

// Publish implements [Store].
func (m *Memory) Publish(ctx context.Context, topic string, data []byte) error {
	if err := CheckValue(data); err != nil {
		return err
	}
	if err := m.begin(ctx, topic); err != nil {
		return err
	}
	defer m.mu.Unlock() // Put only queues; it is within the lock for the order
	for box := range m.topics[topic] {
		box.Put(bytes.Clone(data))
	}
	return nil
}

// Subscribe implements [Store].
func (m *Memory) Subscribe(ctx context.Context, topic string, receive func(data []byte), lost func()) (func(), error) {
	if err := m.begin(ctx, topic); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	box := mailbox.Open(receive, lost)
	if m.topics[topic] == nil {
		m.topics[topic] = map[*mailbox.Mailbox]struct{}{}
	}
	m.topics[topic][box] = struct{}{}
	return func() {
		m.mu.Lock()
		delete(m.topics[topic], box)
		if len(m.topics[topic]) == 0 {
			delete(m.topics, topic)
		}
		m.mu.Unlock()
		box.Close()
	}, nil
}

// Epoch implements [Store].
func (m *Memory) Epoch(ctx context.Context) (string, error) {
	if err := m.begin(ctx); err != nil {
		return "", err
	}
	defer m.mu.Unlock()
	return m.epoch, nil
}

// Now implements [Store].
func (m *Memory) Now(ctx context.Context) (time.Time, error) {
	if err := m.begin(ctx); err != nil {
		return time.Time{}, err
	}
	defer m.mu.Unlock()
	return time.Now(), nil
}

// Close implements [Store].
func (m *Memory) Close() error {
	m.mu.Lock()
	topics := m.topics
	m.closed, m.topics, m.items = true, nil, nil
	m.mu.Unlock()
	for _, boxes := range topics {
		for _, box := range slices.Collect(maps.Keys(boxes)) {
			box.Close()
		}
	}
	return nil
}

// ParsePosition returns the parts of a position in a log: the number of the log
// and the sequence number of the entry. They are 0 for the start of any log.
func ParsePosition(s string) (number, seq int64, err error) {
	if s == "" {
		return 0, 0, nil
	}
	n, rest, ok := strings.Cut(s, "-")
	number, err = strconv.ParseInt(n, 10, 64)
	if ok && err == nil {
		seq, err = strconv.ParseInt(rest, 10, 64)
	}
	if !ok || err != nil || number < 1 || seq < 1 {
		return 0, 0, errors.New("cluster store: invalid position in a log")
	}
	return number, seq, nil
}
