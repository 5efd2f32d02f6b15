package redact

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

const (
	// MinValue is the minimum length in bytes of a value that is hidden
	// everywhere. A shorter one occurs in ordinary text, where the gaps would
	// reveal it, so it is hidden by its name only.
	MinValue = 6

	// minEncoded is the minimum length of a value that is hidden in base64.
	minEncoded = 8

	// maxLearned is the number of values of one owner that [Values.Add] keeps.
	// Tokens are renewed, and old ones are useless.
	maxLearned = 64
)

// common are values that occur in ordinary text. Hiding them would reveal them.
var common = setOf(`password passwd secret token bearer basic default localhost enabled disabled undefined postgres postgresql mysql sqlite mariadb mongodb
	example changeme administrator public private develop developer development production staging testing username anonymous`)

// Values is a set of known secrets by owner. The zero value is empty and ready to
// use; nil has no secrets. It is safe for concurrent use.
type Values struct {
	mu      sync.Mutex
	set     map[string][]string // by owner, from Set
	learned map[string][]string // by owner, from Add
	find    atomic.Pointer[strings.Replacer]
	search  atomic.Pointer[search]
	changes atomic.Int64
}

// New returns a set of secrets without an owner.
func New(secrets ...string) *Values {
	v := &Values{}
	v.Set("", secrets)
	return v
}

// Set replaces the secrets of an owner, such as a server. Nil removes them.
func (v *Values) Set(owner string, secrets []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.set == nil {
		v.set = map[string][]string{}
	}
	v.set[owner] = slices.Clone(secrets)
	v.compile()
}

// Add adds a secret of an owner, such as the token of a login. It keeps the newest
// 64.
func (v *Values) Add(owner, secret string) {
	if !findable(secret) {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	known := v.learned[owner]
	if slices.Contains(known, secret) {
		return
	}
	if v.learned == nil {
		v.learned = map[string][]string{}
	}
	v.learned[owner] = append(slices.Clone(known[max(0, len(known)-maxLearned+1):]), secret)
	v.compile()
}

// Changes returns the number of changes of the set. After a change, text that was
// redacted before needs to be redacted again.
func (v *Values) Changes() int64 {
	if v == nil {
		return 0
	}
	return v.changes.Load()
}

// Known returns a text without the known values, in all their encodings. It hides
// nothing by its name; see [Values.Text].
func (v *Values) Known(s string) string {
	if v == nil {
		return s
	}
	if find := v.find.Load(); find != nil && len(s) >= MinValue {
		return find.Replace(s)
	}
	return s
}

// In reports whether data, as JSON or as text, contains a known value in one of
// its encodings. It does not allocate.
func (v *Values) In(data []byte) bool {
	return v != nil && v.search.Load().in(data)
}

func findable(secret string) bool {
	return len(secret) >= MinValue && !common[strings.ToLower(secret)]
}

// compile prepares the search. The caller holds v.mu.
func (v *Values) compile() {
	found := map[string]bool{}
	for _, list := range []map[string][]string{v.set, v.learned} {
		for _, secret := range slices.Concat(slices.Collect(maps.Values(list))...) {
			if findable(secret) {
				for _, s := range encodings(secret) {
					found[s] = len(s) >= MinValue
				}
			}
		}
	}
	// The longest first, because one may contain another.
	all := slices.SortedFunc(maps.Keys(found), func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	var pairs, texts []string
	for _, s := range all {
		if found[s] {
			pairs, texts = append(pairs, s, Mark), append(texts, s)
		}
	}
	v.changes.Add(1)
	v.search.Store(newSearch(texts))
	if pairs == nil {
		v.find.Store(nil)
		return
	}
	v.find.Store(strings.NewReplacer(pairs...))
}

// encodings returns a secret as it is, and as in JSON, in a URL and in base64.
func encodings(secret string) []string {
	all := []string{secret, string(rawjson.AppendString(nil, secret))}
	all[1] = all[1][1 : len(all[1])-1]
	if quoted, err := json.Marshal(secret); err == nil { // also escapes <, > and &
		all = append(all, strings.Trim(string(quoted), `"`))
	}
	for _, escaped := range []string{url.QueryEscape(secret), url.PathEscape(secret), url.UserPassword("", secret).String()[1:]} {
		all = append(all, escaped, lowerEscapes(escaped))
	}
	if len(secret) >= minEncoded {
		all = append(all, inBase64(secret)...)
	}
	return all
}

// lowerEscapes replaces %2F by %2f.
func lowerEscapes(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], strings.ToLower(s[i+1:i+3]))
			i += 2
		}
	}
	return string(b)
}

// inBase64 returns the substrings of which base64 of any text that contains the
// secret has one: one for each offset in a group of three bytes, without the
// characters that depend on neighbouring bytes.
func inBase64(secret string) []string {
	var all []string
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		all = append(all, enc.EncodeToString([]byte(secret)))
		for before := range 3 {
			text := enc.EncodeToString([]byte(strings.Repeat("\x00", before) + secret))
			from := (before*8 + 5) / 6 // characters with bits of preceding bytes
			to := (before + len(secret)) * 8 / 6
			all = append(all, text[from:to])
		}
	}
	return all
}
