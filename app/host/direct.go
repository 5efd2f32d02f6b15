package host

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/mcp"
)

// A DirectRequest is a request to a server that the user makes outside of a
// session, such as with a button.
type DirectRequest struct {
	Server string
	Method string
	Params json.RawMessage

	// From says where the user made it, such as "the page".
	From string
}

// A DirectOutcome is the result of a DirectRequest for the audit log.
type DirectOutcome struct {
	IsError bool // the tool reports an error
	Bytes   int
}

// A DeniedError says that a call is denied, and by which rule or answer.
type DeniedError struct{ Server, Tool, Why string }

func (e *DeniedError) Error() string {
	return fmt.Sprintf("%s/%s was not called. %s.", e.Server, e.Tool, e.Why)
}

// Direct makes a request of the person by calling send. A tools/call passes the
// same rules as a call of the model: one that denies fails with a *DeniedError,
// and where a rule asks, the person has answered by making the request. The
// audit log has each tools/call before and after it is made, and each
// resources/read; one that it cannot take is not made. Other methods are just
// sent.
func (h *Host) Direct(ctx context.Context, r DirectRequest, send func() (DirectOutcome, error)) error {
	record := AuditRecord{Call: "direct-" + strings.ToLower(rand.Text()[:10]), Server: r.Server, Why: "Called by the person from " + r.From}
	switch r.Method {
	case mcp.MethodToolsCall:
		record.What = "call"
		record.Tool, record.Arguments = toolCall(r.Params)
	case mcp.MethodResourcesRead:
		record.What, record.Tool, record.Arguments = "read", r.Method, r.Params
	default:
		_, err := send()
		return err
	}
	arguments := record.Arguments
	record.Arguments = json.RawMessage(h.known.JSON(arguments))
	if record.What == "call" {
		if v := h.opts.Book.Judge(r.Server, &mcp.Tool{Name: record.Tool}, arguments, ""); v.Effect == config.Deny {
			denied := record
			denied.What, denied.Why = "denied", v.Why+" ("+record.Why+")"
			h.audit(denied)
			return &DeniedError{r.Server, record.Tool, v.Why}
		}
	}
	if err := h.audit(record); err != nil {
		return fmt.Errorf("not made: cannot write the audit log: %w", err)
	}
	began := time.Now()
	outcome, err := send()
	if record.What == "call" {
		record.What, record.Arguments, record.Duration, record.Bytes, record.Outcome = "result", nil, Millis(time.Since(began)), outcome.Bytes, "ok"
		switch {
		case ctx.Err() != nil:
			record.Outcome = "cancelled"
		case err != nil:
			record.Outcome = "failed"
		case outcome.IsError:
			record.Outcome = "error"
		}
		h.audit(record)
	}
	return err
}

// toolCall reads the params of a tools/call. The tool is empty if they are
// invalid.
func toolCall(params json.RawMessage) (tool string, arguments json.RawMessage) {
	var q struct {
		Name      json.RawMessage `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if mcp.Unmarshal(params, &q) != nil || mcp.Unmarshal(q.Name, &tool) != nil {
		tool = ""
	}
	if q.Arguments == nil {
		q.Arguments = json.RawMessage(`{}`)
	}
	return tool, q.Arguments
}

// audit writes a record. If it fails, the caller must not do what the record is
// about.
func (h *Host) audit(r AuditRecord) error {
	if h.opts.Audit == nil {
		return nil
	}
	err := h.opts.Audit(r)
	if err != nil {
		h.emit(Event{Kind: EventNotice, Session: r.Session, Text: "Cannot write the audit log: " + err.Error()})
	}
	if h.opts.AuditOptional {
		return nil
	}
	return err
}
