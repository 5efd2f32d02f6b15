package config

import (
	"fmt"
	"strings"
)

// An answer is what a person said to an input.
type answer struct {
	text   string
	secret bool
}

// ask returns the answer to an input of the entry's file. It is looked for in
// the environment first, so that scripts can give it, and asked for once.
func (c *Config) ask(e Entry, id string) (text string, secret bool, err error) {
	i := -1
	var ids []string
	for k, in := range e.Inputs {
		if ids = append(ids, in.ID); in.ID == id {
			i = k
		}
	}
	if i < 0 {
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
		return "", false, fmt.Errorf("uses ${input:%s} (%s), and there is nobody to ask: set %s", id, in.Description, name)
	}
	if err := in.accepts(text); err != nil {
		return "", false, fmt.Errorf("uses ${input:%s}: %w", id, err)
	}
	c.answers[key] = answer{text, in.Password}
	return text, in.Password, nil
}

func (in Input) accepts(text string) error {
	if len(in.Options) == 0 {
		return nil
	}
	for _, o := range in.Options {
		if o == text {
			return nil
		}
	}
	return fmt.Errorf("the answer must be one of %s", strings.Join(in.Options, ", "))
}

// inputVariable is the environment variable that answers an input.
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
