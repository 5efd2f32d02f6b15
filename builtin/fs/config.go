package fs

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/tenon-mcp/tenon/internal/settings"
)

// Config configures the server. The zero value serves the working directory.
type Config struct {
	// Roots are the allowed directories. Each must exist; everything below
	// it can be reached. None means the working directory, which must then
	// be neither the root of the file system nor the home directory: these
	// must be named.
	Roots []string

	// ReadOnly leaves out every tool that changes files.
	ReadOnly bool

	// Ask selects the changes that the user must confirm. Empty means
	// [AskBeforeLoss].
	Ask Ask

	// AllowSensitive lists the names from [Sensitive], such as ".git" or
	// ".mcp.json", that may be written, moved and deleted. "*" allows all of
	// them; the default allows none.
	AllowSensitive []string

	// DenyHardLinks refuses files that have more than one hard link, since
	// another link may be outside the roots. If unset, such files can be
	// read; writing one replaces only this link.
	DenyHardLinks bool

	// IgnoreClientRoots ignores the roots of the client. If unset, a client
	// that names roots can reach only what is in both its roots and Roots; a
	// client that names none can reach all of Roots.
	IgnoreClientRoots bool

	// MaxResult is the maximum number of bytes of text in one tool result.
	// Longer text is cut, and the result says how to get the rest. 0 means
	// 128 KiB.
	MaxResult int

	// MaxFile is the maximum size in bytes of a file that is returned as a
	// whole (as a resource, an image or audio) or edited. 0 means 10 MiB.
	MaxFile int

	// PageSize is the number of files on one page of the resource list. 0
	// means 200.
	PageSize int

	// Log receives errors of background work. Nil means slog.Default().
	Log *slog.Logger
}

// Ask says which changes the user must confirm. If the client cannot ask the
// user, the call needs "confirm": true instead.
type Ask string

const (
	// AskBeforeLoss asks before overwriting a file and before deleting.
	AskBeforeLoss Ask = "loss"
	// AskBeforeChange asks also before editing and moving.
	AskBeforeChange Ask = "change"
	// AskNever never asks, like the reference server.
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
			return c, fmt.Errorf("%s must not be negative, got %d; 0 means %d", limit.name, *limit.value, limit.unset)
		}
		if *limit.value == 0 {
			*limit.value = limit.unset
		}
	}
	c.MaxResult = max(c.MaxResult, 256) // room for the notice about cut text
	switch c.Ask {
	case "":
		c.Ask = AskBeforeLoss
	case AskBeforeLoss, AskBeforeChange, AskNever:
	default:
		return c, fmt.Errorf("Ask must be %q, %q or %q, got %q", AskBeforeLoss, AskBeforeChange, AskNever, c.Ask)
	}
	for _, name := range c.AllowSensitive {
		if name != "*" && !slices.Contains(sensitive, name) {
			return c, fmt.Errorf("AllowSensitive: unknown name %q; use %s, or * for all", name, strings.Join(sensitive, ", "))
		}
	}
	c.Log = cmp.Or(c.Log, slog.Default())
	if len(c.Roots) > 0 {
		return c, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return c, fmt.Errorf("the working directory is unknown (%w); name the directories to serve, such as root=DIR", err)
	}
	home, _ := os.UserHomeDir()
	if dir == filepath.Dir(dir) || dir == home {
		what := "your home directory"
		if dir != home {
			what = "the root of the file system"
		}
		return c, fmt.Errorf("the working directory %s is %s, which is served only if it is named; name the directories to serve, such as root=%s", dir, what, filepath.Join(dir, "project"))
	}
	c.Roots = []string{dir}
	return c, nil
}

// keys are the settings that FromQuery accepts, in the order of error messages.
var keys = []string{"root", "readonly", "ask", "allow", "hardlinks", "clientroots", "maxresult", "maxfile", "pagesize"}

// FromQuery returns the Config for the query of a URL such as
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
	err := settings.Read(q, "fs", keys, []string{"root", "allow"}, c.set)
	return c, err
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
		if c.Ask != AskBeforeLoss && c.Ask != AskBeforeChange && c.Ask != AskNever {
			err = fmt.Errorf("ask must be %s, %s or %s, got %q", AskBeforeLoss, AskBeforeChange, AskNever, value)
		}
	case "readonly":
		if c.ReadOnly, err = strconv.ParseBool(value); err != nil {
			err = fmt.Errorf("readonly must be 1 or 0, got %q", value)
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
		return false, fmt.Errorf("%s must be %s or %s, got %q", key, yes, no, value)
	}
	return value == yes, nil
}

func number(key, value string) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("%s must be a number of at least 1, got %q", key, value)
	}
	return n, nil
}
