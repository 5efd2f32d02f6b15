package redact

import "strings"

// URI returns a URI without the parts that often are or have secrets: user
// information, query and fragment, and everything of a data URI. A URI that a
// gateway has put a server's name before, such as notes+https://…, is one, too.
func URI(uri string) string {
	if i := strings.IndexAny(uri, "?#"); i >= 0 {
		uri = uri[:i]
	}
	scheme, rest, ok := strings.Cut(uri, ":")
	if !ok {
		return uri
	}
	if scheme == "data" || strings.HasSuffix(scheme, "+data") {
		return scheme + ":"
	}
	authority, isHierarchical := strings.CutPrefix(rest, "//")
	if !isHierarchical {
		return uri
	}
	path := ""
	if i := strings.IndexByte(authority, '/'); i >= 0 {
		authority, path = authority[:i], authority[i:]
	}
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		authority = authority[i+1:]
	}
	return scheme + "://" + authority + path
}
