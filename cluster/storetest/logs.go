package storetest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/cluster"
)

var roomy = cluster.LogLimit{Entries: 1000, Bytes: 1 << 20, TTL: time.Hour}

// write appends entries and returns their positions.
func write(t *testing.T, s cluster.Store, limit cluster.LogLimit, entries ...string) (positions []string) {
	t.Helper()
	for _, e := range entries {
		p, err := s.Append(t.Context(), "l", []byte(e), limit)
		must(t, err)
		positions = append(positions, p)
	}
	return positions
}

// read fails the test unless these entries follow a position.
func read(t *testing.T, s cluster.Store, after string, complete bool, want ...string) []cluster.Entry {
	t.Helper()
	entries, whole, err := s.Read(t.Context(), "l", after)
	must(t, err)
	var got []string
	for _, e := range entries {
		got = append(got, string(e.Data))
	}
	if fmt.Sprint(got) != fmt.Sprint(want) || whole != complete {
		t.Errorf("after %q: %q, complete %v, want %q, %v", after, got, whole, want, complete)
	}
	return entries
}

func log(t *testing.T, s Subject) {
	a, b := open(t, s), open(t, s)
	read(t, a, "", true)
	at := write(t, a, roomy, "one", "", "three")
	at = append(at, write(t, b, roomy, "\x00\r\n")...)
	entries := read(t, b, "", true, "one", "", "three", "\x00\r\n")
	for i, e := range entries {
		if e.Position != at[i] {
			t.Errorf("entry %d is at %q, want %q", i, e.Position, at[i])
		}
	}
	read(t, a, at[0], true, "", "three", "\x00\r\n")
	read(t, a, at[2], true, "\x00\r\n")
	read(t, a, at[3], true)
	if _, err := a.Append(t.Context(), "other", []byte("x"), roomy); err != nil {
		t.Error(err)
	}
	read(t, a, at[3], true)
}

func logEntries(t *testing.T, s Subject) {
	a := open(t, s)
	three := cluster.LogLimit{Entries: 3, Bytes: 1 << 20, TTL: time.Hour}
	at := write(t, a, three, "1", "2", "3", "4", "5")
	read(t, a, "", false, "3", "4", "5")
	read(t, a, at[0], false, "3", "4", "5")
	read(t, a, at[1], true, "3", "4", "5")
	read(t, a, at[3], true, "5")
	read(t, a, at[4], true)
	write(t, a, cluster.LogLimit{Entries: 1, Bytes: 9, TTL: time.Hour}, "6")
	read(t, a, at[3], false, "6")
	read(t, a, at[4], true, "6")
}

func logBytes(t *testing.T, s Subject) {
	a := open(t, s)
	ten := cluster.LogLimit{Entries: 100, Bytes: 10, TTL: time.Hour}
	at := write(t, a, ten, "1234", "5678", "90")
	read(t, a, "", true, "1234", "5678", "90")
	at = append(at, write(t, a, ten, "a")...)
	read(t, a, "", false, "5678", "90", "a")
	read(t, a, at[0], true, "5678", "90", "a")
	whole := strings.Repeat("x", 10)
	at = append(at, write(t, a, ten, whole)...)
	read(t, a, at[3], true, whole)
	read(t, a, at[2], false, whole)
	at = append(at, write(t, a, ten, "", "")...)
	read(t, a, at[4], true, "", "")
	read(t, a, at[3], true, whole, "", "")
}

func logExpires(t *testing.T, s Subject) {
	a, b := open(t, s), open(t, s)
	short := cluster.LogLimit{Entries: 9, Bytes: 99, TTL: moment}
	at := write(t, a, short, "1", "2")
	s.Advance(2 * moment)
	read(t, b, "", true)
	read(t, b, at[0], false)
	read(t, b, at[1], false)
	later := write(t, b, roomy, "3", "4", "5")
	read(t, a, at[1], false, "3", "4", "5")
	read(t, a, at[0], false, "3", "4", "5")
	read(t, a, later[0], true, "4", "5")
	// An entry makes the log live longer.
	write(t, a, short, "6")
	write(t, a, roomy, "7")
	s.Advance(2 * moment)
	read(t, b, later[2], true, "6", "7")
}

func appendConcurrently(t *testing.T, s Subject) {
	var positions [many]string
	each(t, s, func(i int, store cluster.Store) {
		var err error
		if positions[i], err = store.Append(t.Context(), "l", []byte(strconv.Itoa(i)), roomy); err != nil {
			t.Error(err)
		}
	})
	entries, complete, err := open(t, s).Read(t.Context(), "l", "")
	must(t, err)
	if len(entries) != many || !complete {
		t.Fatalf("%d entries, complete %v, want %d", len(entries), complete, many)
	}
	for _, e := range entries {
		if i, err := strconv.Atoi(string(e.Data)); err != nil || positions[i] != e.Position {
			t.Errorf("%q is at %s", e.Data, e.Position)
		}
	}
}
