package era_test

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/tenon-mcp/tenon/internal/spectest"
	"github.com/tenon-mcp/tenon/mcp"
)

// canary stands in everything that no client may ever see.
const canary = "canary-5be1"

// A heard is a line from the server, read loosely.
type heard struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  *struct {
		Type    string `json:"resultType"`
		IsError bool   `json:"isError"`
	} `json:"result"`
	Error *struct {
		Code int `json:"code"`
	} `json:"error"`
}

// check holds one message against what is true of every message: it is JSON on
// one line, valid by the schema of its revision, answers something that was
// asked, has a code that is allowed, and gives nothing away.
func (w *wire) check(line string) {
	w.t.Helper()
	var m heard
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		w.t.Errorf("not a message: %v: %.200q", err, line)
		return
	}
	for _, secret := range []string{canary, "goroutine ", ".go:", "runtime error"} {
		if strings.Contains(line, secret) {
			w.t.Errorf("the answer gives %q away: %.300s", secret, line)
		}
	}
	asked, known := w.asked[string(m.ID)]
	if m.ID != nil && m.Method == "" && m.Result != nil && !known {
		w.t.Errorf("a result has an id that was never sent in these bytes: %.200s", line)
	}
	if !known {
		asked.revision = w.session
	}
	if asked.revision == "" || m.ID == nil && m.Error != nil { // older schemas have no errors without id
		asked.revision = mcp.Rev20260728
	}
	if m.Error != nil && !allowed(m.Error.Code, asked.revision) {
		w.t.Errorf("the code %d is not allowed in revision %s: %.200s", m.Error.Code, asked.revision, line)
	}
	if w.spec == nil {
		return
	}
	rev := asked.revision
	if m.Method != "" && strings.Contains(line, mcp.MetaSubscriptionID) {
		rev = mcp.Rev20260728
	}
	if err := w.spec.Validate(rev, spectest.FromServer, []byte(line), asked.method); err != nil {
		w.t.Errorf("invalid in revision %s: %v\n%.500s", rev, err, line)
	}
}

func allowed(code int, rev mcp.Revision) bool {
	switch code {
	case -32700, -32600, -32601, -32602, -32603:
		return true
	case -32020, -32021, -32022:
		return rev == mcp.Rev20260728
	case -32002:
		return rev != mcp.Rev20260728
	}
	return code < -32768 || code > -32000
}

// expect compares the lines that came with those that are wanted, in order.
func (w *wire) expect(when string, lines, want []string) {
	w.t.Helper()
	for i := range max(len(lines), len(want)) {
		switch {
		case i >= len(want):
			w.t.Errorf("%s: came beyond what is wanted: %.500s", when, lines[i])
		case i >= len(lines):
			w.t.Errorf("%s: did not come: %s", when, want[i])
		case !matches(lines[i], want[i]):
			w.t.Errorf("%s: got  %.500s\nwant %s", when, lines[i], want[i])
		}
	}
}

// matches compares a line with a short form:
//
//	<id> <what> [part]
//
// The id stands as its exact bytes, or is - for none, or any. What is the code of an
// error, or one of ok, failed (a tool error), asks (input required), note and
// request (both followed by a method). The part must be in the line. Several
// forms that are all fine are separated by " or ".
func matches(line, want string) bool {
	for form := range strings.SplitSeq(want, " or ") {
		if matchesOne(line, form) {
			return true
		}
	}
	return false
}

func matchesOne(line, want string) bool {
	inBatch := strings.HasPrefix(want, "[")
	if inBatch != strings.HasPrefix(line, "[") {
		return false
	}
	want, line = strings.TrimPrefix(want, "["), strings.TrimPrefix(line, "[")
	var m heard
	if json.Unmarshal([]byte(line), &m) != nil {
		return false
	}
	id := "-"
	if m.ID != nil { // a null is not nothing
		id = string(m.ID)
	}
	rest, ok := strings.CutPrefix(want, id+" ")
	if any, isAny := strings.CutPrefix(want, "any "); isAny {
		rest, ok = any, true
	}
	if !ok {
		return false
	}
	what, part, _ := strings.Cut(rest, " ")
	if !strings.Contains(line, part) {
		return false
	}
	switch what {
	case "ok":
		return m.Result != nil && !m.Result.IsError && (m.Result.Type == "" || m.Result.Type == "complete")
	case "failed":
		return m.Result != nil && m.Result.IsError
	case "asks":
		return m.Result != nil && m.Result.Type == "input_required"
	case "note":
		return m.Method != "" && m.ID == nil
	case "request":
		return m.Method != "" && m.ID != nil
	}
	code, err := strconv.Atoi(what)
	return err == nil && m.Error != nil && m.Error.Code == code
}
