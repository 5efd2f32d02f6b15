package servercard

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tenon-mcp/tenon/internal/textclip"
	"github.com/tenon-mcp/tenon/mcp"
)

// CatalogPath is the path of a site's catalog.
const CatalogPath = "/.well-known/ai-catalog.json"

// CatalogType is the media type of a catalog.
const CatalogType = "application/ai-catalog+json"

// A Catalog lists what a site offers, such as server cards.
type Catalog struct {
	SpecVersion string  `json:"specVersion"`
	Entries     []Entry `json:"entries"`
}

// An Entry of a catalog has either a URL or Data. Its type is [CardType] for a
// card; entries of other types are not checked.
type Entry struct {
	Identifier string          `json:"identifier"`
	Type       string          `json:"type"`
	URL        string          `json:"url,omitzero"`
	Data       json.RawMessage `json:"data,omitzero"`
}

// ParseCatalog decodes a catalog and checks its entries for cards.
func ParseCatalog(data []byte) (*Catalog, error) {
	var c Catalog
	if err := mcp.Unmarshal(data, &c); err != nil {
		return nil, fmt.Errorf("read the catalog: %w", err)
	}
	if err := c.Check(); err != nil {
		return nil, fmt.Errorf("read the catalog: %w", err)
	}
	return &c, nil
}

// Check returns an error that names what is wrong with the catalog.
func (c *Catalog) Check() error {
	var errs []error
	if c.SpecVersion == "" {
		errs = append(errs, errors.New("specVersion is missing"))
	}
	for i, e := range c.Entries {
		if e.Type != CardType {
			continue
		}
		if e.Identifier == "" {
			errs = append(errs, fmt.Errorf("entries[%d].identifier is missing", i))
		}
		if (e.URL == "") == (len(e.Data) == 0) {
			errs = append(errs, fmt.Errorf("entries[%d] must have either url or data", i))
		}
	}
	return errors.Join(errs...)
}

// Cards returns the entries for server cards.
func (c *Catalog) Cards() []Entry {
	var list []Entry
	for _, e := range c.Entries {
		if e.Type == CardType {
			list = append(list, e)
		}
	}
	return list
}

// Entry returns the entry of a catalog for the card at a URL. The identifier of
// com.example/weather is urn:air:example.com:mcp:weather.
func (c *Card) Entry(url string) Entry {
	domain, name := c.publisher()
	return Entry{Identifier: "urn:air:" + domain + ":mcp:" + name, Type: CardType, URL: url}
}

// clip shortens text from others for errors.
func clip(s string) string { return textclip.Clip(s, 100) }
