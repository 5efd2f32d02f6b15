package fs

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Config says what the server may do. The zero value serves the working
// directory.
type Config struct {
	// Roots are the directories that can be reached, with everything below
	// them. They must exist. None means the working directory, which must then
	// be neither the root of the file system nor the home directory: whoever
	// wants to open those has to say so.
	Roots []string

	// ReadOnly leaves out every tool that changes something.
	ReadOnly bool

	// Ask says when the person is asked before something is lost. Empty means
	// [AskBeforeLoss].
	Ask Ask

	// AllowSensitive lists names that may be written, moved and deleted though
	// programs run or trust what is in them, such as ".git" or ".mcp.json"; see
	// [Sensitive]. "*" allows all of them. None means that none may.
	AllowSensitive []string

	// DenyHardLinks refuses files that have a second name somewhere, which may
	// lie outside of the roots. Unset, they can be read; writing one never
	// changes what is under the other name.
	DenyHardLinks bool

	// IgnoreClientRoots leaves aside which directories a client says to be
	// open. Unset, a client that says so can reach only what lies both in them
	// and in Roots; a client that names no directory can reach all of Roots.
	IgnoreClientRoots bool

	// MaxResult is how many bytes of text one result of a tool holds. What is
	// longer is cut, and the result says how to get the rest. 0 means 128 KiB.
	MaxResult int

	// MaxFile is the largest file, in bytes, that goes out in one piece, as a
	// resource or as an image or sound, and that can be edited. 0 means 10 MiB.
	MaxFile int

	// PageSize is how many files one page of the list of resources holds. 0
	// means 200.
	PageSize int

	// Log is where the server tells its operator what went wrong in the
	// background. Nil means slog.Default().
	Log *slog.Logger
}

// Ask says before what the person is asked. A client that cannot ask has to
// say "confirm": true instead.
type Ask string

const (
	// AskBeforeLoss asks before a file is overwritten as a whole and before
	// anything is deleted.
	AskBeforeLoss Ask = "loss"
	// AskBeforeChange asks before an existing file is edited or moved, too.
	AskBeforeChange Ask = "change"
	// AskNever asks nothing, as the reference server does.
	AskNever Ask = "never"
)

func (c Config) complete() (Config, error) {
	for _, limit := range []struct {
		name  string
		value *int
		unset int
	}{
		{"MaxResult", &c.MaxResult, 128 << 10},
		{"MaxFile", &c.MaxFile, 10 << 20},
		{"PageSize", &c.PageSize, 200},
	} {
		if *limit.value < 0 {
			return c, fmt.Errorf("%s is %d: it must not be negative; 0 means %d", limit.name, *limit.value, limit.unset)
		}
		if *limit.value == 0 {
			*limit.value = limit.unset
		}
	}
	c.MaxResult = max(c.MaxResult, 256) // less has no room for what it says
	switch c.Ask {
	case "":
		c.Ask = AskBeforeLoss
	case AskBeforeLoss, AskBeforeChange, AskNever:
	default:
		return c, fmt.Errorf("Ask is %q: it is one of %q, %q and %q", c.Ask, AskBeforeLoss, AskBeforeChange, AskNever)
	}
	for _, name := range c.AllowSensitive {
		if name != "*" && !slices.Contains(sensitive, name) {
			return c, fmt.Errorf("AllowSensitive has %q, which is not a sensitive name: those are %s, and * for all", name, strings.Join(sensitive, ", "))
		}
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if len(c.Roots) > 0 {
		return c, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return c, fmt.Errorf("no root was named, and the working directory is not known: %w", err)
	}
	home, _ := os.UserHomeDir()
	if dir == filepath.Dir(dir) || dir == home {
		return c, fmt.Errorf("no root was named, and the working directory is %s: name the directories to open", dir)
	}
	c.Roots = []string{dir}
	return c, nil
}

// keys are what FromQuery understands, in the order in which they are told.
var keys = []string{"root", "readonly", "ask", "allow", "hardlinks", "clientroots", "maxresult", "maxfile", "pagesize"}

// FromQuery makes a Config of what stands behind the question mark of
// builtin:fs?root=.&readonly=1. The keys are
//
//	root         a directory; may be there several times
//	readonly     1 or 0
//	ask          loss, change or never
//	allow        a sensitive name, or *; may be there several times
//	hardlinks    deny or allow
//	clientroots  ignore or narrow
//	maxresult, maxfile, pagesize  numbers
func FromQuery(q url.Values) (Config, error) {
	var c Config
	var errs []error
	for key, values := range q {
		if !slices.Contains(keys, key) {
			errs = append(errs, fmt.Errorf("%q is not a setting of fs: the settings are %s", key, strings.Join(keys, ", ")))
			continue
		}
		if key != "root" && key != "allow" && len(values) != 1 {
			errs = append(errs, fmt.Errorf("%s is there %d times: say it once", key, len(values)))
			continue
		}
		if err := c.set(key, values); err != nil {
			errs = append(errs, err)
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return c, errors.Join(errs...)
}

func (c *Config) set(key string, values []string) (err error) {
	value := values[0]
	switch key {
	case "root":
		c.Roots = values
	case "allow":
		c.AllowSensitive = values
	case "ask":
		c.Ask = Ask(value)
	case "readonly":
		if c.ReadOnly, err = strconv.ParseBool(value); err != nil {
			err = fmt.Errorf("readonly is %q: it is 1 or 0", value)
		}
	case "hardlinks":
		c.DenyHardLinks, err = either(key, value, "deny", "allow")
	case "clientroots":
		c.IgnoreClientRoots, err = either(key, value, "ignore", "narrow")
	case "maxresult":
		c.MaxResult, err = number(key, value)
	case "maxfile":
		c.MaxFile, err = number(key, value)
	case "pagesize":
		c.PageSize, err = number(key, value)
	}
	return err
}

func either(key, value, yes, no string) (bool, error) {
	if value != yes && value != no {
		return false, fmt.Errorf("%s is %q: it is %s or %s", key, value, yes, no)
	}
	return value == yes, nil
}

func number(key, value string) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("%s is %q: it is a number of 1 or more", key, value)
	}
	return n, nil
}
