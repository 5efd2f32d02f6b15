package main

import (
	"cmp"
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/gateway"
	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/mcp"
)

// A gatewayGuard guards definitions and results, as the configuration says.
type gatewayGuard struct {
	settings config.GatewayPins
	pins     *gateway.Pins  // nil if definitions are not pinned
	results  mcp.Middleware // for the whole gateway
	log      *slog.Logger
}

// gatewayGuard opens the pins, or uses those of before if their settings are the
// same.
func (p *program) gatewayGuard(g config.Gateway, before *gatewayGuard, log *slog.Logger) (*gatewayGuard, error) {
	o := &gateway.ResultOptions{MaxBytes: g.MaxResult}
	if !g.Redact.Off {
		o.Secrets, o.Patterns, o.Tokens = &p.secrets, g.Redact.Patterns, g.Redact.Tokens
	}
	guard := &gatewayGuard{settings: g.Pins, results: gateway.GuardResults(o), log: log}
	if before != nil && before.settings == g.Pins {
		guard.pins = before.pins
		return guard, nil
	}
	if !g.Pins.On {
		return guard, nil
	}
	place, err := p.pinPlace(g.Pins)
	if err != nil {
		return nil, err
	}
	place.HoldNew, place.HoldSuspicious, place.Log = g.Pins.HoldNew, g.Pins.HoldSuspicious, log
	guard.pins, err = gateway.OpenPins(place)
	return guard, usage(err)
}

// mark returns a text that differs if the settings of the pins do. A server
// cannot change its guard, so it is connected to again then.
func (g *gatewayGuard) mark() string { return fmt.Sprintf(" %+v", g.settings) }

// server returns a server whose definitions are pinned, and whose tools get only
// arguments that are those of the headers. Own says that it is the connection of
// one caller.
func (g *gatewayGuard) server(name string, h mcp.Handler, own bool) mcp.Handler {
	h = gateway.CheckHeaders()(h)
	switch {
	case g.pins == nil:
		return h
	case own:
		return g.pins.GuardEach(name)(h)
	}
	return g.pins.Guard(name)(h)
}

// closeUnless closes the pins, unless another guard has them too.
func (g *gatewayGuard) closeUnless(other *gatewayGuard) {
	if g == nil || g.pins == nil || other != nil && other.pins == g.pins {
		return
	}
	if err := g.pins.Close(); err != nil {
		g.log.Error("close the pins", "error", err)
	}
}

// pinPlace returns where the pins are: in the file of the configuration, in the
// store that replicas share, or in the default file.
func (p *program) pinPlace(c config.GatewayPins) (*gateway.PinOptions, error) {
	if c.File == "" && p.shared != nil {
		return &gateway.PinOptions{Cluster: p.shared}, nil
	}
	file, err := p.besideConfig(cmp.Or(c.File, config.DefaultPinFile))
	return &gateway.PinOptions{File: file}, err
}

// pinFlags holds the flags of tenon gateway pins.
type pinFlags struct {
	file string
	all  bool
}

func (p *program) gatewayPinsCommand() *cobra.Command {
	var v pinFlags
	c := &cobra.Command{
		Use:   "pins",
		Short: "List, compare and approve the pinned definitions of servers",
		Long: `Show which definitions of tools, prompts, resource templates and instructions are
approved, and which are held back because they are new or have changed. A running
gateway applies an approval within a second.

A definition is named SERVER/KIND/NAME, such as notes/tool/search, and
SERVER/NAME or SERVER name all that match. With @ and the beginning of a digest,
as "diff" prints it, only exactly that definition is approved.`,
		Example: "  tenon gateway pins\n  tenon gateway pins diff\n  tenon gateway pins approve notes/search",
		Args:    noArgs,
		RunE:    func(*cobra.Command, []string) error { return p.listPins(&v) },
	}
	p.sharedFlags(c, "pins", func(g *config.Gateway) bool { return v.file != "" || g.Pins.File != "" })
	c.PersistentFlags().StringVar(&v.file, "file", "", "use this `file` instead of the one in tenon.json")
	approve := &cobra.Command{
		Use:   "approve NAME … | --all",
		Short: "Approve definitions that are held back",
		RunE:  func(_ *cobra.Command, args []string) error { return p.approvePins(&v, args) },
	}
	approve.Flags().BoolVar(&v.all, "all", false, "approve all that are held back")
	c.AddCommand(&cobra.Command{
		Use:   "list",
		Short: "List the pinned definitions",
		Args:  noArgs,
		RunE:  func(*cobra.Command, []string) error { return p.listPins(&v) },
	}, &cobra.Command{
		Use:   "diff [NAME …]",
		Short: "Show how definitions that are held back differ from the approved ones",
		RunE:  func(_ *cobra.Command, args []string) error { return p.diffPins(&v, args) },
	}, approve, &cobra.Command{
		Use:   "remove NAME …",
		Short: "Remove pins, so that the definitions count as new",
		RunE:  func(_ *cobra.Command, args []string) error { return p.removePins(&v, args) },
	})
	return c
}

// pins opens the file of pins.
func (p *program) pins(v *pinFlags) (*gateway.Pins, error) {
	o := &gateway.PinOptions{File: v.file}
	if v.file == "" {
		c, err := p.config()
		if err != nil {
			return nil, err
		}
		if o, err = p.pinPlace(c.Settings().Gateway.Pins); err != nil {
			return nil, err
		}
	}
	pins, err := gateway.OpenPins(o)
	return pins, usage(err)
}

// withPins calls f with the pins.
func (p *program) withPins(v *pinFlags, f func(*gateway.Pins) error) error {
	pins, err := p.pins(v)
	if err != nil {
		return err
	}
	if err := f(pins); err != nil {
		pins.Close()
		return err
	}
	return pins.Close()
}

func (p *program) listPins(v *pinFlags) error {
	out, err := p.printer()
	if err != nil {
		return err
	}
	return p.withPins(v, func(pins *gateway.Pins) error {
		var rows [][]string
		for _, pin := range pins.List() {
			rows = append(rows, []string{visible.Line(pin.String()), pinState(pin), visible.Line(strings.Join(pin.Warnings(), "; "))})
		}
		return out.Table([]string{"definition", "state", "warnings"}, rows, "No definition is pinned.")
	})
}

// pinState returns a word or two for the state of a pin.
func pinState(pin gateway.Pin) string {
	switch {
	case pin.Held == nil:
		return "approved"
	case pin.Variant:
		return "held back: another definition"
	case pin.Approved == nil:
		return "held back: new"
	}
	return "held back: changed"
}

func (p *program) diffPins(v *pinFlags, names []string) error {
	return p.withPins(v, func(pins *gateway.Pins) error {
		match, missing := p.matchPins(names)
		shown := 0
		for _, pin := range pins.List() {
			if len(names) > 0 && !match(pin) || pin.Held == nil {
				continue
			}
			p.printPin(pin)
			shown++
		}
		if err := missing(); err != nil {
			return err
		}
		if shown == 0 {
			p.note("No definition is held back.")
		}
		return nil
	})
}

// printPin prints what an operator approves.
func (p *program) printPin(pin gateway.Pin) {
	fmt.Fprintf(p.out, "%s@%s (%s)\n", visible.Line(pin.String()), pin.Held.Digest[:len("sha256:")+12], pinState(pin))
	changes := pin.Changes()
	if len(changes) == 0 {
		fmt.Fprintf(p.out, "  + %s\n", visible.Line(string(pin.Held.Definition)))
	}
	for _, c := range changes {
		fmt.Fprintf(p.out, "  %s\n  - %s\n  + %s\n", visible.Line(c.What), visible.Line(c.Before), visible.Line(c.After))
	}
	for _, w := range pin.Warnings() {
		fmt.Fprintf(p.out, "  warning: %s\n", visible.Line(w))
	}
}

func (p *program) approvePins(v *pinFlags, names []string) error {
	if len(names) == 0 != v.all {
		return usagef("name what to approve, as \"tenon gateway pins diff\" prints it, or use --all")
	}
	return p.withPins(v, func(pins *gateway.Pins) error {
		match, missing := p.matchPins(names)
		approved, err := pins.Approve(func(pin gateway.Pin) bool { return v.all || match(pin) })
		if err != nil {
			return err
		}
		for _, pin := range approved {
			p.printPin(pin)
			p.note("Approved %s.", pin)
		}
		if len(approved) == 0 && v.all {
			p.note("No definition is held back.")
		}
		return missing()
	})
}

func (p *program) removePins(v *pinFlags, names []string) error {
	if len(names) == 0 {
		return usagef("name the pins to remove, as \"tenon gateway pins\" prints them")
	}
	return p.withPins(v, func(pins *gateway.Pins) error {
		match, missing := p.matchPins(names)
		removed, err := pins.Remove(match)
		if err != nil {
			return err
		}
		for _, pin := range removed {
			p.note("Removed %s.", pin)
		}
		return missing()
	})
}

// matchPins returns a function that reports whether a pin has one of the names,
// and one that returns an error for names that no pin had.
func (p *program) matchPins(names []string) (match func(gateway.Pin) bool, missing func() error) {
	used := map[string]bool{}
	match = func(pin gateway.Pin) bool {
		found := false
		for _, name := range names {
			if pinNamed(pin, name) {
				found, used[name] = true, true
			}
		}
		return found
	}
	return match, func() error {
		for _, name := range names {
			if !used[name] {
				return usagef("no pin is named %q; \"tenon gateway pins\" lists them", visible.Line(name))
			}
		}
		return nil
	}
}

// pinNamed reports whether a pin has a name that was given on the command line.
func pinNamed(pin gateway.Pin, name string) bool {
	if i := strings.LastIndex(name, "@sha256:"); i >= 0 {
		if pin.Held == nil || len(name)-i < len("@sha256:")+12 || !strings.HasPrefix(pin.Held.Digest, name[i+1:]) {
			return false
		}
		name = name[:i]
	}
	return name == pin.String() || name == pin.Server || name == pin.Server+"/"+pin.Name
}
