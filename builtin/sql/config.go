package sql

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Config configures the server.
type Config struct {
	// DSN names the database: an SQLite file, or a URL that begins with
	// postgres:// or mysql://. It is required. Its password appears in no
	// result, error or log.
	DSN string

	// Writes adds the tool run_statement. If unset, the server cannot write.
	Writes bool

	// Privileged lets queries run as an account that a read-only transaction
	// cannot restrict, such as a superuser. If unset, such accounts are
	// refused.
	Privileged bool

	// Queries is a file of queries that become tools; see
	// docs/servers/sql.md. Empty means none.
	Queries string

	// MaxRows is the maximum number of rows in one result. 0 means 1000.
	MaxRows int

	// MaxBytes is the approximate maximum size of one result in bytes. 0
	// means 64 KiB.
	MaxBytes int

	// Timeout is the maximum duration of a statement. 0 means 30 seconds.
	Timeout time.Duration

	// Log receives errors of background work. Nil means slog.Default().
	Log *slog.Logger
}

func (c Config) withDefaults() Config {
	if c.MaxRows <= 0 {
		c.MaxRows = 1000
	}
	if c.MaxBytes <= 0 {
		c.MaxBytes = 64 << 10
	}
	if c.Timeout <= 0 {
		c.Timeout = 30 * time.Second
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return c
}

// keys are the settings that FromQuery accepts, in the order of error messages.
var keys = []string{"dsn", "writes", "privileged", "queries", "maxrows", "maxbytes", "timeout"}

// FromQuery returns the Config for the query of a URL such as
// builtin:sql?dsn=shop.db&writes=1. The keys are
//
//	dsn         the database; required. A URL must be percent-encoded
//	writes      1 or 0
//	privileged  1 or 0
//	queries     a file of queries that become tools
//	maxrows, maxbytes  numbers
//	timeout     such as 30s
func FromQuery(q url.Values) (Config, error) {
	var c Config
	var errs []error
	for key, values := range q {
		switch {
		case !slices.Contains(keys, key):
			errs = append(errs, fmt.Errorf("unknown setting %q; sql has %s", key, strings.Join(keys, ", ")))
		case len(values) != 1:
			errs = append(errs, fmt.Errorf("%s is set %d times", key, len(values)))
		default:
			if err := c.set(key, values[0]); err != nil {
				errs = append(errs, err)
			}
		}
	}
	if c.DSN == "" && len(errs) == 0 {
		errs = append(errs, errors.New("dsn is missing; name the database, such as dsn=shop.db"))
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return c, errors.Join(errs...)
}

func (c *Config) set(key, value string) (err error) {
	switch key {
	case "dsn":
		c.DSN = value
	case "queries":
		c.Queries = value
	case "writes":
		c.Writes, err = flag(key, value)
	case "privileged":
		c.Privileged, err = flag(key, value)
	case "maxrows":
		c.MaxRows, err = count(key, value)
	case "maxbytes":
		c.MaxBytes, err = count(key, value)
	case "timeout":
		if c.Timeout, err = time.ParseDuration(value); err != nil || c.Timeout <= 0 {
			err = fmt.Errorf("timeout must be a duration such as 30s or 2m, got %q", value)
		}
	}
	return err
}

func flag(key, value string) (bool, error) {
	on, err := strconv.ParseBool(value)
	if err != nil {
		return false, fmt.Errorf("%s must be 1 or 0, got %q", key, value)
	}
	return on, nil
}

func count(key, value string) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%s must be a number above 0, got %q", key, value)
	}
	return n, nil
}
