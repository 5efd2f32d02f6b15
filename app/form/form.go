// Package form asks the user for the fields of a server's form (elicitation), line
// by line, on a terminal or any other reader and writer.
package form

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/mcp"
)

// ErrDeclined reports that the user declined the form.
var ErrDeclined = errors.New("the user declined")

// Fill asks for each field until its value is valid, and returns the content of
// the form as JSON. An empty line takes the default or omits an optional field; a
// line with a single "!" declines the form, and Fill returns ErrDeclined. The
// fields named in secret are read without echo.
func Fill(ctx context.Context, in Lines, out io.Writer, f *mcp.Form, secret []string) (json.RawMessage, error) {
	answers := map[string]any{}
	for i := range f.Fields {
		field := &f.Fields[i]
		explain(out, field)
		v, err := ask(ctx, in, out, field, slices.Contains(secret, field.Name))
		if err != nil {
			return nil, err
		}
		if v != nil {
			answers[field.Name] = v
		}
	}
	content, err := mcp.Marshal(answers)
	if err != nil {
		return nil, err
	}
	return content, f.CheckResponse(content)
}

func ask(ctx context.Context, in Lines, out io.Writer, field *mcp.FormField, secret bool) (any, error) {
	read, note := in.ReadLine, ""
	if secret {
		read, note = in.ReadSecret, "not shown"
	}
	for {
		line, err := read(ctx, prompt(field, note))
		if err != nil {
			return nil, err
		}
		line = strings.TrimRight(line, "\r\n")
		switch {
		case line == "!":
			return nil, ErrDeclined
		case line == "" && field.Default != nil:
			return field.Default, nil
		case line == "" && !field.Required:
			return nil, nil
		case line == "" && field.Type != mcp.FieldString:
			fmt.Fprintln(out, "  A value is required. (Type ! to decline the whole form.)")
			continue
		}
		v, err := Read(field, line)
		if err == nil {
			err = check(field, v)
		}
		if err == nil {
			return v, nil
		}
		why := visible.Line(err.Error())
		if secret && line != "" {
			why = strings.ReplaceAll(why, visible.Line(line), "…")
		}
		fmt.Fprintf(out, "  %s\n", why)
	}
}

// check validates the value of one field.
func check(field *mcp.FormField, v any) error {
	content, err := mcp.Marshal(map[string]any{field.Name: v})
	if err != nil {
		return err
	}
	return (&mcp.Form{Fields: []mcp.FormField{*field}}).CheckResponse(content)
}

// Read parses text as a value of the field's type.
func Read(field *mcp.FormField, text string) (any, error) {
	if len(field.Options) > 0 && field.Type != mcp.FieldChoices {
		return choice(field, text)
	}
	switch field.Type {
	case mcp.FieldBoolean:
		switch strings.ToLower(strings.TrimSpace(text)) {
		case "y", "yes", "true", "1":
			return true, nil
		case "n", "no", "false", "0":
			return false, nil
		}
		return nil, errors.New("type yes or no")
	case mcp.FieldInteger:
		n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		if err != nil {
			return nil, errors.New("a whole number is needed, such as 3")
		}
		return n, nil
	case mcp.FieldNumber:
		n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
			return nil, errors.New("a number is needed, such as 3 or 0.5")
		}
		return n, nil
	case mcp.FieldChoices:
		all := []string{}
		for part := range strings.SplitSeq(text, ",") {
			if part = strings.TrimSpace(part); part == "" {
				continue
			}
			one, err := choice(field, part)
			if err != nil {
				return nil, err
			}
			if !slices.Contains(all, one) {
				all = append(all, one)
			}
		}
		return all, nil
	}
	return text, nil
}

// choice returns the option with a number, value or title.
func choice(field *mcp.FormField, text string) (string, error) {
	text = strings.TrimSpace(text)
	for _, o := range field.Options {
		if text == o.Value {
			return o.Value, nil
		}
	}
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(field.Options) {
		return field.Options[n-1].Value, nil
	}
	for _, o := range field.Options {
		if strings.EqualFold(text, o.Title) {
			return o.Value, nil
		}
	}
	return "", fmt.Errorf("%q is not one of the choices: type a number from 1 to %d", text, len(field.Options))
}

func explain(out io.Writer, field *mcp.FormField) {
	if field.Description != "" {
		fmt.Fprintf(out, "  %s\n", visible.Line(field.Description))
	}
	for i, o := range field.Options {
		title := o.Value
		if o.Title != "" && o.Title != o.Value {
			title = o.Title + " (" + o.Value + ")"
		}
		fmt.Fprintf(out, "  %2d  %s\n", i+1, visible.Line(title))
	}
}

func prompt(field *mcp.FormField, note string) string {
	name := cmp.Or(field.Title, field.Name)
	name = visible.Line(name)
	var notes []string
	if note != "" {
		notes = append(notes, note)
	}
	switch {
	case field.Type == mcp.FieldBoolean:
		notes = append(notes, "yes/no")
	case field.Type == mcp.FieldChoices:
		notes = append(notes, "separated by commas")
	case field.Format != "":
		notes = append(notes, visible.Line(field.Format))
	case field.Type == mcp.FieldInteger, field.Type == mcp.FieldNumber:
		notes = append(notes, string(field.Type))
	}
	if !field.Required && field.Default == nil {
		notes = append(notes, "optional")
	}
	if field.Default != nil && note != "" {
		notes = append(notes, "default if empty")
	} else if field.Default != nil {
		notes = append(notes, "default: "+visible.Line(fmt.Sprint(field.Default)))
	}
	if len(notes) > 0 {
		name += " (" + strings.Join(notes, ", ") + ")"
	}
	return name + ": "
}
