package discovery

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tenon-mcp/tenon/ext/servercard"
)

// A Choice selects an option: by its number among the options of its kind, or by
// its type, such as "npm". The zero value selects by the rule of
// [Description.Choose].
type Choice struct{ Package, Remote string }

// Choose returns the option to use. Without a choice it is the first of these:
//
//  1. a remote server over streamable HTTP, because it runs no program here
//  2. a package whose program is installed, which installed reports
//  3. a remote server over HTTP+SSE
//  4. a package whose program is not installed
//
// Within each, the order of the file counts.
func (d *Description) Choose(c Choice, installed func(program string) bool) (*Option, error) {
	switch {
	case c.Package != "" && c.Remote != "":
		return nil, errors.New("choose a package or a remote server, not both")
	case c.Package != "":
		return d.pick(PackageOption, c.Package)
	case c.Remote != "":
		return d.pick(RemoteOption, c.Remote)
	}
	rank := func(o *Option) int {
		switch {
		case o.Kind == RemoteOption && o.Type == servercard.StreamableHTTP:
			return 1
		case o.Kind == PackageOption && (o.Program == "" || installed(o.Program)):
			return 2
		case o.Kind == RemoteOption:
			return 3
		}
		return 4
	}
	var best *Option
	var why []string
	for _, o := range d.Options {
		switch {
		case o.Unsupported != "":
			why = append(why, fmt.Sprintf("%s %d (%s): %s", o.Kind, o.Number, o.Summary(), o.Unsupported))
		case best == nil || rank(o) < rank(best):
			best = o
		}
	}
	switch {
	case best != nil:
		return best, nil
	case len(why) > 0:
		return nil, fmt.Errorf("none of the packages and remotes of %s can be used:\n  %s", d.Name, strings.Join(why, "\n  "))
	}
	return nil, fmt.Errorf("%s has neither packages nor remotes", d.Name)
}

func (d *Description) pick(kind OptionKind, which string) (*Option, error) {
	number, _ := strconv.Atoi(which) // 0 is no number of an option
	i := slices.IndexFunc(d.Options, func(o *Option) bool {
		return o.Kind == kind && (o.Number == number || o.Type == which)
	})
	if i < 0 {
		return nil, fmt.Errorf("%s has no %s %q", d.Name, kind, which)
	}
	if o := d.Options[i]; o.Unsupported != "" {
		return nil, fmt.Errorf("%s %d (%s) of %s: %s", kind, o.Number, o.Summary(), d.Name, o.Unsupported)
	}
	return d.Options[i], nil
}
