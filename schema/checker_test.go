package schema

import (
	"encoding/json"
	"errors"
	"testing"
)

type byHand string

func (byHand) JSONSchema() json.RawMessage { return json.RawMessage(`{"type":"string"}`) }

type alwaysWrong struct{}

func (alwaysWrong) Check(json.RawMessage) error { return errors.New("never right") }

// The other tests of this package import schema/validate; here it is taken
// away for a while.
func TestWithoutValidator(t *testing.T) {
	before := registered.Swap(nil)
	defer registered.Store(before)

	const advice = `schemas written by hand need a validator: import _ "github.com/tenon-mcp/tenon/schema/validate"`
	if c, err := NewChecker(json.RawMessage(`{}`)); c != nil || err == nil || err.Error() != advice {
		t.Errorf("%v, %v", c, err)
	}
	const want = "schema: schema.byHand: the result of JSONSchema is not usable: " + advice
	if _, err := Compile[byHand](); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if _, err := Compile[struct{ A int }](); err != nil {
		t.Errorf("a type without a schema of its own: %v", err)
	}
}

func TestRegisterChecker(t *testing.T) {
	before := registered.Load()
	defer registered.Store(before)

	var got string
	RegisterChecker(func(s json.RawMessage) (Checker, error) {
		got = string(s)
		return alwaysWrong{}, nil
	})
	plan, err := Compile[byHand]()
	if err != nil || got != `{"type":"string"}` {
		t.Fatalf("%v; the checker was asked for %s", err, got)
	}
	var v byHand
	if err := plan.Decode([]byte(`"x"`), &v); err == nil || err.Error() != "never right" {
		t.Errorf("the registered checker was not asked: %v", err)
	}
	defer func() {
		if recover() == nil {
			t.Error("a nil func was registered")
		}
	}()
	RegisterChecker(nil)
}
