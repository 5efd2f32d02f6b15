package streamable

import (
	"context"
	"net/http"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// batch serves several messages in one body, which one revision knows.
func (s *sessions) batch(w http.ResponseWriter, r *http.Request, body []byte) {
	if s.h.door.ModernOnly() || r.Header.Get(headerSession) == "" {
		writeJSON(w, http.StatusBadRequest, era.Fail(nil, mcp.CodeInvalidRequest, "a batch is not allowed here: send one message at a time").Append(nil))
		return
	}
	ses, done := s.find(w, r)
	if ses == nil {
		return
	}
	defer done()
	items, err := jsonrpc.DecodeBatch(body, maxBatch)
	if no := ses.era.Batches(); no != nil || err != nil {
		code, why := mcp.CodeInvalidRequest, ""
		if no != nil {
			why = no.Error()
		} else if bad, ok := err.(*jsonrpc.DecodeError); ok {
			code, why = bad.Code, bad.Reason
		}
		writeJSON(w, http.StatusBadRequest, era.Fail(nil, code, why).Append(nil))
		return
	}
	out := newReply(w, r, s.h.opts.WriteIdle, s.h.opts.KeepAlive)
	defer out.close()
	answers := s.answerAll(r, ses, items, out)
	if len(answers) == 0 {
		out.nothing()
		return
	}
	out.answer(http.StatusOK, func(dst []byte) []byte {
		dst = append(dst, '[')
		for i, a := range answers {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = a.Append(dst)
		}
		return append(dst, ']')
	})
}

const maxBatch = 100

// answerAll serves the messages of a batch in their order. There is no stream
// to come back to, so a client that goes away has cancelled what is left of it.
func (s *sessions) answerAll(r *http.Request, ses *session, items []jsonrpc.BatchItem, out *reply) (answers []era.Answer) {
	st := s.newStream(ses, out, nil)
	defer st.forget()
	for i := range items {
		it := &items[i]
		bad, _ := it.Err.(*jsonrpc.DecodeError)
		switch {
		case bad != nil:
			answers = append(answers, era.Fail(bad.ID, bad.Code, bad.Reason))
		case it.Method == "initialize":
			answers = append(answers, era.Fail(it.ID, mcp.CodeInvalidRequest, "initialize must not be part of a batch"))
		case !it.IsRequest():
			s.told(ses, &it.Message)
		default:
			ctx, cancel := context.WithCancel(r.Context())
			if !ses.begin(it.ID, cancel) {
				answers = append(answers, taken(it.ID))
				cancel()
				continue
			}
			a := ses.era.Serve(ctx, &it.Message, s.h.edge.Principal(r), era.SessionBack{Tell: until(ctx, out.note), Ask: st.ask})
			if ctx.Err() == nil { // cancelled means silent
				answers = append(answers, a)
			}
			ses.finish(it.ID, cancel)
		}
	}
	return answers
}
