package httpguard

import (
	"net/http"
	"slices"
)

// Sharing is what pages of listed origins may do; see [Guard.Share].
type Sharing struct {
	Methods string // allowed methods, such as "GET, POST"
	Headers string // request headers to allow
	Expose  string // response headers to expose
}

// Share sets the CORS headers for a page of a listed origin and answers preflight
// requests; it reports whether it has answered. It sends no CORS headers to other
// origins, and never "*": a response belongs to one page. Call it after
// [Guard.Admit].
func (g *Guard) Share(w http.ResponseWriter, r *http.Request, s *Sharing) (answered bool) {
	if len(g.origins) == 0 && !g.anyOrigin {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	sent := r.Header.Get("Origin")
	from, ok := parseOrigin(sent)
	if !ok || !g.anyOrigin && !slices.Contains(g.origins, from) {
		return false
	}
	h.Set("Access-Control-Allow-Origin", sent)
	if s.Expose != "" {
		h.Set("Access-Control-Expose-Headers", s.Expose)
	}
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Set("Access-Control-Allow-Methods", s.Methods)
	h.Set("Access-Control-Allow-Headers", s.Headers)
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}
