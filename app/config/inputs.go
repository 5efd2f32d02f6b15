package config

import (
	"fmt"
	"slices"
	"strings"
)

// An answer is the value of an input.
type answer struct {
	text   string
	secret bool
}

// ask returns the value of an input: from the environment, or from the user, who
// is asked once.
func (c *Config) ask(e Entry, id string) (text string, secret bool, err error) {
	i := slices.IndexFunc(e.Inputs, func(in Input) bool { return in.ID == id })
	if i < 0 {
		var ids []string
		for _, in := range e.Inputs {
			ids = append(ids, in.ID)
		}
		return "", false, fmt.Errorf("uses ${input:%s}, but inputs has no such id%s", id, didYouMean(id, ids))
	}
	in := e.Inputs[i]
	c.mu.Lock()
	defer c.mu.Unlock()
	key := in.Source.File + "\x00" + id
	if a, ok := c.answers[key]; ok {
		return a.text, a.secret, nil
	}
	name := inputVariable(id)
	text, set := c.o.Getenv(name)
	switch {
	case set:
	case c.o.Input != nil:
		if text, err = c.o.Input(in); err != nil {
			return "", false, fmt.Errorf("uses ${input:%s}, which was not answered: %w", id, err)
		}
	case in.Default != "":
		text = in.Default
	default:
		return "", false, fmt.Errorf("uses ${input:%s} (%s), which cannot be entered here; set %s", id, in.Description, name)
	}
	if err := in.accepts(text); err != nil {
		return "", false, fmt.Errorf("uses ${input:%s}: %w", id, err)
	}
	c.answers[key] = answer{text, in.Password}
	return text, in.Password, nil
}

func (in Input) accepts(text string) error {
	if len(in.Options) == 0 || slices.Contains(in.Options, text) {
		return nil
	}
	return fmt.Errorf("the value must be one of %s", strings.Join(in.Options, ", "))
}

// inputVariable returns the environment variable with the value of an input.
func inputVariable(id string) string {
	return "TENON_INPUT_" + strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, id)
}
