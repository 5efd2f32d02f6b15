package expr

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"github.com/itchyny/gojq"
)

// maxHTML is the maximum length of HTML that is converted.
const maxHTML = 4 << 20

// functions returns the functions beyond those of jq. Without loaders, jq reads
// neither the environment nor files.
func functions() []gojq.CompilerOption {
	return []gojq.CompilerOption{
		gojq.WithEnvironLoader(func() []string { return nil }),
		gojq.WithFunction("html_to_markdown", 0, 0, func(in any, _ []any) any { return markdown(in) }),
		gojq.WithFunction("html_to_text", 0, 0, func(in any, _ []any) any { return plainText(in) }),
		gojq.WithFunction("truncate", 1, 1, truncate),
	}
}

func markdown(in any) any {
	html, err := htmlOf(in)
	if err != nil || html == "" {
		return orNil(html, err)
	}
	out, err := toMarkdown().ConvertString(html)
	if err != nil {
		return fmt.Errorf("html_to_markdown: %w", err)
	}
	return out
}

// toMarkdown converts HTML with tables.
var toMarkdown = sync.OnceValue(func() *converter.Converter {
	return converter.NewConverter(converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin()))
})

func orNil(text string, err error) any {
	if err != nil {
		return err
	}
	return text
}

func htmlOf(in any) (string, error) {
	switch in := in.(type) {
	case nil:
		return "", nil
	case string:
		if len(in) > maxHTML {
			return "", fmt.Errorf("the HTML has more than %d MiB", maxHTML>>20)
		}
		if strings.Count(in, "<") > 200_000 {
			return "", fmt.Errorf("the HTML has too many elements")
		}
		return in, nil
	}
	return "", fmt.Errorf("HTML must be a string, not %s", gojq.TypeOf(in))
}

// plainText returns HTML as text, without marks such as links and emphasis.
func plainText(in any) any {
	out := markdown(in)
	text, ok := out.(string)
	if !ok {
		return out
	}
	return strings.NewReplacer("**", "", "\\", "", "`", "").Replace(text)
}

// truncate shortens a text to a number of characters.
func truncate(in any, args []any) any {
	if in == nil {
		return nil
	}
	text, ok := in.(string)
	n, isInt := args[0].(int)
	if !ok || !isInt || n < 0 {
		return fmt.Errorf("truncate needs a string and a number of characters")
	}
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n]) + "…"
}
