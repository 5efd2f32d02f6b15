package web

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/recording"
	"github.com/tenon-mcp/tenon/app/speccheck"
)

// A view cannot fill the audit log: what it may write at once, and over time, is
// limited.
func TestViewCannotFillTheAuditLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &sandbox{views: map[string]*shownView{}}
		v := &shownView{View: host.View{Server: "s"}}
		_, v.close = context.WithCancel(t.Context())
		b.add(v)
		written := 0
		request := func(size int) error {
			one, err := b.begin(v.ID, size)
			if err == nil {
				written += size
				b.end(one)
			}
			return err
		}
		for request(100<<10) == nil {
		}
		if written < auditBurst-(100<<10) || written > auditBurst {
			t.Errorf("a view wrote %d bytes at once", written)
		}
		if request(0) != nil {
			t.Error("a request that is not audited was refused")
		}
		time.Sleep(10 * time.Second)
		for request(1<<10) == nil {
		}
		if most := auditBurst + 11*auditRate; written > most || written < auditBurst+9*auditRate {
			t.Errorf("after 10 seconds, %d bytes were written", written)
		}
		if _, err := b.begin("other", 0); !errors.Is(err, errViewClosed) {
			t.Error(err)
		}
	})
}

// The page under [::1] shows no views: no policy can name it.
func TestPagesThatShowViews(t *testing.T) {
	for host, want := range map[string]bool{"127.0.0.1:80": true, "127.0.0.2:80": true, "localhost:80": true, "LOCALHOST": true, "[::1]:80": false, "[::1]": false, "[::ffff:127.0.0.1]:80": false, "10.0.0.1:80": false, "localhost.evil.example": false} {
		if got := showsViews(host); got != want {
			t.Errorf("%s: %v", host, got)
		}
	}
}

// The feed keeps the latest events, up to a number of bytes, and a page that
// missed some finds a gap.
func TestFeedIsBoundedInBytes(t *testing.T) {
	f := newFeed()
	large := strings.Repeat("x", 5<<20)
	for range 40 {
		f.put("call", large)
	}
	total := 0
	events, gap := f.since(0, 100)
	for _, e := range events {
		total += len(e.data)
	}
	if !gap || total > feedBytes || total < feedBytes/2 || f.bytes != total {
		t.Errorf("the feed keeps %d bytes in %d events, and counts %d; gap %v", total, len(events), f.bytes, gap)
	}
	if events, gap := f.since(39, 100); gap || len(events) != 1 {
		t.Errorf("the latest: %d events, gap %v", len(events), gap)
	}
	f.put("call", strings.Repeat("x", feedBytes))
	if events, gap := f.since(40, 100); gap || len(events) != 1 {
		t.Errorf("an event that is too large by itself: %d events, gap %v", len(events), gap)
	}
	for range 3 * feedSize {
		f.put("small", 1)
	}
	events, _ = f.since(f.last()-feedSize, 2*feedSize)
	if len(events) != feedSize || f.bytes > 2*feedSize {
		t.Errorf("the feed keeps %d events, and counts %d bytes", len(events), f.bytes)
	}
}

// Failed calls are counted by how the call ended, not by the text of a message.
func TestFailedCallsAreCounted(t *testing.T) {
	s := newSite(t, nil).enter()
	wire := s.work.Log.Wire("node")
	add := func(dir speccheck.Dir, kind speccheck.Kind, frame string) {
		wire.Add(speccheck.Message{At: time.Now(), Dir: dir, Kind: kind, Frame: []byte(frame)})
	}
	wire.Event(recording.TapConnected)
	for i, end := range []struct {
		kind  speccheck.Kind
		frame string
	}{
		{speccheck.KindResponse, `"result":{"content":[],"isError": true}`},
		{speccheck.KindResponse, `"result":{"content":[],"structuredContent":{"isError":true}}`},
		{speccheck.KindError, `"error":{"code":-32602,"message":"no"}`},
		{speccheck.KindResponse, `"result":{"content":[]}`},
	} {
		id := string(rune('1' + i))
		add(speccheck.ToServer, speccheck.KindRequest, `{"jsonrpc":"2.0","id":`+id+`,"method":"tools/call","params":{"name":"x"}}`)
		add(speccheck.FromServer, end.kind, `{"jsonrpc":"2.0","id":`+id+`,`+end.frame+`}`)
	}
	add(speccheck.ToServer, speccheck.KindRequest, `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"x"}}`) // still open
	var stats struct{ Tools []toolStat }
	s.get("/api/v1/servers/node/stats", &stats)
	if len(stats.Tools) != 1 || stats.Tools[0].Calls != 4 || stats.Tools[0].Failed != 2 {
		t.Errorf("%+v", stats)
	}
	var hosts struct{ Hosts []tappedHost }
	s.get("/api/v1/hosts", &hosts)
	if len(hosts.Hosts) != 1 || hosts.Hosts[0].Calls != 5 || hosts.Hosts[0].Errors != 2 {
		t.Errorf("%+v", hosts)
	}
}
