package spectest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/mcp"
)

var english = message.NewPrinter(language.English)

// A Direction is who sends a message.
type Direction int

// The two directions.
const (
	FromClient Direction = iota
	FromServer
)

func (d Direction) String() string {
	if d == FromServer {
		return "server"
	}
	return "client"
}

// Validate validates one JSON-RPC message with the schema of a revision. The
// error names the violated definition and the position.
//
// A request or notification must be one that its sender may send in this
// revision; a method that no revision has (of an extension) only needs the
// general form. A result is validated as the result of requestMethod, or by
// the general form if that is empty. An array is a batch, which one revision
// allows; requestMethod then applies to every result in it.
func (s *Spec) Validate(rev mcp.Revision, dir Direction, frame []byte, requestMethod string) error {
	r := s.revisions[rev]
	if r == nil {
		return fmt.Errorf("no schema for revision %q", rev)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(frame))
	if err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	batch, ok := value.([]any)
	if !ok {
		return s.message(r, dir, value, requestMethod)
	}
	if r.first("JSONRPCBatchRequest") == "" {
		return fmt.Errorf("revision %s has no batches", rev)
	}
	if len(batch) == 0 {
		return errors.New("a batch must not be empty")
	}
	for i, v := range batch {
		if err := s.message(r, dir, v, requestMethod); err != nil {
			return fmt.Errorf("message %d of the batch: %w", i, err)
		}
	}
	return nil
}

// ValidateType validates a JSON value with a definition of a revision, such
// as "Tool" or "ClientCapabilities".
func (s *Spec) ValidateType(rev mcp.Revision, definition string, value []byte) error {
	r := s.revisions[rev]
	if r == nil {
		return fmt.Errorf("no schema for revision %q", rev)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	return r.check(definition, v)
}

func (s *Spec) message(r *revision, dir Direction, value any, requestMethod string) error {
	msg, ok := value.(map[string]any)
	if !ok {
		return errors.New("a message must be an object")
	}
	_, hasID := msg["id"]
	_, hasResult := msg["result"]
	_, hasError := msg["error"]
	method, hasMethod := msg["method"]
	kinds := 0
	for _, has := range []bool{hasResult, hasError, hasMethod} {
		if has {
			kinds++
		}
	}
	if kinds != 1 {
		return errors.New("a message must have exactly one of method, result and error")
	}
	switch {
	case hasMethod && hasID:
		name, _ := method.(string)
		return s.sent(r, dir, msg, "JSONRPCRequest", name, r.requests[dir])
	case hasMethod:
		name, _ := method.(string)
		return s.sent(r, dir, msg, "JSONRPCNotification", name, r.notifications[dir])
	case hasError:
		return r.failure(msg)
	}
	return r.result(dir, msg, requestMethod)
}

// sent checks a request or a notification.
func (s *Spec) sent(r *revision, dir Direction, msg map[string]any, general, method string, allowed map[string]string) error {
	if err := r.check(general, msg); err != nil {
		return err
	}
	if general == "JSONRPCRequest" && len(allowed) == 0 {
		return fmt.Errorf("a %s sends no requests in revision %s, and this is %q", dir, r.name, method)
	}
	if def, ok := allowed[method]; ok {
		return r.check(def, msg)
	}
	if s.known(method) {
		return fmt.Errorf("a %s does not send %q as a %s in revision %s", dir, method, general, r.name)
	}
	return nil
}

// known reports whether any revision has the method.
func (s *Spec) known(method string) bool {
	for _, r := range s.revisions {
		if _, ok := r.methods[method]; ok {
			return true
		}
	}
	return false
}

// Definitions of the errors that have more to say than a code and a text.
var errorDefs = map[string]string{
	"-32020": "HeaderMismatchError",
	"-32021": "MissingRequiredClientCapabilityError",
	"-32022": "UnsupportedProtocolVersionError",
	"-32042": "URLElicitationRequiredError",
}

func (r *revision) failure(msg map[string]any) error {
	if err := r.check(r.first("JSONRPCErrorResponse", "JSONRPCError"), msg); err != nil {
		return err
	}
	code, _ := dig(msg, "error", "code").(json.Number)
	if def := r.first(errorDefs[code.String()]); def != "" {
		return r.check(def, msg)
	}
	return nil
}

func (r *revision) result(dir Direction, msg map[string]any, requestMethod string) error {
	if dir == FromClient && len(r.requests[FromServer]) == 0 {
		return fmt.Errorf("a client sends no results in revision %s", r.name)
	}
	if err := r.check(r.first("JSONRPCResultResponse", "JSONRPCResponse"), msg); err != nil {
		return err
	}
	result := msg["result"]
	switch kind, _ := dig(result, "resultType").(string); {
	case r.first("InputRequiredResult") == "": // no result types in this revision
	case kind == "input_required":
		if !protocol.MayRequireInput(requestMethod) {
			return fmt.Errorf("the result of %q must not ask for input", requestMethod)
		}
		return r.check("InputRequiredResult", result)
	case kind != "complete":
		return nil // an extension's, checked in general above
	}
	if dig(result, "task") != nil && r.first("CreateTaskResult") != "" && requestMethod == mcp.MethodToolsCall {
		return r.check("CreateTaskResult", result)
	}
	return r.check(r.resultOf(requestMethod), result)
}
