package discovery

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/tenon-mcp/tenon/app/config"
)

// A Value is the value of an input. If Ref is not empty, it is written to the
// configuration instead of Text: a variable such as ${keyring:weather/token}.
type Value struct{ Text, Ref string }

// Values are the values of inputs by their names. An input without values is
// not set.
type Values map[string][]Value

// A segment of a template is a text, or the value of an input.
type segment struct {
	text  string
	input string
	blank bool // the value is empty text if the input is not set
}

// A template is a text with values of inputs in it.
type template []segment

func literal(text string) template { return template{{text: text}} }

// inputs calls see with the name of each input in the template.
func (t template) inputs(see func(name string)) {
	for _, s := range t {
		if s.input != "" {
			see(s.input)
		}
	}
}

// render returns the texts that the template stands for: none if an input is not
// set, several if an input has several values.
func (t template) render(values Values, write func(template, Values, int) (string, error)) ([]string, error) {
	n := 1
	var err error
	t.inputs(func(name string) {
		switch have := len(values[name]); {
		case have == 0 && !t.blank(name):
			n = 0
		case have > 1 && n > 1 && have != n:
			err = fmt.Errorf("%s and the other inputs beside it must have the same number of values", name)
		case have > 1 && n != 0:
			n = have
		}
	})
	var all []string
	for i := range n {
		if err != nil {
			break
		}
		var text string
		text, err = write(t, values, i)
		all = append(all, text)
	}
	return all, err
}

// blank reports whether the input is replaced by empty text if it is not set: it
// is marked so, and the template has something else.
func (t template) blank(name string) bool {
	return len(t) > 1 && slices.ContainsFunc(t, func(s segment) bool { return s.input == name && s.blank })
}

// value returns value i of an input, or its only one.
func (v Values) value(name string, i int) Value {
	list := v[name]
	switch {
	case len(list) == 0:
		return Value{}
	case i < len(list):
		return list[i]
	}
	return list[0]
}

// maxText is the size limit of a rendered text in bytes. A small file could
// otherwise name a large value many times.
const maxText = 64 << 10

// checkText returns an error for a text that no server should get.
func checkText(text string) error {
	switch {
	case len(text) > maxText:
		return fmt.Errorf("an argument, a variable, a header or the URL is longer than %d KiB", maxText>>10)
	case strings.ContainsFunc(text, unicode.IsControl):
		return fmt.Errorf("%q has line breaks or control characters", clip(text))
	}
	return nil
}

// plain renders value i of a template as the server will get it. Where only a
// reference is known it writes "x".
func plain(t template, values Values, i int) (string, error) {
	var b strings.Builder
	for _, s := range t {
		b.WriteString(s.text)
		if s.input == "" {
			continue
		}
		v := values.value(s.input, i)
		if v.Text == "" && v.Ref != "" {
			v.Text = "x"
		}
		b.WriteString(v.Text)
		if b.Len() > maxText {
			break
		}
	}
	return b.String(), checkText(b.String())
}

// written renders value i of a template as text of the configuration, in which
// only references are expanded.
func written(t template, values Values, i int) (string, error) {
	var out, run strings.Builder // run is text since the last reference
	flush := func() {
		out.WriteString(strings.ReplaceAll(run.String(), "${", "$${"))
		run.Reset()
	}
	for _, s := range t {
		run.WriteString(s.text)
		if s.input == "" {
			continue
		}
		v := values.value(s.input, i)
		if v.Ref == "" {
			run.WriteString(v.Text)
			if run.Len() > maxText {
				break
			}
			continue
		}
		if strings.HasSuffix(run.String(), "$") {
			return "", fmt.Errorf("a $ directly before the value of %s cannot be written to the configuration", s.input)
		}
		flush()
		out.WriteString(v.Ref)
	}
	flush()
	return out.String(), checkText(out.String())
}

// An argument is a part of a command line.
type argument struct {
	flag   string   // a word before each value; empty means none
	joined bool     // flag and value are one word, flag=value
	value  template // nil means the flag alone
	when   template // if not nil, the argument is left out unless this can be rendered
}

// A binding is a value with a name: an environment variable or a header.
type binding struct {
	name  string
	value template
}

// A recipe makes an entry from values.
type recipe struct {
	command template
	args    []argument
	env     []binding
	url     template
	headers []binding
	dir     string
}

// Missing returns the inputs that are required and have no value.
func (o *Option) Missing(values Values) []Input {
	return slices.DeleteFunc(slices.Clone(o.Inputs), func(in Input) bool { return !in.Required || len(values[in.Name]) > 0 })
}

// Entry returns the entry of the configuration for values of the inputs. The
// values must have been checked with [Input.Check].
func (o *Option) Entry(name string, values Values) (config.Entry, error) {
	if missing := o.Missing(values); len(missing) > 0 {
		return config.Entry{}, fmt.Errorf("no value for %s", names(missing))
	}
	e := config.Entry{Name: name, Kind: o.kind(), Dir: o.recipe.dir}
	var err error
	if o.Kind == RemoteOption {
		if err = o.checkRemote(values); err == nil {
			e.URL, err = one(o.recipe.url, values, written)
		}
	} else {
		if e.Command, err = one(o.recipe.command, values, written); err == nil {
			e.Args, err = o.recipe.arguments(values)
		}
	}
	if err == nil {
		e.Env, err = table(o.recipe.env, values)
	}
	if err == nil {
		e.Headers, err = table(o.recipe.headers, values)
	}
	return e, err
}

func names(inputs []Input) string {
	var list []string
	for _, in := range inputs {
		list = append(list, in.Name)
	}
	return strings.Join(list, ", ")
}

// one renders a template that must have exactly one text.
func one(t template, values Values, write func(template, Values, int) (string, error)) (string, error) {
	all, err := t.render(values, write)
	if err != nil {
		return "", err
	}
	if len(all) != 1 {
		return "", errors.New("an input of the URL or the command has no value, or several")
	}
	return all[0], nil
}

func (r *recipe) arguments(values Values) ([]string, error) {
	var args []string
	for _, a := range r.args {
		if a.when != nil {
			if set, err := a.when.render(values, plain); err != nil || len(set) == 0 {
				continue
			}
		}
		if a.value == nil {
			args = append(args, a.flag)
			continue
		}
		all, err := a.value.render(values, written)
		if err != nil {
			return nil, err
		}
		for _, text := range all {
			switch {
			case a.flag == "":
				args = append(args, text)
			case text == "":
				args = append(args, a.flag)
			case a.joined:
				args = append(args, a.flag+"="+text)
			default:
				args = append(args, a.flag, text)
			}
		}
	}
	return args, nil
}

func table(bindings []binding, values Values) (map[string]string, error) {
	all := map[string]string{}
	for _, b := range bindings {
		texts, err := b.value.render(values, written)
		if err != nil {
			return nil, err
		}
		for have := range all {
			if strings.EqualFold(have, b.name) {
				return nil, fmt.Errorf("%s is set twice", clip(b.name))
			}
		}
		if len(texts) > 0 {
			all[b.name] = strings.Join(texts, string(filepath.ListSeparator))
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	return all, nil
}

// checkRemote checks the URL and the headers with the values in them.
func (o *Option) checkRemote(values Values) error {
	text, err := one(o.recipe.url, values, plain)
	if err != nil {
		return err
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.ContainsAny(text, " \\"):
		return errors.New("the URL with these values is not valid") // it may contain a secret
	case u.User != nil:
		return errors.New("the URL with these values contains a user name; a value must not change the host")
	}
	return nil
}

// SecretArguments returns the names of secret inputs that are passed as
// arguments, where other programs on the machine can see them.
func (o *Option) SecretArguments() []string {
	var list []string
	for _, a := range o.recipe.args {
		a.value.inputs(func(name string) {
			if slices.ContainsFunc(o.Inputs, func(in Input) bool { return in.Name == name && in.Secret }) && !slices.Contains(list, name) {
				list = append(list, name)
			}
		})
	}
	return list
}
