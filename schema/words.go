package schema

import (
	"errors"
	"fmt"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
)

// short gives the text of an error that somebody else wrote on one bounded
// line, without what json v2 says about Go types.
func short(err error) string {
	var semantic *jsonv2.SemanticError
	if errors.As(err, &semantic) && semantic.Err != nil {
		err = semantic.Err
	}
	text := strings.Join(strings.Fields(err.Error()), " ")
	if len(text) > 200 {
		text = strings.ToValidUTF8(text[:200], "") + "…"
	}
	return text
}

func items(n int) string      { return plural(n, "item") }
func characters(n int) string { return plural(n, "character") }

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// list joins the first few values, each already written as JSON.
func list(values []string) string {
	const most = 20
	if len(values) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(values[:most], ", "), len(values)-most)
	}
	return strings.Join(values, ", ")
}

// allowed says which properties there are.
func allowed(names []string) string {
	if len(names) == 0 {
		return "no properties are allowed"
	}
	return "allowed are " + list(names)
}
