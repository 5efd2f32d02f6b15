package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/discovery"
	"github.com/tenon-mcp/tenon/internal/textclip"
	"github.com/tenon-mcp/tenon/internal/visible"
)

// collect returns the values of an option's inputs: from --input, from the
// environment, from the user at a terminal for required inputs, or the defaults.
// With --dry-run it does not ask, and shows a missing value as <NAME>.
func (p *program) collect(ctx context.Context, server string, o *discovery.Option, a *adding, s *secretStore) (discovery.Values, error) {
	given, err := parseInputs(o, a.inputs)
	if err != nil {
		return nil, err
	}
	values := discovery.Values{}
	for _, in := range o.Inputs {
		texts := given[in.Name]
		if text, ok := os.LookupEnv(config.InputVariable(in.Name)); ok && texts == nil {
			texts = []string{text}
		}
		ask := texts == nil && in.Required && p.interactive() && !a.dry
		if ask && in.Secret && s.unavailable() != "" {
			p.note("\n%s needs %s: %s\nIt cannot be stored: %s. You are asked for it when the server is started.", visible.Line(server), visible.Line(in.Name), visible.Line(about(in)), s.unavailable())
			values[in.Name] = []discovery.Value{{Ref: s.add(in, "")}}
			continue
		}
		if ask {
			texts, err = p.askFor(ctx, server, in)
		} else {
			if texts == nil {
				texts = in.Default
			}
			texts, err = checkTexts(in, texts)
		}
		if err != nil {
			return nil, err
		}
		for _, text := range texts {
			values[in.Name] = append(values[in.Name], s.value(in, text))
		}
		if a.dry && in.Required && len(texts) == 0 {
			values[in.Name] = []discovery.Value{{Ref: "<" + in.Name + ">"}}
		}
	}
	if missing := o.Missing(values); len(missing) > 0 {
		return nil, missingInputs(missing)
	}
	return values, nil
}

// reference matches a value of --input that refers to an environment variable.
var reference = pattern(`^\$\{[A-Za-z_][A-Za-z0-9_]*\}$`)

// parseInputs returns the values of --input by the names of inputs.
func parseInputs(o *discovery.Option, words []string) (map[string][]string, error) {
	var names []string
	for _, in := range o.Inputs {
		names = append(names, in.Name)
	}
	given := map[string][]string{}
	for _, word := range words {
		name, value, ok := strings.Cut(word, "=")
		if !ok || name == "" {
			return nil, usagef("--input must be NAME=value")
		}
		if !slices.Contains(names, name) {
			name = strings.TrimLeft(name, "-")
		}
		i := slices.Index(names, name)
		if i < 0 {
			return nil, usagef("no input %q%s", name, suggest(name, names))
		}
		if given[name] != nil && !o.Inputs[i].Multiple {
			return nil, usagef("the input %s takes one value", name)
		}
		given[name] = append(given[name], value)
	}
	return given, nil
}

// checkTexts returns the values for texts from the command line or a file.
func checkTexts(in discovery.Input, texts []string) ([]string, error) {
	var list []string
	for _, text := range texts {
		if !reference().MatchString(text) {
			var err error
			if text, err = in.Check(text); err != nil {
				return nil, usagef("the input %s: %w", in.Name, err)
			}
		}
		list = append(list, text)
	}
	return list, nil
}

// missingInputs returns an error that names inputs without values.
func missingInputs(missing []discovery.Input) error {
	var b strings.Builder
	for _, in := range missing {
		fmt.Fprintf(&b, "\n  %s  %s", visible.Line(in.Name), visible.Line(about(in)))
	}
	return usagef("these inputs need a value; use --input NAME=value, or for a secret the variable %s:%s", config.InputVariable(missing[0].Name), b.String())
}

// about describes an input on one line.
func about(in discovery.Input) string {
	parts := []string{textclip.Clip(in.Description, 500), textclip.Clip(in.Hint(), 200)}
	if len(in.Choices) > 0 {
		parts = append(parts, "one of "+strings.Join(in.Choices, ", "))
	}
	if in.Secret {
		parts = append(parts, "secret")
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	return strings.Join(append(parts, "for "+in.Target), "; ")
}

// askFor asks the user for the values of an input until they are valid. An empty
// line takes the default, and ends the list of an input with several values.
func (p *program) askFor(ctx context.Context, server string, in discovery.Input) ([]string, error) {
	p.asking.Lock()
	defer p.asking.Unlock()
	fmt.Fprintf(p.err, "\n%s needs %s: %s\n", visible.Line(server), p.stderr().Bold(visible.Line(in.Name)), visible.Line(about(in)))
	for i, c := range in.Choices {
		fmt.Fprintf(p.err, "  %2d  %s\n", i+1, visible.Line(c))
	}
	if len(in.Default) > 0 && !in.Secret {
		fmt.Fprintf(p.err, "  (default: %s)\n", visible.Line(strings.Join(in.Default, ", ")))
	}
	if in.Multiple {
		fmt.Fprintln(p.err, "  (several values, one on each line; an empty line ends them)")
	}
	var list []string
	for {
		text, err := p.secret(config.Input{Password: in.Secret})
		if errors.Is(err, io.EOF) {
			return nil, usageError{errors.New("nothing was added")}
		}
		if err != nil {
			return nil, err
		}
		switch {
		case text != "":
			text, err = in.Check(chosenOf(in.Choices, text))
		case len(list) > 0:
			return list, nil
		case len(in.Default) > 0:
			return checkTexts(in, in.Default)
		default:
			err = errors.New("a value is required")
		}
		if err != nil {
			fmt.Fprintf(p.err, "%s\n", visible.Line(err.Error()))
			continue
		}
		if list = append(list, text); !in.Multiple {
			return list, nil
		}
	}
}

// chosenOf returns the choice with a number, or text itself.
func chosenOf(choices []string, text string) string {
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(choices) && !slices.Contains(choices, text) {
		return choices[n-1]
	}
	return text
}

// A secretStore decides where the secrets of a server go: into the keyring, or,
// without one and in a project's file, nowhere: then the user is asked at each
// start.
type secretStore struct {
	p       *program
	server  string
	project bool

	pending map[string]string // for the keyring, by name
	saved   []string
	inputs  []config.Input // secrets that are asked for at each start
	why     string         // why these are not stored
}

// value returns the value of an input as it is written to the configuration.
func (s *secretStore) value(in discovery.Input, text string) discovery.Value {
	switch {
	case reference().MatchString(text):
		return discovery.Value{Ref: text}
	case in.Secret:
		s.p.secrets.Add(s.server, text)
		return discovery.Value{Text: text, Ref: s.add(in, text)}
	}
	return discovery.Value{Text: text}
}

// unfit are the characters that names of secrets do not have.
var unfit = pattern(`[^A-Za-z0-9_.-]+`)

// unavailable returns why secrets cannot be stored; empty means that they can.
func (s *secretStore) unavailable() string {
	if s.project {
		return "a project's file has no secrets"
	}
	if _, err := s.p.keys.server(s.server); err != nil {
		return err.Error()
	}
	return ""
}

// add takes a secret and returns the variable that stands for it.
func (s *secretStore) add(in discovery.Input, secret string) string {
	base := strings.Trim(unfit().ReplaceAllString(s.server+"."+in.Name, "_"), "_.-")
	name := base
	for n := 2; !s.project; n++ {
		have, err := s.p.keys.server(name)
		if err != nil {
			break
		}
		if _, taken := s.pending[name]; have == "" && !taken {
			if s.pending == nil {
				s.pending = map[string]string{}
			}
			s.pending[name] = secret
			return "${keyring:" + name + "}"
		}
		name = fmt.Sprintf("%s-%d", base, n)
	}
	s.why = s.unavailable()
	name = base
	for n := 2; slices.ContainsFunc(s.inputs, func(have config.Input) bool { return have.ID == name }); n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	s.inputs = append(s.inputs, config.Input{ID: name, Description: in.Name, Password: true})
	return "${input:" + name + "}"
}

// save stores the secrets in the keyring.
func (s *secretStore) save() error {
	for name, secret := range s.pending {
		if err := s.p.keys.setServer(name, secret); err != nil {
			return fmt.Errorf("store the secret %s in the keyring: %w", name, err)
		}
		s.saved = append(s.saved, name)
	}
	return nil
}

// discard removes the secrets that were stored.
func (s *secretStore) discard() {
	for _, name := range s.saved {
		if err := s.p.keys.removeServer(name); err != nil {
			s.p.note("warning: the secret %s stays in the keyring: %v", name, err)
		}
	}
}

// pattern returns a function that compiles a regular expression when it is first
// called, so that programs which never use it start faster.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
