package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/ext/tasks"
)

func interrupted(t *testing.T, open func() tasks.Store) {
	ctx, s := t.Context(), open()
	find := func(limit int, want ...string) {
		t.Helper()
		for _, s := range []tasks.Store{s, open()} {
			got, err := s.Interrupted(ctx, limit)
			must(t, err)
			if slices.Sort(got); limit < len(want) && len(got) == limit {
				continue
			}
			if !slices.Equal(got, want) {
				t.Errorf("interrupted: %q, want %q, at most %d", got, want, limit)
			}
		}
	}
	for _, runner := range []string{"r1", "r2", "r3"} {
		must(t, s.Renew(ctx, runner, time.Hour))
	}
	records := map[string]*tasks.Record{}
	for id, runner := range map[string]string{"a": "r1", "b": "r1", "c": "r2", "ended": "r1", "expired": "r1", "moved": "r1"} {
		r := record(id, "ada")
		if r.Runner = runner; id == "expired" {
			r.Expires = time.Now().Add(time.Millisecond)
		}
		must(t, s.Create(ctx, r, 10))
		records[id] = r
	}
	time.Sleep(2 * time.Millisecond)
	find(10)
	records["ended"].Task.Status = tasks.Completed
	must(t, s.Update(ctx, records["ended"]))
	must(t, s.Renew(ctx, "r1", 0))
	find(10, "a", "b", "moved")
	find(2, "a", "b", "moved")
	records["moved"].Runner = "r3"
	must(t, s.Update(ctx, records["moved"]))
	find(10, "a", "b")
	must(t, s.Renew(ctx, "r3", 0))
	must(t, s.Renew(ctx, "r2", 0))
	find(10, "a", "b", "c", "moved")
	must(t, s.Renew(ctx, "r1", time.Hour))
	find(10, "c", "moved")
}
