package notes

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/schema"
	"github.com/tenon-mcp/tenon/server"
)

// Grants says which principals may use which folders of a vault. A caller
// without a verified principal may use nothing.
type Grants struct {
	// Issuer is the issuer of the principals; principals of other issuers
	// may use nothing. Empty accepts any issuer, which is right only if the
	// transport trusts one issuer.
	Issuer string `json:"issuer,omitzero"`

	// Home is a folder that each principal may read and write, such as
	// "people/{id}". {id} stands for the principal's ID with every character
	// except lower-case letters, digits and - _ . @ written as %XX, so that
	// no two principals share a folder. It is created on the first write.
	// Empty means none.
	Home string `json:"home,omitzero"`

	// Everyone lists the grants of every principal.
	Everyone []Grant `json:"everyone,omitzero"`

	// Principals lists the grants of single principals by [mcp.Principal.ID].
	Principals map[string][]Grant `json:"principals,omitzero"`
}

// A Grant allows the use of a folder and everything in it.
type Grant struct {
	// Folder is a path in the vault, such as "projects/garden". Empty means
	// the whole vault.
	Folder string `json:"folder"`
	// Write grants writing as well as reading.
	Write bool `json:"write,omitzero"`
}

// readGrants reads grants from a JSON file. Unknown members are an error, so
// that a misspelled grant is not silently ignored.
func readGrants(file string) (*Grants, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read grants: %w", err)
	}
	if err := rawjson.Check(b); err != nil {
		return nil, fmt.Errorf("grants file %s is not JSON: %w", file, err)
	}
	plan, err := schema.Compile[Grants]()
	if err != nil {
		return nil, err
	}
	g := &Grants{}
	if err := plan.Decode(b, g); err != nil {
		return nil, fmt.Errorf("grants file %s is invalid:\n%w", file, err)
	}
	return g, g.check()
}

// check validates the folders of the grants.
func (g *Grants) check() error {
	if g == nil {
		return nil
	}
	all := [][]Grant{g.Everyone}
	for _, some := range g.Principals {
		all = append(all, some)
	}
	for _, some := range all {
		for _, grant := range some {
			if grant.Folder == "" {
				continue
			}
			if clean, err := cleanFolder(grant.Folder); err != nil || clean != grant.Folder {
				return fmt.Errorf("invalid folder %q in a grant; write it relative to the vault and without dots, such as projects/garden", grant.Folder)
			}
		}
	}
	if g.Home != "" {
		if !strings.Contains(g.Home, "{id}") {
			return fmt.Errorf("home %q must contain {id}, or all principals share it", g.Home)
		}
		example := strings.ReplaceAll(g.Home, "{id}", "x")
		if clean, err := cleanFolder(example); err != nil || clean != example {
			return fmt.Errorf("invalid home %q; write it relative to the vault, such as people/{id}", g.Home)
		}
	}
	return nil
}

// knows reports whether the grants apply to a principal.
func (g *Grants) knows(p *mcp.Principal) bool {
	return p != nil && p.ID != "" && (g.Issuer == "" || p.Issuer == g.Issuer)
}

// An access is what one caller may use, determined for each call.
type access struct {
	everything bool
	grants     []Grant
}

func (v *vault) access(c *mcp.Caller) access {
	if v.grants == nil {
		return access{everything: true}
	}
	if !v.grants.knows(c.Principal) {
		return access{}
	}
	a := access{grants: make([]Grant, 0, 8)}
	if v.grants.Home != "" {
		a.grants = append(a.grants, Grant{Folder: strings.ReplaceAll(v.grants.Home, "{id}", folderName(c.Principal.ID)), Write: true})
	}
	a.grants = append(a.grants, v.grants.Everyone...)
	a.grants = append(a.grants, v.grants.Principals[c.Principal.ID]...)
	return a
}

func (a access) reads(name string) bool  { return a.has(name, false) }
func (a access) writes(name string) bool { return a.has(name, true) }

func (a access) has(name string, write bool) bool {
	if a.everything {
		return true
	}
	return slices.ContainsFunc(a.grants, func(g Grant) bool { return (g.Write || !write) && inside(name, g.Folder) })
}

// inside reports whether a path is in a folder; every path is in "".
func inside(name, folder string) bool {
	return folder == "" || strings.HasPrefix(name, folder) && len(name) > len(folder) && name[len(folder)] == '/'
}

// writable lists the folders that the caller may write, for error messages.
func (a access) writable() string {
	var all []string
	for _, g := range a.grants {
		if g.Write {
			all = append(all, path.Join("/", g.Folder)[1:]+"/")
		}
	}
	if len(all) == 0 {
		return "nothing"
	}
	return strings.Join(all, ", ")
}

// allow reports whether a caller may use a feature.
func (v *vault) allow(c *mcp.Caller, f server.Feature) bool {
	a := v.access(c)
	switch f.Kind {
	case server.KindResource:
		if strings.HasPrefix(f.Name, skillScheme) || f.Name == graphURI {
			break
		}
		name, ok := pathOf(f.Name)
		return ok && a.reads(name)
	case server.KindTool:
		if writeTools[f.Name] {
			return a.writable() != "nothing"
		}
	}
	return len(a.grants) > 0
}

// folderName encodes an ID as a folder name, uniquely even where case is
// ignored.
func folderName(id string) string {
	if len(id) > 64 {
		sum := sha256.Sum256([]byte(id))
		return "%sha256-" + hex.EncodeToString(sum[:])
	}
	var b strings.Builder
	for i := range len(id) {
		c := id[i]
		plain := 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '@' || c == '.' && i > 0 && i < len(id)-1
		if plain && !(i == 0 && reserved(id)) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
