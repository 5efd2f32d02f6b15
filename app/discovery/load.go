package discovery

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/auth/fetch"
	"github.com/tenon-mcp/tenon/ext/servercard"
	"github.com/tenon-mcp/tenon/mcp"
)

// Options configures [Load] and [Option.Fetch].
type Options struct {
	// Bundles is the folder that bundles are unpacked into.
	Bundles string
	// SHA256 is the digest that a bundle must have. Empty means any.
	SHA256 string
	// Timeout limits an exchange. 0 means 10 seconds, and 10 minutes for bundles.
	Timeout time.Duration
	// Card says that the source is the URL of a server or a site, whose card is
	// to be found.
	Card bool
}

// A Download is a bundle at a URL.
type Download struct{ URL, SHA256 string }

// IsSource reports whether a word is the path or the URL of a file that [Load]
// reads: its name ends with .json, .mcpb, .dxt or /server-card.
func IsSource(word string) bool {
	name := word
	if u, err := url.Parse(word); err == nil && strings.Contains(word, "://") {
		if u.Scheme != "https" && u.Scheme != "http" {
			return false
		}
		if strings.HasSuffix(u.Path, servercard.CardSuffix) {
			return true
		}
		name = u.Path
	}
	return isBundle(name) || strings.EqualFold(path.Ext(name), ".json")
}

func isBundle(name string) bool {
	ext := strings.ToLower(path.Ext(name))
	return ext == ".mcpb" || ext == ".dxt"
}

// Load reads a description from a file or a URL.
func Load(ctx context.Context, source string, o *Options) (*Description, error) {
	if !strings.Contains(source, "://") {
		return loadFile(ctx, source, o)
	}
	f, err := newFetcher(source, o.Timeout)
	if err != nil {
		return nil, err
	}
	at := *f.given
	at.Fragment = ""
	if isBundle(at.Path) && !o.Card {
		return loadBundle(ctx, f, Download{at.String(), o.SHA256}, o)
	}
	if o.Card && !IsSource(source) {
		return findCard(ctx, f, &at)
	}
	_, body, err := f.get(ctx, request{url: at.String(), accept: servercard.CardType + ", application/json", limit: maxDocument})
	if err != nil {
		return nil, err
	}
	return parse(ctx, f, &at, body)
}

func loadFile(ctx context.Context, file string, o *Options) (*Description, error) {
	limit := int64(maxDocument)
	if isBundle(file) {
		limit = maxBundle
	}
	data, err := readFile(file, limit)
	if err != nil {
		return nil, err
	}
	if isBundle(file) {
		b, err := OpenBundle(data, o.SHA256)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		return b.Describe(file, o.Bundles), nil
	}
	d, err := parse(ctx, &fetcher{timeout: o.Timeout}, nil, data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	d.Source = file
	return d, nil
}

// readFile reads a regular file. Reading a pipe or a device could block forever.
func readFile(file string, limit int64) ([]byte, error) {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no file %s", file)
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", file)
	}
	r, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s is larger than %d MiB", file, limit>>20)
	}
	return data, err
}

// parse reads a document of any kind. at is its URL; nil means a file.
func parse(ctx context.Context, f *fetcher, at *url.URL, data []byte) (*Description, error) {
	var head struct {
		Schema          string `json:"$schema"`
		SpecVersion     string `json:"specVersion"`
		ManifestVersion string `json:"manifest_version"`
		Name            string `json:"name"`
	}
	if err := mcp.Unmarshal(data, &head); err != nil {
		return nil, fmt.Errorf("read the description: %w", shortened(err))
	}
	switch {
	case strings.HasSuffix(head.Schema, "/server-card.schema.json"):
		return describeCard(f, at, data)
	case head.SpecVersion != "" && head.Name == "":
		return fromCatalog(ctx, f, at, data)
	case head.ManifestVersion != "":
		return nil, errors.New("this is the manifest of a bundle; add the .mcpb file that it is in")
	}
	s, err := ParseServer(data)
	if err != nil {
		return nil, err
	}
	d := s.Describe(text(at))
	d.given = f.given
	return d, nil
}

func text(at *url.URL) string {
	if at == nil {
		return ""
	}
	return at.String()
}

func describeCard(f *fetcher, at *url.URL, data []byte) (*Description, error) {
	c, err := servercard.Parse(data)
	if err != nil {
		return nil, err
	}
	if len(c.Remotes) > maxOptions {
		return nil, fmt.Errorf("read the server card: it has more than %d remotes", maxOptions)
	}
	s := Server{Name: c.Name, Title: c.Title, Version: c.Version, Description: c.Description, WebsiteURL: c.WebsiteURL, Repository: c.Repository, Remotes: c.Remotes}
	d := s.Describe(text(at))
	d.given = f.given
	for _, o := range d.Options {
		if u, err := url.Parse(o.Target); at != nil && err == nil && !strings.EqualFold(u.Hostname(), at.Hostname()) {
			o.Warnings = append(o.Warnings, fmt.Sprintf("the card of %s leads to another host, %s", at.Host, clip(u.Host)))
		}
	}
	return d, nil
}

// findCard finds the card of a server or a site at a URL: at /server-card below
// it, or in the catalog of the site.
func findCard(ctx context.Context, f *fetcher, at *url.URL) (*Description, error) {
	card := at.JoinPath(servercard.CardSuffix)
	card.RawQuery = ""
	_, body, err := f.get(ctx, request{url: card.String(), accept: servercard.CardType, limit: maxDocument})
	if err == nil {
		return describeCard(f, card, body)
	}
	if status, ok := errors.AsType[*fetch.StatusError](err); !ok || status.Status < 400 || status.Status >= 500 {
		return nil, err
	}
	catalog := &url.URL{Scheme: at.Scheme, Host: at.Host, Path: servercard.CatalogPath}
	_, body, err = f.get(ctx, request{url: catalog.String(), accept: servercard.CatalogType, limit: maxDocument})
	if status, ok := errors.AsType[*fetch.StatusError](err); ok && status.Status == http.StatusNotFound {
		return nil, fmt.Errorf("%s publishes no server card, neither at %s nor in %s", at.Host, card.Path, servercard.CatalogPath)
	}
	if err != nil {
		return nil, err
	}
	return fromCatalog(ctx, f, catalog, body)
}

// fromCatalog returns the description of the server that the fragment of the
// given URL selects, or of the only one.
func fromCatalog(ctx context.Context, f *fetcher, at *url.URL, data []byte) (*Description, error) {
	c, err := servercard.ParseCatalog(data)
	if err != nil {
		return nil, err
	}
	cards := c.Cards()
	var ids []string
	for _, e := range cards {
		ids = append(ids, clip(e.Identifier))
	}
	wanted := ""
	if f.given != nil && f.given.Fragment != "" {
		wanted = f.given.Fragment
		cards = slices.DeleteFunc(cards, func(e servercard.Entry) bool { return e.Identifier != wanted })
	}
	switch {
	case len(ids) == 0:
		return nil, errors.New("the catalog lists no MCP servers")
	case len(cards) == 0:
		return nil, fmt.Errorf("the catalog lists no server %q; it lists %s", clip(wanted), strings.Join(ids, ", "))
	case len(cards) != 1:
		return nil, fmt.Errorf("the catalog lists several servers: choose one with #IDENTIFIER at the end of the catalog's URL: %s", strings.Join(ids, ", "))
	case len(cards[0].Data) > 0:
		return describeCard(f, at, cards[0].Data)
	case at == nil:
		at = &url.URL{}
	}
	card, err := at.Parse(cards[0].URL)
	if err != nil {
		return nil, errors.New("the URL of the card in the catalog is not valid")
	}
	_, body, err := f.get(ctx, request{url: card.String(), accept: servercard.CardType, limit: maxDocument})
	if err != nil {
		return nil, err
	}
	return describeCard(f, card, body)
}

// Fetch downloads the bundle of an option and returns the option of the bundle.
func (d *Description) Fetch(ctx context.Context, option *Option, o *Options) (*Option, error) {
	from := *option.Download
	if o.SHA256 != "" && !strings.EqualFold(o.SHA256, from.SHA256) {
		return nil, fmt.Errorf("the digest in server.json is %s and not %s", from.SHA256, clip(o.SHA256))
	}
	b, err := loadBundle(ctx, &fetcher{given: d.given, timeout: o.Timeout}, from, o)
	if err != nil {
		return nil, err
	}
	got := b.Options[0]
	if got.Unsupported != "" {
		return nil, fmt.Errorf("%s: %s", d.Name, got.Unsupported)
	}
	got.Number = option.Number
	return got, nil
}

func loadBundle(ctx context.Context, f *fetcher, from Download, o *Options) (*Description, error) {
	_, data, err := f.get(ctx, request{url: from.URL, accept: "*/*", limit: maxBundle, timeout: bundleTimeout, anywhere: from.SHA256 != ""})
	if err != nil {
		return nil, err
	}
	b, err := OpenBundle(data, from.SHA256)
	if err != nil {
		return nil, err
	}
	return b.Describe(from.URL, o.Bundles), nil
}

// Parse reads a server.json or a server card that the user pasted.
func Parse(ctx context.Context, data []byte, o *Options) (*Description, error) {
	d, err := parse(ctx, &fetcher{timeout: o.Timeout}, nil, data)
	if err == nil {
		d.Source = "the pasted text"
	}
	return d, err
}
