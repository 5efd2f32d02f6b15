package web

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/tenon-mcp/tenon/app/recording"
	"github.com/tenon-mcp/tenon/app/speccheck"
	"github.com/tenon-mcp/tenon/app/wirelog"
	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/mcp"
)

// A summary is a message as a row of the table.
type summary struct {
	Seq      uint64         `json:"seq"`
	At       int64          `json:"at"` // microseconds since 1970
	Server   string         `json:"server"`
	Conn     uint64         `json:"conn"`
	Sent     bool           `json:"sent,omitzero"` // to the server
	Kind     speccheck.Kind `json:"kind"`
	Method   string         `json:"method,omitzero"`
	ID       string         `json:"id,omitzero"`
	About    string         `json:"about,omitzero"` // the tool, prompt or URI; of what is no message, its beginning
	Era      string         `json:"era,omitzero"`
	Revision mcp.Revision   `json:"revision,omitzero"`
	Size     int            `json:"size"`
	Joins    uint64         `json:"joins,omitzero"`
	Answer   uint64         `json:"answer,omitzero"`
	Ms       float64        `json:"ms,omitzero"`
	Status   int            `json:"status,omitzero"` // of HTTP
	Problems int            `json:"problems,omitzero"`

	// Outcome is how a request ended, or how a message ends the request that
	// it joins; Code belongs to it. Ends are the requests that a batch ends.
	Outcome speccheck.Outcome `json:"outcome,omitzero"`
	Code    int               `json:"code,omitzero"`
	Ends    []ended           `json:"ends,omitzero"`
}

type ended struct {
	Seq     uint64            `json:"seq"`
	Outcome speccheck.Outcome `json:"outcome"`
	Code    int               `json:"code,omitzero"`
	Ms      float64           `json:"ms"`
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func summaries(list []speccheck.Message) []summary {
	all := make([]summary, 0, len(list))
	for i := range list {
		m := &list[i]
		one := summary{
			Seq: m.Seq, At: m.At.UnixMicro(), Server: m.Server, Conn: m.Conn, Sent: m.Dir == speccheck.ToServer, Kind: m.Kind, Method: m.Method,
			ID: m.ID, About: m.Tool, Era: m.Era, Revision: m.Revision, Size: m.Size, Joins: m.Joins, Answer: m.AnsweredBy,
			Ms: millis(cmp.Or(m.Duration, m.Took)), Problems: len(m.Problems), Outcome: m.Outcome, Code: m.Code,
		}
		for _, e := range m.Ends {
			one.Ends = append(one.Ends, ended{e.Seq, e.Outcome, e.Code, millis(e.Took)})
		}
		if !m.Kind.IsJSON() {
			one.About = visible.Shorten(string(m.Frame), 160)
		}
		if m.HTTP != nil {
			one.Status = m.HTTP.Status
		}
		all = append(all, one)
	}
	return all
}

// wire lists matching messages before a number, latest first.
//
//	?before=N&limit=N&server=…&method=…&kind=…&q=text&problems=1
func (s *Server) wire(r *http.Request) (any, error) {
	v := r.URL.Query()
	before, _ := strconv.ParseUint(v.Get("before"), 10, 64)
	limit, _ := strconv.Atoi(v.Get("limit"))
	if limit <= 0 || limit > 5000 {
		limit = 1000
	}
	q := wirelog.Query{Server: v.Get("server"), Method: v.Get("method"), Text: v.Get("q"), Problems: v.Get("problems") != ""}
	if k := v.Get("kind"); k != "" {
		q.Kinds = []speccheck.Kind{speccheck.Kind(k)}
	}
	list, next := s.work.Log.Filter(q, before, limit)
	return map[string]any{"messages": summaries(list), "next": next, "last": s.work.Log.Last(), "kept": s.work.Log.Len()}, nil
}

func (s *Server) one(text string) (speccheck.Message, error) {
	seq, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return speccheck.Message{}, bad("a message number is required")
	}
	m, ok := s.work.Log.Get(seq)
	if !ok {
		return m, missing("the message was dropped: the log holds only the latest messages")
	}
	return m, nil
}

// compare compares two messages.
func (s *Server) compare(r *http.Request) (any, error) {
	var q struct {
		A uint64 `json:"a"`
		B uint64 `json:"b"`
	}
	if err := body(r, &q); err != nil {
		return nil, err
	}
	a, err := s.one(fmt.Sprint(q.A))
	if err != nil {
		return nil, err
	}
	b, err := s.one(fmt.Sprint(q.B))
	if err != nil {
		return nil, err
	}
	type difference struct {
		Pointer string `json:"pointer"`
		A       string `json:"a"`
		B       string `json:"b"`
	}
	all := []difference{}
	for _, d := range recording.Diff(a.Frame, b.Frame) {
		all = append(all, difference{d.Pointer, string(d.A), string(d.B)})
	}
	return map[string]any{"a": string(a.Frame), "b": string(b.Frame), "differences": all}, nil
}

func (s *Server) clear(*http.Request) (any, error) {
	s.work.Log.Clear()
	s.feed.put("cleared", struct{}{})
	return struct{}{}, nil
}

// save returns the logged messages of a connection of a server, by default the
// latest, as a recording.
//
//	?server=…&conn=N
func (s *Server) save(w http.ResponseWriter, r *http.Request) {
	q := wirelog.Query{Server: r.URL.Query().Get("server")}
	q.Conn, _ = strconv.ParseUint(r.URL.Query().Get("conn"), 10, 64)
	list, _ := s.work.Log.Filter(q, 0, 1<<20)
	if q.Server == "" || len(list) == 0 {
		refuse(w, http.StatusNotFound, errors.New("no messages of that server: name one with ?server="))
		return
	}
	last := list[0].Conn
	list = slices.DeleteFunc(list, func(m speccheck.Message) bool { return m.Conn != last })
	slices.Reverse(list)
	var out bytes.Buffer
	if err := recording.Write(&out, recording.NewRecording(list), nil); err != nil {
		refuse(w, http.StatusInternalServerError, err)
		return
	}
	head(w, "text/plain; charset=utf-8")
	w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", "tenon-"+time.Now().Format("20060102-150405")+".txtar"))
	w.Write(out.Bytes())
}

// load adds the messages of a recording to the log, under their own server name.
func (s *Server) load(r *http.Request) (any, error) {
	rec, err := recording.Read(r.Body)
	if err != nil {
		return nil, bad(err.Error())
	}
	name := rec.Server
	if name == "" || s.work.Fleet.Get(name) != nil {
		name = "recording " + name
	}
	wire := s.work.Log.Wire(name)
	for _, m := range rec.Messages {
		wire.Add(m)
	}
	return map[string]any{"server": name, "messages": len(rec.Messages)}, nil
}
