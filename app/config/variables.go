package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A variable is a reference such as ${NAME:-default}.
type variable struct {
	kind    string // "env", "input", "keyring", "file", or one of predefined
	name    string // for env, input, keyring and file
	def     string // the text after :-
	hasDef  bool
	written string // the whole reference
}

// predefined are variables that are not from the environment.
var predefined = []string{"workspaceFolder", "workspaceFolderBasename", "userHome", "pathSeparator", "/"}

// eachVariable calls literal and use with the parts of text in order, until the
// first error.
//
// $${ is a literal ${. A default ends at the brace that closes the variable, and
// may contain variables and pairs of braces.
func eachVariable(text string, literal func(string), use func(variable) error) error {
	for {
		i := strings.Index(text, "${")
		if i < 0 {
			literal(text)
			return nil
		}
		if i > 0 && text[i-1] == '$' {
			literal(text[:i-1] + "${")
			text = text[i+2:]
			continue
		}
		literal(text[:i])
		end := closing(text[i:])
		if end < 0 {
			return errors.New("has ${ without }; use $${ for a literal ${")
		}
		v, err := parseVariable(text[i : i+end+1])
		if err != nil {
			return err
		}
		if err := use(v); err != nil {
			return err
		}
		text = text[i+end+1:]
	}
}

// closing returns the index of the brace that closes the variable at the start of
// text, or -1.
func closing(text string) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch {
		case strings.HasPrefix(text[i:], "${"):
			depth++
			i++
		case text[i] == '{':
			depth++
		case text[i] == '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

func parseVariable(written string) (variable, error) {
	v := variable{written: written}
	inner := written[2 : len(written)-1]
	inner, v.def, v.hasDef = strings.Cut(inner, ":-")
	if slices.Contains(predefined, inner) && !v.hasDef {
		v.kind = inner
		return v, nil
	}
	kind, rest, typed := strings.Cut(inner, ":")
	switch {
	case !typed && isName(inner):
		v.kind, v.name = "env", inner
	case typed && kind == "env" && rest != "" && !strings.ContainsAny(rest, "=${\x00"):
		v.kind, v.name = "env", rest
	case typed && (kind == "input" || kind == "keyring" || kind == "file") && rest != "" && !v.hasDef:
		v.kind, v.name = kind, rest
	default:
		return v, unknownVariable(written)
	}
	return v, nil
}

func unknownVariable(written string) error {
	return fmt.Errorf("has unknown variable %s; use ${VAR}, ${VAR:-default}, ${env:VAR}, ${input:id}, ${keyring:name}, ${workspaceFolder} or ${userHome}, or $${ for a literal ${", written)
}

func isName(s string) bool {
	for i, c := range []byte(s) {
		if c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// texts calls see with each text of the entry that may contain variables, and its
// place.
func (e *Entry) texts(see func(place, text string)) {
	see("command", e.Command)
	for i, a := range e.Args {
		see(fmt.Sprintf("args[%d]", i), a)
	}
	for name, v := range e.Env {
		see("env."+name, v)
	}
	see("envFile", e.EnvFile)
	see("cwd", e.Dir)
	see("url", e.URL)
	for name, v := range e.Headers {
		see("headers."+name, v)
	}
	see("builtin", e.Builtin)
	if o := e.OAuth; o != nil {
		o.eachText(func(_ string, text *string) { see("oauth", *text) })
		for _, s := range o.Scopes {
			see("oauth", s)
		}
	}
}

// variables returns the variables that the entry uses, such as "API_KEY" and
// "input:token", including those in defaults.
func (e *Entry) variables() map[string]bool {
	used := map[string]bool{}
	var collect func(place, text string)
	collect = func(place, text string) {
		_ = eachVariable(text, func(string) {}, func(v variable) error {
			switch v.kind {
			case "env":
				used[v.name] = true
			case "input", "keyring":
				used[v.kind+":"+v.name] = true
			}
			collect(place, v.def)
			return nil
		})
	}
	e.texts(collect)
	return used
}

// KeyringNames returns the sorted names of the secrets in the keyring that the
// entry refers to.
func (e Entry) KeyringNames() []string {
	var list []string
	for name := range e.variables() {
		if name, ok := strings.CutPrefix(name, "keyring:"); ok {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// Unset returns the sorted environment variables that an entry needs and that are
// not set. A variable with a default is not needed, but those in its default are.
func (c *Config) Unset(e Entry) []string {
	var unset []string
	var see func(place, text string)
	see = func(place, text string) {
		_ = eachVariable(text, func(string) {}, func(v variable) error {
			value, set := "", true
			if v.kind == "env" {
				value, set = c.o.Getenv(v.name)
			}
			switch {
			case v.hasDef && value == "":
				see(place, v.def)
			case !set:
				unset = append(unset, v.name)
			}
			return nil
		})
	}
	e.texts(see)
	slices.Sort(unset)
	return slices.Compact(unset)
}

// usedInputs returns the inputs that an entry uses.
func usedInputs(e Entry, inputs []Input) []Input {
	used := e.variables()
	var list []Input
	for _, in := range inputs {
		if used["input:"+in.ID] {
			in.Server = e.Name
			list = append(list, in)
		}
	}
	return list
}

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
	name := InputVariable(id)
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

// InputVariable returns the environment variable with the value of an input.
func InputVariable(id string) string {
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
