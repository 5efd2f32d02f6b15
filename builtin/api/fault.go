package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/builtin/api/expr"
	"github.com/tenon-mcp/tenon/builtin/api/spec"
	"github.com/tenon-mcp/tenon/builtin/api/upstream"
	"github.com/tenon-mcp/tenon/internal/textclip"
)

// A fault is a compiled rule that makes an error of a response.
type fault struct {
	when    *expr.Query
	status  []int
	message *expr.Template
}

func (c *compiler) rules(path string, list []spec.ErrorRule) []fault {
	var out []fault
	for i, r := range list {
		at := fmt.Sprintf("%s[%d]", path, i)
		if r.When == "" && len(r.Status) == 0 {
			c.needs(at, "needs when or status")
		}
		out = append(out, fault{c.query(at+".when", r.When), r.Status, c.text(at+".message", r.Message, false)})
	}
	return out
}

// An apiError is a response that is an error. Its text is for the model.
type apiError struct {
	status int
	text   string
	body   any
}

func (e *apiError) Error() string { return e.text }

// check returns the error of a response, by the rules of a step, those of the
// file, and then by its status.
func (v *service) check(ctx context.Context, s *step, sc *scope, a *answer) error {
	for _, f := range slices.Concat(s.faults, v.faults) {
		if len(f.status) > 0 && !slices.Contains(f.status, a.status) {
			continue
		}
		if f.when != nil {
			if yes, err := f.when.True(ctx, a.body, &sc.vars); err != nil || !yes {
				continue // a body of another form
			}
		}
		text, err := f.message.Text(ctx, a.body, &sc.vars)
		if err != nil || strings.TrimSpace(text) == "" {
			text = v.reason(a.body)
		}
		text = fmt.Sprintf("%s: %s", v.title, v.clip(text, 2000))
		if a.status >= 500 && s.mayAct() {
			text = strings.TrimSuffix(text, ".") + unknownEffect
		}
		return &apiError{status: a.status, body: a.body, text: text}
	}
	if a.status < 400 {
		return nil
	}
	return &apiError{status: a.status, body: a.body, text: v.describe(s, a)}
}

// describe returns what a model needs to know about an error status.
func (v *service) describe(s *step, a *answer) string {
	text := fmt.Sprintf("%s answered %d %s", v.title, a.status, http.StatusText(a.status))
	if why := v.reason(a.body); why != "" {
		text += ": " + textclip.Clip(why, 1000)
	}
	wait, told := upstream.Wait(a.header, time.Now())
	switch {
	case a.status == http.StatusTooManyRequests || upstream.Exhausted(a.header) && a.status == http.StatusForbidden:
		text += ". The rate limit is exceeded"
		if told {
			text += fmt.Sprintf("; try again in %s", wait.Round(time.Second))
		}
	case a.status == http.StatusUnauthorized:
		text += ". The credential of the server was refused: the user has to renew it"
	case a.status == http.StatusForbidden:
		text += ". The account may not do this"
	case a.status >= 500 && s.mayAct():
		text += unknownEffect
	case a.status >= 500 && !s.follows:
		text += ". Try again later"
	}
	return text
}

// clip shortens a text whose secrets are removed first: a part of one would not be
// recognized.
func (v *service) clip(text string, limit int) string {
	if v.hidden != nil {
		text = v.hidden(text)
	}
	return textclip.Clip(text, limit)
}

// reason finds the message in the body of an error.
func (v *service) reason(body any) string {
	switch b := body.(type) {
	case string:
		if text := strings.TrimSpace(b); text != "" && text[0] != '<' {
			return v.clip(text, 300)
		}
	case []any:
		if len(b) > 0 {
			return v.reason(b[0])
		}
	case map[string]any:
		for _, name := range []string{"message", "error_description", "detail", "error", "title", "reason", "errors", "description"} {
			if text := v.reason(b[name]); text != "" {
				if more, ok := b["errors"]; ok && name == "message" && more != nil {
					text += " " + v.clip(expr.Text(more), 500)
				}
				return text
			}
		}
	}
	return ""
}

// unknownEffect is added to errors of requests that may have had an effect.
const unknownEffect = ". It is not known whether the request had an effect: check before you call again"

// mayAct reports whether another call may act again, if the request of the step was
// processed.
func (s *step) mayAct() bool { return !s.request.reads() && (s.once || !s.retry.Safe) }

// unsent adds to an error of a request that may have had an effect.
func (v *service) unsent(s *step, err error) error {
	failed, ok := errors.AsType[*upstream.Error](err)
	if !ok || !failed.Sent || !s.mayAct() {
		return err
	}
	return fmt.Errorf("%w"+unknownEffect, err)
}
