package sql

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/tenon-mcp/tenon/builtin/sql/engine"
	"github.com/tenon-mcp/tenon/mcp"
)

// readParams converts JSON to parameter values and keeps types: integers
// stay exact, a fraction with more digits than a float64 is a decimal,
// {"base64": "…"} is binary, and other objects and lists are JSON.
func readParams(sql string, raw []json.RawMessage) ([]any, error) {
	if strings.ContainsRune(sql, 0) {
		return nil, &engine.Refusal{Why: "the statement contains a NUL character"} // engines would end the statement there
	}
	params := make([]any, len(raw))
	for i, r := range raw {
		p, err := readParam(bytes.TrimSpace(r))
		if err != nil {
			return nil, fmt.Errorf("params[%d]: %w", i, err)
		}
		params[i] = p
	}
	return params, nil
}

func readParam(raw []byte) (any, error) {
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return nil, nil
	case string(raw) == "true":
		return true, nil
	case string(raw) == "false":
		return false, nil
	case raw[0] == '"':
		var s string
		err := mcp.Unmarshal(raw, &s)
		return s, err
	case raw[0] == '{':
		return objectParam(raw)
	case raw[0] == '[':
		return engine.JSON(raw), nil
	}
	return number(string(raw))
}

func objectParam(raw []byte) (any, error) {
	var o map[string]json.RawMessage
	if err := mcp.Unmarshal(raw, &o); err != nil {
		return nil, err
	}
	text, ok := o["base64"]
	if !ok || len(o) != 1 {
		return engine.JSON(raw), nil
	}
	var s string
	if err := mcp.Unmarshal(text, &s); err != nil {
		return nil, err
	}
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return nil, fmt.Errorf("invalid base64: %w", err)
	}
	return engine.Bytes{Head: b, Size: int64(len(b))}, nil
}

// digitsOfFloat is the number of decimal digits that a float64 always keeps.
const digitsOfFloat = 15

func number(s string) (any, error) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, nil
	}
	whole := !strings.ContainsAny(s, ".eE")
	digits := len(strings.TrimLeft(strings.NewReplacer("-", "", ".", "").Replace(s), "0"))
	f, err := strconv.ParseFloat(s, 64)
	switch {
	case whole, err == nil && digits > digitsOfFloat && !strings.ContainsAny(s, "eE"):
		return engine.Decimal(s), nil
	case err != nil:
		return nil, fmt.Errorf("%s is not a valid number", s)
	}
	return f, nil
}
