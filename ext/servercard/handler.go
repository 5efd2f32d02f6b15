package servercard

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// NewHandler returns a handler that serves a card at any path. It serves GET and
// HEAD to everybody, including pages of other origins, with an ETag and a
// max-age of one hour. An empty Schema is filled in. The error names what is
// wrong with the card.
func NewHandler(c *Card) (http.Handler, error) {
	card := *c
	card.Schema = cmp.Or(card.Schema, Schema)
	if err := card.Check(); err != nil {
		return nil, fmt.Errorf("publish the server card: %w", err)
	}
	return newDocument(CardType, card)
}

// NewCatalogHandler returns a handler that serves a catalog like [NewHandler]
// serves a card. An empty SpecVersion is filled in.
func NewCatalogHandler(c *Catalog) (http.Handler, error) {
	catalog := *c
	catalog.SpecVersion = cmp.Or(catalog.SpecVersion, "1.0")
	if catalog.Entries == nil {
		catalog.Entries = []Entry{}
	}
	if err := catalog.Check(); err != nil {
		return nil, fmt.Errorf("publish the catalog: %w", err)
	}
	return newDocument(CatalogType, catalog)
}

// A document is a public JSON document that does not change.
type document struct {
	mediaType, etag string
	body            []byte
}

func newDocument(mediaType string, value any) (http.Handler, error) {
	body, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return nil, err
	}
	body = append(body, '\n')
	sum := sha256.Sum256(body)
	return &document{mediaType: mediaType, etag: `"` + hex.EncodeToString(sum[:16]) + `"`, body: body}, nil
}

func (d *document) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Allow-Methods", "GET")
	h.Set("Access-Control-Allow-Headers", "Content-Type, If-None-Match")
	h.Set("Access-Control-Expose-Headers", "ETag")
	switch r.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodOptions: // the preflight of a page that sends If-None-Match
		h.Set("Allow", "GET, HEAD")
		w.WriteHeader(http.StatusNoContent)
		return
	default:
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "use GET", http.StatusMethodNotAllowed)
		return
	}
	h.Set("Cache-Control", "public, max-age=3600")
	h.Set("ETag", d.etag)
	if d.matches(r.Header.Values("If-None-Match")) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", d.mediaType)
	h.Set("Content-Length", strconv.Itoa(len(d.body)))
	h.Set("X-Content-Type-Options", "nosniff")
	if r.Method == http.MethodGet {
		w.Write(d.body) // an error means that the client is gone
	}
}

// matches reports whether one of the entity tags of If-None-Match is that of the
// document.
func (d *document) matches(values []string) bool {
	for _, value := range values {
		for tag := range strings.SplitSeq(value, ",") {
			tag = strings.TrimSpace(tag)
			if tag == "*" || strings.TrimPrefix(tag, "W/") == d.etag {
				return true
			}
		}
	}
	return false
}
