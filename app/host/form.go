package host

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tenon-mcp/tenon/app/llm"
)

// An AnswerForm makes the model answer with JSON.
type AnswerForm struct {
	// Schema is a JSON Schema of an object.
	Schema json.RawMessage

	// Check returns an error if the answer does not have the form. The model gets
	// its text and may try again.
	Check func(json.RawMessage) error
}

// A FormError reports that the model did not give an answer of the form.
type FormError struct{ Err error }

func (e *FormError) Error() string {
	return fmt.Sprintf("the answer does not match the schema after %d attempts: %v", maxForms, e.Err)
}
func (e *FormError) Unwrap() error { return e.Err }

// formName is the tool with which the model gives an answer that has a form. The
// names of servers' tools have "__".
const formName = "final_answer"

// maxForms is how many answers are accepted that do not have the form.
const maxForms = 3

// formState is what is known of the answer of a turn that must have a form.
type formState struct {
	wrong  int
	err    error // of the last wrong answer
	forced bool  // the model must answer now
}

// wantForm adds the tool for the answer to a request.
func (t *turn) wantForm(r *llm.Request) {
	f := t.opts.Answer
	if f == nil {
		return
	}
	r.Tools = append(r.Tools[:len(r.Tools):len(r.Tools)], llm.Tool{
		Name: formName, Schema: f.Schema,
		Description: "Gives the final answer to the person. Call it once, when everything else is done; its arguments are the answer.",
	})
	if t.form.forced {
		r.ToolChoice = formName
	}
}

// isForm reports whether a call is the answer.
func (t *turn) isForm(c llm.ToolCall) bool { return t.opts.Answer != nil && c.Name == formName }

// planForm returns the call that takes the answer.
func (t *turn) planForm(c llm.ToolCall) plannedCall {
	call := &ToolCall{ID: c.ID, Name: c.Name, Tool: c.Name, Arguments: c.Arguments, Phase: CallProposed}
	return plannedCall{call: call, form: true, run: func() llm.ToolResult {
		if c.Problem != "" {
			t.wrong(fmt.Errorf("%s", c.Problem))
		} else {
			t.take(c.Arguments)
		}
		if t.result.Data != nil {
			return t.session.ownResult(call, "The person has the answer.", nil)
		}
		return t.session.ownResult(call, "", fmt.Errorf("the answer does not match the schema: %w; call %s again with an answer that does", t.form.err, formName))
	}}
}

// take accepts an answer if it has the form.
func (t *turn) take(answer json.RawMessage) {
	if err := t.opts.Answer.Check(answer); err != nil {
		t.wrong(err)
		return
	}
	t.result.Data = answer
}

func (t *turn) wrong(err error) {
	t.form.wrong++
	t.form.err, t.form.forced = err, true
}

// formed reports whether the turn is over after the calls of an answer.
func (t *turn) formed() (over bool, stop string, err error) {
	switch {
	case t.opts.Answer == nil:
		return false, "", nil
	case t.result.Data != nil:
		return true, string(llm.StopEnd), nil
	case t.form.wrong >= maxForms:
		return true, "schema", &FormError{t.form.err}
	}
	return false, "", nil
}

// noCalls decides whether the turn goes on after an answer without calls: an
// answer that must have a form may be text that has it; otherwise the model is
// told to use the tool.
func (t *turn) noCalls(a answered) (again bool, stop string, err error) {
	if a.stop == llm.StopLength && t.bounded {
		err := t.outOfBudget()
		return false, err.Stop, err
	}
	if t.opts.Answer == nil || a.stop == llm.StopLength || a.stop == llm.StopRefusal {
		return false, string(a.stop), nil
	}
	if text := strings.TrimSpace(a.text); strings.HasPrefix(text, "{") {
		t.take(json.RawMessage(text))
	} else {
		t.wrong(fmt.Errorf("the model answered with text"))
	}
	if over, stop, err := t.formed(); over {
		return false, stop, err
	}
	t.session.add(llm.User(fmt.Sprintf("Give the answer by calling %s: its arguments must match the schema of the tool (%v).", formName, t.form.err)))
	t.session.save()
	return true, "", nil
}
