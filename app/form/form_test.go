package form_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/app/form"
	"github.com/tenon-mcp/tenon/internal/leaktest"
	"github.com/tenon-mcp/tenon/mcp"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const survey = `{"type":"object","required":["name","age","pet"],"properties":{
	"name":{"type":"string","title":"Your name","description":"as in the \u001b[31mpassport","minLength":2},
	"age":{"type":"integer","minimum":0,"maximum":150},
	"share":{"type":"number","default":0.5},
	"agree":{"type":"boolean"},
	"mail":{"type":"string","format":"email"},
	"pet":{"type":"string","oneOf":[{"const":"c","title":"Cat"},{"const":"d","title":"Dog"}]},
	"days":{"type":"array","items":{"type":"string","enum":["mon","tue","wed"]},"maxItems":2}}}`

func fill(t *testing.T, lines ...string) (string, string, error) {
	t.Helper()
	f, err := mcp.ParseForm(json.RawMessage(survey))
	if err != nil {
		t.Fatal(err)
	}
	var shown bytes.Buffer
	in := form.FromReader(strings.NewReader(strings.Join(lines, "\n")+"\n"), &shown)
	content, err := form.Fill(t.Context(), in, &shown, f, nil)
	return string(content), shown.String(), err
}

func TestFill(t *testing.T) {
	got, shown, err := fill(t,
		"A",         // too short
		"Ada",       // name
		"many",      // no number
		"200",       // too many
		"",          // needed
		"36",        // age
		"",          // share: the default
		"perhaps",   // neither
		"Yes",       // agree
		"no mail",   // no address
		"",          // mail: left out
		"bird",      // no choice
		"dog",       // pet, by its title
		"mon, 2, 3", // too many
		"1,tue",     // days, by number and by value
	)
	if want := `{"age":36,"agree":true,"days":["mon","tue"],"name":"Ada","pet":"d","share":0.5}`; err != nil || got != want {
		t.Errorf("%s, %v\n%s", got, err, shown)
	}
	for _, want := range []string{"Your name: ", "share (number, default: 0.5): ", "agree (yes/no, optional): ", "mail (email, optional): ", " 2  Dog (d)\n", "days (separated by commas, optional): ",
		"whole number", "A value is required", "yes or no", "not one of the choices"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q was not shown:\n%s", want, shown)
		}
	}
	if strings.Contains(shown, "\x1b") {
		t.Error("a control sequence was shown")
	}
}

func TestFillDeclinesAndEnds(t *testing.T) {
	if _, _, err := fill(t, "Ada", "!"); !errors.Is(err, form.ErrDeclined) {
		t.Errorf("declined: %v", err)
	}
	if _, _, err := fill(t, "Ada"); !errors.Is(err, io.EOF) {
		t.Errorf("nobody there: %v", err)
	}
}

// A line that nobody waits for any more is not lost.
func TestLinesAreNotLost(t *testing.T) {
	r, w := io.Pipe()
	in := form.FromReader(r, io.Discard)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := in.ReadLine(ctx, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	go func() {
		io.WriteString(w, "one\r\ntwo")
		w.Close()
	}()
	for _, want := range []string{"one", "two"} {
		if got, err := in.ReadLine(t.Context(), ""); err != nil || got != want {
			t.Errorf("%q, %v, not %q", got, err, want)
		}
	}
	if _, err := in.ReadLine(t.Context(), ""); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}
