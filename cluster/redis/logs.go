package redis

import (
	"context"
	"errors"
	"strconv"

	"github.com/redis/rueidis"

	"github.com/tenon-mcp/tenon/cluster"
)

// A log is a Redis stream. The ids of its entries are its number, which no other
// log with its name has, and a sequence number without gaps, so a reader sees
// where entries were dropped. An entry has its data and the number of bytes that
// were appended before it.

// appendScript appends ARGV[1] and keeps at most ARGV[2] entries and ARGV[3]
// bytes for ARGV[4] ms.
var appendScript = rueidis.NewLuaScript(`
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
local number, seq, before
if last then
	number, seq = string.match(last[1], '^(%d+)-(%d+)$')
	seq = seq + 1
	before = last[2][2] + #last[2][4]
else
	local t = redis.call('TIME')
	number, seq, before = string.format('%.0f', t[1] * 1000000 + t[2]), 1, 0
end
local id = number .. '-' .. string.format('%.0f', seq)
redis.call('XADD', KEYS[1], 'MAXLEN', '=', ARGV[2], id, 'before', string.format('%.0f', before), 'data', ARGV[1])
local total, limit = before + #ARGV[1], tonumber(ARGV[3])
while total > limit do
	local first = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1]
	if total - first[2][2] <= limit then break end
	redis.call('XDEL', KEYS[1], first[1])
end
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return id`)

// Append implements [cluster.Store].
func (s *Store) Append(ctx context.Context, log string, data []byte, limit cluster.LogLimit) (string, error) {
	if err := errors.Join(cluster.CheckKeys(log), limit.Check(data)); err != nil {
		return "", err
	}
	r, err := s.script(ctx, appendScript, s.key(kindLog, log), string(data), strconv.Itoa(limit.Entries), strconv.Itoa(limit.Bytes), milliseconds(limit.TTL))
	if err != nil {
		return "", err
	}
	return r.ToString()
}

// readScript returns the id of the first entry and all entries after the one with
// the log number ARGV[1] and the sequence number ARGV[2]; all if the log has
// another number.
var readScript = rueidis.NewLuaScript(`
local first = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1]
if not first then return {''} end
local from = '-'
if string.match(first[1], '^(%d+)-') == ARGV[1] then from = ARGV[1] .. '-' .. string.format('%.0f', ARGV[2] + 1) end
local answer = {first[1]}
for _, e in ipairs(redis.call('XRANGE', KEYS[1], from, '+')) do
	answer[#answer + 1] = e[1]
	answer[#answer + 1] = e[2][4]
end
return answer`)

// Read implements [cluster.Store].
func (s *Store) Read(ctx context.Context, log, after string) ([]cluster.Entry, bool, error) {
	number, seq, err := cluster.ParsePosition(after)
	if err := errors.Join(err, cluster.CheckKeys(log)); err != nil {
		return nil, false, err
	}
	r, err := s.script(ctx, readScript, s.key(kindLog, log), strconv.FormatInt(number, 10), strconv.FormatInt(seq, 10))
	if err != nil {
		return nil, false, err
	}
	answer, err := r.AsStrSlice()
	if err != nil || len(answer) == 0 {
		return nil, false, errors.New("redis: unexpected answer of a script")
	}
	if answer[0] == "" {
		return nil, after == "", nil
	}
	stored, first, err := cluster.ParsePosition(answer[0])
	if err != nil {
		return nil, false, err
	}
	var entries []cluster.Entry
	for i := 1; i+1 < len(answer); i += 2 {
		entries = append(entries, cluster.Entry{Position: answer[i], Data: []byte(answer[i+1])})
	}
	return entries, (after == "" || number == stored) && seq+1 >= first, nil
}
