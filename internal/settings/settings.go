// Package settings reads the settings of builtin servers, which are the query of a
// URL such as builtin:fs?root=DIR.
package settings

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Read calls set for each key of a query with its values. A key must be one of keys,
// and has one value unless it is one of repeated. The error joins those of all keys,
// in the order of their texts; server is the name of the server for it.
func Read(q url.Values, server string, keys, repeated []string, set func(key string, values []string) error) error {
	var errs []error
	for key, values := range q {
		var err error
		switch {
		case !slices.Contains(keys, key):
			err = fmt.Errorf("unknown setting %q; %s has %s", key, server, strings.Join(keys, ", "))
		case len(values) != 1 && !slices.Contains(repeated, key):
			err = fmt.Errorf("%s is set %d times", key, len(values))
		default:
			err = set(key, values)
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}
