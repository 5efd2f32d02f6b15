package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/choose"
	"github.com/tenon-mcp/tenon/app/show"
	"github.com/tenon-mcp/tenon/app/term"
)

// modelOptions returns the options for choosing a model: the providers of
// tenon.json, keys of the keyring, and what the user has entered in the page. All
// keys that are found are hidden in what the program writes.
func (p *program) modelOptions() *choose.Options { return p.modelOptionsWith("", choose.Provider{}) }

// modelOptionsWith is modelOptions with other settings of one provider.
func (p *program) modelOptionsWith(name string, with choose.Provider) *choose.Options {
	o := &choose.Options{Keyring: p.keys.key, Providers: map[string]choose.Provider{}, OnKey: func(provider, key string) { p.secrets.Add("model "+provider, key) }}
	if c, err := p.config(); err == nil { // commands that need the file report the error
		o.Providers = p.configuredProviders(c)
	}
	p.connecting.Lock()
	defer p.connecting.Unlock()
	for name, q := range p.connected {
		o.Providers[name] = over(o.Providers[name], q)
	}
	if name != "" {
		o.Providers[name] = over(o.Providers[name], with)
	}
	return o
}

// offlineOptions is modelOptions for completion, without the keyring.
func (p *program) offlineOptions() *choose.Options {
	o := p.modelOptions()
	o.Keyring, o.Attempts = nil, 1
	return o
}

// over returns the settings of tenon.json with what the user has entered. An
// address without a key does not get the key of the file.
func over(base, with choose.Provider) choose.Provider {
	if with.BaseURL != "" {
		base.BaseURL, base.FindKey, base.KeyringName = with.BaseURL, nil, ""
	}
	base.Key = cmp.Or(with.Key, base.Key)
	return base
}

// configuredProviders converts the providers of tenon.json.
func (p *program) configuredProviders(c *config.Config) map[string]choose.Provider {
	all := map[string]choose.Provider{}
	for _, s := range c.Providers() {
		p.secrets.Set("provider "+s.Name, s.Secrets)
		one := choose.Provider{
			Wire: s.Wire, Dialect: s.Dialect, BaseURL: s.BaseURL, KeyHeader: s.KeyHeader, KeyringName: s.KeyringName, Local: s.Local,
			Idle: s.Timeout, Problem: s.Problem, Keyed: true, Keyless: s.Key == "" && s.BaseURL != "", Lists: true,
		}
		if s.BaseURL == "" && one.Problem == "" && !builtinProvider(s.Name) {
			one.Problem = fmt.Sprintf("%s:%d: providers.%s must have a \"baseURL\"", s.Source.File, s.Source.Line, s.Name)
		}
		if s.Key != "" {
			one.FindKey = func() (string, string, error) { return s.FindKey(p.keys.model) }
		}
		for name, value := range s.Headers {
			if one.Header == nil {
				one.Header = http.Header{}
			}
			one.Header.Set(name, value)
		}
		for _, m := range s.Models {
			one.Models = append(one.Models, modelSpec(m))
		}
		all[s.Name] = one
	}
	return all
}

func builtinProvider(name string) bool {
	for _, k := range choose.Known() {
		if k.Name == name {
			return true
		}
	}
	return false
}

func modelSpec(m config.ProviderModel) choose.ModelSpec {
	s := choose.ModelSpec{Name: m.Name, Context: m.Context, MaxOutput: m.MaxOutput, Efforts: m.Efforts, Prices: llm.Prices(m.Prices)}
	if m.Accepts != nil {
		s.Accepts = &llm.Accepts{}
		for _, kind := range m.Accepts {
			switch kind {
			case "images":
				s.Accepts.Images = true
			case "audio":
				s.Accepts.Audio = true
			case "documents":
				s.Accepts.Documents = true
			}
		}
	}
	return s
}

func (p *program) modelsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "models [PROVIDER]",
		Short: "List the models you can use, and why others cannot be used",
		Long: `List the models you can use, and why the others cannot be used. Providers are
asked for their models, each for at most 5 seconds. The first model of a provider
is the one that --model PROVIDER uses.

With PROVIDER, list only its models; the exit code is 4 if it cannot be used.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			out, err := p.printer()
			if err != nil {
				return err
			}
			if _, err := p.config(); err != nil {
				return err
			}
			if len(args) == 0 {
				return p.printOffers(out, choose.Catalog(cmd.Context(), p.modelOptions(), nil))
			}
			one, err := choose.Find(cmd.Context(), args[0], p.modelOptions())
			if err != nil {
				return usageError{err}
			}
			if err := p.printOffers(out, []choose.Offer{one}); err != nil {
				return err
			}
			if one.Why != "" {
				if out.Format != show.Text {
					p.reported = true
				}
				return &unavailable{one}
			}
			return nil
		},
	}
}

// unavailable is the error of a provider that cannot be used.
type unavailable struct{ offer choose.Offer }

func (u *unavailable) Error() string { return u.offer.Provider + " cannot be used: " + reason(u.offer) }

// reason says why a provider cannot be used and what to do.
func reason(o choose.Offer) string {
	if o.Fix == "" {
		return o.Why
	}
	return o.Why + "; " + o.Fix
}

func (p *program) printOffers(out *show.Printer, offers []choose.Offer) error {
	if out.Format != show.Text {
		return out.Value(map[string]any{"providers": offers})
	}
	var rows, rest [][]string
	for _, o := range offers {
		switch {
		case o.Why != "":
			rest = append(rest, []string{o.Provider, reason(o)})
		case len(o.Models) == 0:
			rows = append(rows, []string{o.Provider + "/…", "", "", "", cmp.Or(o.Fix, o.Where)})
		}
		for _, m := range o.Models {
			if o.Why == "" {
				rows = append(rows, []string{o.Provider + "/" + m.Name, tokenCount(m.Context), price(m.Prices), strings.Join(m.Efforts, " "), o.Where})
			}
		}
	}
	if len(rows) > 0 || len(rest) == 0 {
		if err := out.Table([]string{"MODEL", "CONTEXT", "$ IN/OUT", "EFFORTS", "FROM"}, rows, "No models."); err != nil {
			return err
		}
	}
	if len(rest) == 0 || len(offers) == 1 {
		return nil
	}
	if len(rows) > 0 {
		fmt.Fprintln(p.out)
	}
	return out.Table([]string{"NOT AVAILABLE", "WHY"}, rest, "")
}

// tokenCount writes a number of tokens such as 200k.
func tokenCount(n int) string {
	switch {
	case n == 0:
		return ""
	case n >= 1_000_000 && n%100_000 == 0:
		return strconv.FormatFloat(float64(n)/1e6, 'f', -1, 64) + "M"
	case n >= 1000:
		return strconv.Itoa(n/1000) + "k"
	}
	return strconv.Itoa(n)
}

// price writes the prices of a million tokens such as 3/15.
func price(p llm.Prices) string {
	if p.Input == 0 && p.Output == 0 {
		return ""
	}
	number := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	return number(p.Input) + "/" + number(p.Output)
}

// modelNames lists the names of available models for completion.
func (p *program) modelNames(ctx context.Context) []string {
	all := []string{"none"}
	for _, o := range choose.Catalog(ctx, p.modelOptions(), nil) {
		if o.Why != "" {
			continue
		}
		all = append(all, o.Provider)
		for _, m := range o.Models {
			all = append(all, o.Provider+"/"+m.Name)
		}
	}
	return all
}

// modelOffers lists the models for /model as providers answer, with the reasons why
// others cannot be used.
func (p *program) modelOffers(ctx context.Context, found func([]term.ModelOffer)) {
	found([]term.ModelOffer{{Name: "none", About: "no model: match keywords"}})
	choose.Catalog(ctx, p.modelOptions(), func(o choose.Offer) { found(offersOf(o)) })
}

// offersOf returns the models of a provider.
func offersOf(o choose.Offer) (all []term.ModelOffer) {
	switch {
	case o.Why != "":
		return []term.ModelOffer{{Name: o.Provider, Why: reason(o)}}
	case len(o.Models) == 0:
		return []term.ModelOffer{{Name: o.Provider, About: cmp.Or(o.Fix, o.Where)}}
	}
	for _, m := range o.Models {
		var about []string
		if m.Context > 0 {
			about = append(about, tokenCount(m.Context))
		}
		if text := price(m.Prices); text != "" {
			about = append(about, "$"+text)
		}
		if len(m.Efforts) > 0 {
			about = append(about, "thinks")
		}
		all = append(all, term.ModelOffer{Name: o.Provider + "/" + m.Name, About: strings.Join(append(about, o.Where), " · ")})
	}
	return all
}

var errNoKeyring = errors.New("no keyring is available here")
