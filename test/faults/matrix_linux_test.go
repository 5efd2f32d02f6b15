package faults

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/leaktest"
)

// The faults.
const (
	killed        = "killed"
	hangs         = "hangs"
	halfOpen      = "half-open"
	slowReader    = "slow-reader"
	slowWriter    = "slow-writer"
	garbage       = "garbage"
	truncated     = "truncated"
	duplicate     = "duplicate"
	reordered     = "reordered"
	clockJump     = "clock-jump"
	diskFull      = "disk-full"
	noDescriptors = "no-descriptors"
)

// The transports.
const (
	overStdio  = "stdio"
	overSocket = "socket"
	overHTTP   = "HTTP"
	overSSE    = "HTTP+SSE"
)

var transports = []string{overStdio, overSocket, overHTTP, overSSE}

// What a user sees in a cell.
const (
	sees      = "the result"
	eachSees  = "the result of each"
	fails     = "an error at once"
	timesOut  = "an error after the timeout"
	ends      = "the server ends"
	cancels   = "the call is cancelled at once"
	probes    = "the call is cancelled within 2 min"
	later     = "the result, once it reads"
	toolFails = "an error of the tool"
)

// A cell says what a user sees, or why there is nothing to see. With neither it is
// not tested yet.
type cell struct {
	sees  string
	never string // why the cell cannot exist
}

func never(why string) cell { return cell{never: why} }

func (c cell) String() string {
	switch {
	case c.never != "":
		return "cannot happen: " + c.never
	case c.sees == "":
		return "not tested yet"
	}
	return c.sees
}

// same is a row of four equal cells.
func same(what string) []cell { return []cell{{sees: what}, {sees: what}, {sees: what}, {sees: what}} }

// A role is what breaks, or what has a peer that breaks.
type role struct {
	name  string
	title string // of the table
	run   func(t *testing.T, transport, fault string) (saw string, left []string)
	rows  []row
}

// A row has a cell for each transport.
type row struct {
	fault, title string
	cells        []cell
	short        bool // part of make test
}

const (
	pipesOnly  = "no network is between the two"
	ownRequest = "each message is a request of its own"
	ownAnswer  = "each answer has its own connection"
)

var roles = []role{serverRole, clientRole, hostRole, gatewayRole}

var update = flag.Bool("update", false, "write the tables into docs/reliability.md")

func TestMain(m *testing.M) {
	if what := os.Getenv(roleVariable); what != "" {
		play(what)
		return
	}
	ownNetwork()
	flag.Parse()
	if p := flag.Lookup("test.parallel"); p.Value.String() == p.DefValue {
		flag.Set("test.parallel", "8") // cells wait more than they work
	}
	leaktest.Main(m)
}

// Each cell of the matrix is as the table says, and leaves nothing. With -short
// only some are tried.
func TestMatrix(t *testing.T) {
	t.Cleanup(func() {
		if programs.dir != "" {
			os.RemoveAll(programs.dir)
		}
	})
	for _, role := range roles {
		for _, row := range role.rows {
			for i, transport := range transports {
				c := row.cells[i]
				if c.sees == "" || testing.Short() && !row.short {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%s", role.name, row.fault, transport), func(t *testing.T) {
					t.Parallel()
					saw, left := role.run(t, transport, row.fault)
					if saw != c.sees {
						t.Errorf("the user sees %s, not %s", saw, c.sees)
					}
					for _, l := range left {
						t.Errorf("left: %s", l)
					}
				})
			}
		}
	}
}

// docFile has the tables between markers.
const docFile = "../../docs/reliability.md"

// The tables in docs/reliability.md are those that the cells are tested with.
func TestDocumentedMatrix(t *testing.T) {
	raw, err := os.ReadFile(docFile)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- faults: written by go test ./test/faults -run Documented -update -->\n", "<!-- faults: end -->"
	before, rest, ok := strings.Cut(string(raw), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no %q and %q", docFile, begin, end)
	}
	text := before + begin + tables() + end + after
	if text == string(raw) {
		return
	}
	if !*update {
		t.Fatalf("%s is not up to date: run go test ./test/faults -run Documented -update", docFile)
	}
	if err := os.WriteFile(docFile, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// tables is the matrix as Markdown.
func tables() string {
	var b strings.Builder
	exist, open, all := 0, 0, 0
	for _, role := range roles {
		for _, row := range role.rows {
			for _, c := range row.cells {
				all++
				switch {
				case c.sees != "":
					exist++
				case c.never == "":
					open++
				}
			}
		}
	}
	notYet := ""
	if open > 0 {
		notYet = fmt.Sprintf(", %d are not yet,", open)
	}
	fmt.Fprintf(&b, "%d cells are tested%s and %d cannot happen.\n", exist, notYet, all-exist-open)
	for _, role := range roles {
		fmt.Fprintf(&b, "\n### %s\n\n| | %s |\n|---|%s\n", role.title, strings.Join(transports, " | "), strings.Repeat("---|", len(transports)))
		for _, row := range role.rows {
			var texts []string
			for i, c := range row.cells {
				text := c.String()
				if i > 0 && text == row.cells[i-1].String() {
					text = "the same"
				}
				texts = append(texts, text)
			}
			fmt.Fprintf(&b, "| %s | %s |\n", row.title, strings.Join(texts, " | "))
		}
	}
	return b.String() + "\n"
}

// Every role has a row for each fault, and every row a cell for each transport.
func TestMatrixIsComplete(t *testing.T) {
	all := []string{killed, hangs, halfOpen, slowReader, slowWriter, garbage, truncated, duplicate, reordered, clockJump, diskFull, noDescriptors}
	for _, role := range roles {
		var names []string
		for _, row := range role.rows {
			names = append(names, row.fault)
			if len(row.cells) != len(transports) {
				t.Errorf("%s: %s has %d cells", role.name, row.fault, len(row.cells))
			}
		}
		if strings.Join(names, " ") != strings.Join(all, " ") {
			t.Errorf("%s has the faults %s, not %s", role.name, names, all)
		}
	}
}
