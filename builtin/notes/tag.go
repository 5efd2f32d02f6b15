package notes

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/mcp"
)

// cleanTags validates and normalizes tags.
func cleanTags(input []string) ([]string, error) {
	if len(input) == 0 {
		return nil, errors.New("tags is empty")
	}
	var tags []string
	for _, s := range input {
		tag := cleanTag(s)
		if tag == "" || strings.ContainsFunc(tag, func(r rune) bool { return !isTagRune(r) }) || strings.Trim(tag, "0123456789") == "" {
			return nil, fmt.Errorf("%q is not a valid tag; use letters, digits, - _ and /, and not only digits", clip(s))
		}
		tags = append(tags, tag)
	}
	return tags, nil
}

func isTagRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || strings.ContainsRune("_-/", r)
}

// addTags adds the tags that the note does not have to the frontmatter.
func addTags(text string, tags []string) (string, error) {
	has := parse("", text).tags
	key, old, err := frontTags(text)
	if err != nil {
		return "", err
	}
	now := slices.Clone(old)
	for _, tag := range tags {
		if !slices.Contains(has, tag) {
			has, now = append(has, tag), append(now, tag)
		}
	}
	if len(now) == len(old) {
		return text, nil
	}
	return setFrontTags(text, key, now)
}

// removeTags removes tags from the frontmatter and the text. Nested tags are
// kept: removing "work" keeps "work/urgent".
func removeTags(text string, tags []string) (string, error) {
	key, old, err := frontTags(text)
	if err != nil {
		return "", err
	}
	now := slices.DeleteFunc(slices.Clone(old), func(t string) bool { return slices.Contains(tags, cleanTag(t)) })
	if len(now) < len(old) {
		if text, err = setFrontTags(text, key, now); err != nil {
			return "", err
		}
	}
	_, body := splitFront(text)
	var b strings.Builder
	done := 0
	eachLine(text[body:], func(line string, at int, code bool) {
		if code {
			return
		}
		for _, span := range tagSpans(line) {
			start, end := span[0], span[1]
			if !slices.Contains(tags, cleanTag(line[start:end])) {
				continue
			}
			if start > 0 && line[start-1] == ' ' { // remove one of the two spaces around the tag
				start--
			} else if end < len(line) && line[end] == ' ' {
				end++
			}
			b.WriteString(text[done : body+at+start])
			done = body + at + end
		}
	})
	b.WriteString(text[done:])
	return b.String(), nil
}

// frontTags returns the tags of the frontmatter as written, and their key.
func frontTags(text string) (key string, tags []string, err error) {
	f, _ := splitFront(text)
	if f.err != nil {
		return "", nil, fmt.Errorf("the frontmatter can only be changed in an editor: %w", f.err)
	}
	for _, key := range []string{"tags", "tag"} {
		if f.entry(key) != nil {
			return key, f.list(key, true), nil
		}
	}
	return "tags", nil, nil
}

func setFrontTags(text, key string, tags []string) (string, error) {
	if len(tags) == 0 {
		return patchFront(text, map[string]json.RawMessage{key: json.RawMessage("null")})
	}
	raw, err := mcp.Marshal(tags)
	if err != nil {
		return "", err
	}
	return patchFront(text, map[string]json.RawMessage{key: raw})
}

// tagSpans returns the positions of the #tags of a line, outside of code.
func tagSpans(line string) (spans [][2]int) {
	masked := maskCode(line)
	for at := 0; ; {
		i := strings.IndexByte(masked[at:], '#')
		if i < 0 {
			return spans
		}
		start := at + i
		end := start + 1
		letters := false
		for end < len(masked) {
			r, size := utf8.DecodeRuneInString(masked[end:])
			if !isTagRune(r) {
				break
			}
			letters = letters || !unicode.IsDigit(r)
			end += size
		}
		before, _ := utf8.DecodeLastRuneInString(masked[:start])
		// "](#" is a link within the note.
		if letters && (start == 0 || unicode.IsSpace(before) || strings.ContainsRune("(,;", before) && !strings.HasSuffix(masked[:start], "](")) {
			spans = append(spans, [2]int{start, end})
		}
		at = end
	}
}
