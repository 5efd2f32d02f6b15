package mcptest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tenon-mcp/tenon/mcp"
)

// compareOutcome compares the outcome of a call with the conversation.
func (p *performing) compareOutcome(res mcp.Result, err error) {
	got, word, rest := outcomeOf(res, err)
	call := p.lines[p.block.call]
	if p.block.outcome < 0 {
		p.seen.extra[p.block.call] = append(p.seen.extra[p.block.call], got)
		p.fail(p.wrong(call, "the conversation has no outcome for this call: %s", clip(got)))
		return
	}
	l := p.lines[p.block.outcome]
	if _, err := parsePattern(l.arg); err != nil && l.word == "result" {
		p.fail(p.mistaken(l, "%v", err))
		return
	}
	why := sameOutcome(l, word, rest, p.captured)
	if why == nil {
		p.seen.lines[p.block.outcome] = sight{ok: true, text: l.text}
		return
	}
	if want, err := parsePattern(l.arg); err == nil && word == "result" && l.word == "result" {
		got = "result " + want.merge([]byte(rest)).String()
	}
	p.seen.lines[p.block.outcome] = sight{text: got}
	p.fail(p.wrong(l, "%v\n\tgot  %s %s\n\twant %s %s", why, word, clip(rest), l.word, clip(l.arg)))
}

// outcomeOf formats the outcome of a call as a line.
func outcomeOf(res mcp.Result, err error) (text, word, rest string) {
	if err == nil {
		rest = string(orEmpty(res.Body))
		if len(res.Meta) > 0 {
			rest = withMeta(rest, res.Meta)
		}
		return "result " + rest, "result", rest
	}
	rest = "* " + err.Error()
	if e, ok := errors.AsType[*mcp.Error](err); ok {
		rest = strconv.Itoa(e.Code) + " " + e.Message
	}
	first, _, _ := strings.Cut(rest, "\n")
	return "error " + first, "error", rest
}

func withMeta(body string, meta mcp.Meta) string {
	raw, err := mcp.Marshal(meta)
	if err != nil {
		return body
	}
	comma := ","
	if body == "{}" {
		comma = ""
	}
	return strings.TrimSuffix(body, "}") + comma + `"_meta":` + string(raw) + "}"
}

func sameOutcome(l line, word, rest string, captured captures) error {
	switch {
	case l.word != word:
		return fmt.Errorf("the call had another outcome")
	case word == "result":
		want, err := parsePattern(l.arg)
		if err != nil {
			return err
		}
		return want.match(json.RawMessage(rest), captured)
	}
	code, message, _ := strings.Cut(rest, " ")
	wantCode, part, _ := strings.Cut(l.arg, " ")
	if wantCode != "*" && wantCode != code {
		return fmt.Errorf("the error code is %s", code)
	}
	if !strings.Contains(message, strings.TrimSpace(part)) {
		return fmt.Errorf("the message does not contain %q", part)
	}
	return nil
}
