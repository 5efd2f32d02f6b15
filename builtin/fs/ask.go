package fs

import (
	"fmt"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// consent is the form that a person fills in.
type consent struct {
	Yes bool `json:"yes" doc:"tick to go on; everything stays as it is otherwise" schema:"title=Yes"`
}

// agree has the person agree to what cannot be undone. Where the client cannot
// ask anybody, whoever calls must have said so in so many words. It is called
// before anything is changed, since the tool runs again with the answer.
func (c *call) agree(when Ask, confirmed bool, question string) error {
	if c.Config.Ask == AskNever || when == AskBeforeChange && c.Config.Ask != AskBeforeChange {
		return nil
	}
	q, err := mcp.ElicitRequest(&mcp.ElicitParams{Message: question})
	if err != nil {
		return err
	}
	if c.Caller.CanHandle(q) != nil {
		if confirmed {
			return nil
		}
		return fmt.Errorf(`%s Nothing was changed. This cannot be undone: if it is what the person wants, call again with "confirm": true`, question)
	}
	answer, err := server.Elicit[consent](c.Call, "consent", question)
	if err != nil {
		return err
	}
	if !answer.Yes {
		return fmt.Errorf("the person did not agree, and nothing was changed: %q", question)
	}
	return nil
}
