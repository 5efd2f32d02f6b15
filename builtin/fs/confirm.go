package fs

import (
	"fmt"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// consent is the form that asks the user for confirmation.
type consent struct {
	Yes bool `json:"yes" doc:"go ahead; otherwise nothing is changed" schema:"title=Yes"`
}

// confirm asks the user to confirm a change. If the client cannot ask the
// user, the call must have set confirm. It must run before anything is
// changed, because the tool runs again with the response.
func (c *call) confirm(when Ask, confirmed bool, prompt string) error {
	if c.Config.Ask == AskNever || when == AskBeforeChange && c.Config.Ask != AskBeforeChange {
		return nil
	}
	q, err := mcp.ElicitRequest(&mcp.ElicitParams{Message: prompt})
	if err != nil {
		return err
	}
	if c.Caller.CanHandle(q) != nil {
		if confirmed {
			return nil
		}
		return fmt.Errorf(`%s Nothing was changed. This cannot be undone. If the user wants it, call again with "confirm": true`, prompt)
	}
	answer, err := server.Elicit[consent](c.Call, "consent", prompt)
	if err != nil {
		return err
	}
	if !answer.Yes {
		return fmt.Errorf("the user declined, nothing was changed: %q", prompt)
	}
	return nil
}
