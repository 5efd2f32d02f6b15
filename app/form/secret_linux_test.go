package form_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/app/form"
	"github.com/tenon-mcp/tenon/internal/ptytest"
	"github.com/tenon-mcp/tenon/mcp"
)

// H13: at a terminal, what is typed into a secret field is not shown, and what
// comes after it is.
func TestSecretsAreNotShown(t *testing.T) {
	f, err := mcp.ParseForm(json.RawMessage(`{"type":"object","required":["password","name"],"properties":{"password":{"type":"string","minLength":8},"name":{"type":"string"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	s := ptytest.New(t)
	done := make(chan string, 1)
	go func() {
		content, err := form.Fill(t.Context(), form.FromReader(s.TTY, s.TTY), s.TTY, f, []string{"password"})
		if err != nil {
			t.Error(err)
		}
		done <- string(content)
	}()
	s.Sees("password (not shown): ")
	s.Press("hunter2\r")
	s.Sees("8 characters")
	s.Sees("password (not shown): ")
	s.Press("hunter2hunter2\r")
	s.Sees("name: ")
	s.Press("Ada\r")
	if got := <-done; got != `{"name":"Ada","password":"hunter2hunter2"}` {
		t.Errorf("filled in %s", got)
	}
	s.Sees("Ada")
	if strings.Contains(s.Text(), "hunter2") {
		t.Errorf("the secret is on the screen: %q", s.Text())
	}
}
