package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/app/speccheck"
	"github.com/tenon-mcp/tenon/app/wirelog"
	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/mcp"
)

// Limits for a healthy server.
const (
	slowConnect = 5 * time.Second
	slowAnswer  = 2 * time.Second
)

// An Ending is the exit status of a server's process.
type Ending struct {
	Code   int
	Signal string // the signal that ended it; empty if it exited
	Stderr string // its last lines
}

// Unmet returns the report on a server that could not be connected. Ending is nil
// if the server has no process or the process runs; log may be nil.
func Unmet(server string, err error, ending *Ending, log *wirelog.Log) *Report {
	x := &examination{Target: &Target{Name: server, Log: log}, report: &Report{Server: server, Findings: []Finding{}}}
	what := err.Error()
	if inner := (interface{ Unwrap() error })(nil); errors.As(err, &inner) && inner.Unwrap() != nil {
		what = inner.Unwrap().Error() // without the server's name, which the report has
	}
	wrong := x.misaddressed()
	switch {
	case wrong != "":
		x.find(Error, "handshake", "", wrong, "Answer each request with one object that repeats its id: a number as the same number, text as the same text.")
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		x.find(Error, "launch", "", what, "Install the program, or give its full path. What a shell sets up (aliases, nvm, pyenv) does not count here.")
	case errors.Is(err, fs.ErrPermission):
		x.find(Error, "launch", "", what, "Make the program executable: chmod +x.")
	case ending != nil:
		x.ended(ending)
	case errors.Is(err, context.DeadlineExceeded):
		x.find(Error, "handshake", "", what, "The program runs and says nothing. Does it need an argument (such as stdio), a variable, or a terminal? Run it by hand and type a request.")
	default:
		x.find(Error, "handshake", "", what, "")
	}
	x.wire()
	return x.report.finish()
}

// misaddressed returns why responses do not match their requests, or "".
func (x *examination) misaddressed() string {
	if x.Log == nil {
		return ""
	}
	all, _ := x.Log.Since(0, x.Log.Len())
	for _, m := range all {
		frame := bytes.TrimSpace(m.Frame)
		if m.Dir != speccheck.FromServer || len(frame) == 0 {
			continue
		}
		var answer struct {
			ID json.RawMessage `json:"id"`
		}
		switch {
		case frame[0] == '[' && json.Valid(frame):
			return "it answers a single request with a batch (a JSON array)"
		case !slices.ContainsFunc(m.Problems, func(p speccheck.Problem) bool { return p.Rule == "jsonrpc.unknown-answer" }) || mcp.Unmarshal(frame, &answer) != nil:
		case len(answer.ID) > 0 && answer.ID[0] == '"':
			return fmt.Sprintf("it answers with the id %s, which is text; the requests have numbers", visible.Line(string(answer.ID)))
		default:
			return fmt.Sprintf("it answers with the id %s, which no request has", visible.Line(string(answer.ID)))
		}
	}
	return ""
}

func (x *examination) ended(e *Ending) {
	what := fmt.Sprintf("the program exited with code %d before it was connected", e.Code)
	if e.Signal != "" {
		what = "the program was killed before it was connected: " + e.Signal
	}
	advice := "It wrote nothing to standard error. Run it by hand to see what it lacks: an argument, a variable, a file."
	if tail := lastLines(e.Stderr, 8); tail != "" {
		advice = "Its last lines on standard error:\n" + tail
	}
	x.find(Error, "launch", "", what, advice)
}

func lastLines(s string, most int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-most):], "\n")
}

// connected checks the time to connect and the server's identity.
func (x *examination) connected(ctx context.Context) {
	if x.Connected > slowConnect {
		x.find(Warning, "handshake", "", fmt.Sprintf("connecting took %.1f s", x.Connected.Seconds()), "Answer first and load later: hosts give up after 10 to 60 seconds, and a person waits every time.")
	}
	began := time.Now()
	d, err := x.Client.Discover(ctx)
	x.timed(mcp.MethodDiscover, time.Since(began))
	if err != nil {
		x.find(Error, "handshake", "", "it does not say what it is: "+err.Error(), "Answer server/discover, or initialize in older revisions, whatever else fails.")
		return
	}
	x.caps, x.report.Identity = d.Capabilities, d.Server
	switch {
	case d.Server == nil:
		x.find(Warning, "identity", "", "it does not say its name and version", "Set both: people see them when they approve it, and logs are useless without.")
	case d.Server.Version == "":
		x.find(Warning, "identity", "", "it does not say its version", "Set it: bug reports need it.")
	}
	x.report.Tokens.Instructions = tokens(len(d.Instructions))
	if n := x.report.Tokens.Instructions; n > 1000 {
		x.find(Warning, "size", "instructions", fmt.Sprintf("the instructions are about %d tokens", n), "A model reads them in every conversation: say what a description cannot, and no more.")
	}
}

// Spoken adds the revisions that the server supports, and the errors of attempts
// to connect in others.
func (r *Report) Spoken(agreed []mcp.Revision, failed map[mcp.Revision]error) {
	for _, one := range mcp.Revisions() {
		if slices.Contains(agreed, one) {
			r.Speaks = append(r.Speaks, one)
		}
	}
	newest := mcp.Revisions()[0]
	if !slices.Contains(agreed, newest) {
		r.Add(Finding{Severity: Note, Check: "handshake", What: fmt.Sprintf("it does not speak %s, the newest revision", newest),
			Advice: "Older clients and hosts like Tenon do not mind. Newer ones may stop speaking revisions with a handshake."})
	}
	for _, one := range mcp.Revisions() {
		if err := failed[one]; err != nil && len(agreed) > 0 && !isRefusal(err) {
			r.Add(Finding{Severity: Warning, Check: "handshake", Where: string(one), What: "a client that wants this revision is not answered as it should be: " + err.Error(),
				Advice: "Answer initialize with a revision that the server does speak, and server/discover with the list of them."})
		}
	}
}

// isRefusal reports whether a server refused a revision, which is a valid
// response.
func isRefusal(err error) bool {
	e, ok := errors.AsType[*mcp.Error](err)
	return ok && (!e.Local || e.Code == mcp.CodeUnsupportedVersion)
}
