package discovery

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxValue is the size limit of an input's value in bytes.
const maxValue = 32 << 10

// The formats of an input.
const (
	formatString    = "string"
	formatNumber    = "number"
	formatBoolean   = "boolean"
	formatFilepath  = "filepath"  // a path that need not exist
	formatFile      = "file"      // an existing file
	formatDirectory = "directory" // an existing folder
)

// An Input is a value that the user provides.
type Input struct {
	Name        string
	Description string
	Target      string // where the value goes, such as "environment variable API_KEY"
	Required    bool
	Secret      bool
	Multiple    bool   // it may have several values
	Format      string // one of the formats above
	Default     []string
	Placeholder string
	Choices     []string
	Min, Max    *float64
}

// Hint returns what is expected in a few words, such as "number, 1 to 10". Empty
// means any text.
func (in Input) Hint() string {
	var parts []string
	if in.Format != formatString && in.Format != "" {
		parts = append(parts, in.Format)
	}
	if in.Min != nil {
		parts = append(parts, "at least "+number(*in.Min))
	}
	if in.Max != nil {
		parts = append(parts, "at most "+number(*in.Max))
	}
	if in.Placeholder != "" {
		parts = append(parts, "such as "+in.Placeholder)
	}
	return strings.Join(parts, ", ")
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// Check returns the value for a text that the user entered. The error does not
// contain the text, which may be a secret.
func (in Input) Check(text string) (string, error) {
	switch {
	case !utf8.ValidString(text):
		return "", errors.New("the value is not valid UTF-8")
	case len(text) > maxValue:
		return "", fmt.Errorf("the value is longer than %d KiB", maxValue>>10)
	case strings.ContainsFunc(text, unicode.IsControl):
		return "", errors.New("the value must not contain line breaks or control characters")
	case len(in.Choices) > 0 && !slices.Contains(in.Choices, text):
		return "", fmt.Errorf("the value must be one of %s", strings.Join(in.Choices, ", "))
	}
	switch in.Format {
	case formatNumber:
		return in.checkNumber(text)
	case formatBoolean:
		if text != "true" && text != "false" {
			return "", errors.New("the value must be true or false")
		}
	case formatFilepath, formatFile, formatDirectory:
		return in.checkPath(text)
	}
	return text, nil
}

func (in Input) checkNumber(text string) (string, error) {
	text = strings.TrimSpace(text)
	f, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || math.IsInf(f, 0) || math.IsNaN(f) || strings.ContainsAny(text, "xXpP_"):
		return "", errors.New("the value must be a number")
	case in.Min != nil && f < *in.Min:
		return "", fmt.Errorf("the value must be at least %s", number(*in.Min))
	case in.Max != nil && f > *in.Max:
		return "", fmt.Errorf("the value must be at most %s", number(*in.Max))
	}
	return text, nil
}

// checkPath returns an absolute path, because the server is started in another
// folder.
func (in Input) checkPath(text string) (string, error) {
	if text == "" {
		return "", errors.New("the value must be a path")
	}
	if rest, ok := strings.CutPrefix(text, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("find your home folder: %w", err)
		}
		text = filepath.Join(home, rest)
	}
	path, err := filepath.Abs(text)
	if err != nil {
		return "", err
	}
	if in.Format == formatFilepath {
		return path, nil
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", err
	case in.Format == formatDirectory && !info.IsDir():
		return "", fmt.Errorf("%s is not a folder", path)
	case in.Format == formatFile && info.IsDir():
		return "", fmt.Errorf("%s is a folder, not a file", path)
	}
	return path, nil
}
