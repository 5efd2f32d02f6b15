package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"
	"runtime/debug"
	"strings"
)

// The parts of SPDX 2.3 that a list of linked modules needs.
type (
	document struct {
		Version       string         `json:"spdxVersion"`
		DataLicense   string         `json:"dataLicense"`
		ID            string         `json:"SPDXID"`
		Name          string         `json:"name"`
		Namespace     string         `json:"documentNamespace"`
		Creation      creation       `json:"creationInfo"`
		Packages      []spdxPackage  `json:"packages"`
		Relationships []relationship `json:"relationships"`
	}
	creation struct {
		Created  string   `json:"created"`
		Creators []string `json:"creators"`
	}
	spdxPackage struct {
		ID        string        `json:"SPDXID"`
		Name      string        `json:"name"`
		Version   string        `json:"versionInfo"`
		File      string        `json:"packageFileName,omitempty"`
		Supplier  string        `json:"supplier"`
		Download  string        `json:"downloadLocation"`
		Analyzed  bool          `json:"filesAnalyzed"`
		Checksums []checksum    `json:"checksums,omitempty"`
		Homepage  string        `json:"homepage,omitempty"`
		Source    string        `json:"sourceInfo,omitempty"`
		Concluded string        `json:"licenseConcluded"`
		Declared  string        `json:"licenseDeclared"`
		Copyright string        `json:"copyrightText"`
		Purpose   string        `json:"primaryPackagePurpose,omitempty"`
		Refs      []externalRef `json:"externalRefs,omitempty"`
	}
	checksum struct {
		Algorithm string `json:"algorithm"`
		Value     string `json:"checksumValue"`
	}
	externalRef struct {
		Category string `json:"referenceCategory"`
		Type     string `json:"referenceType"`
		Locator  string `json:"referenceLocator"`
	}
	relationship struct {
		From string `json:"spdxElementId"`
		Type string `json:"relationshipType"`
		To   string `json:"relatedSpdxElement"`
	}
)

const noAssertion = "NOASSERTION"

// sbom returns the list of modules in a program, in SPDX 2.3. Its source is what
// the compiler has written into the program.
func (b *builder) sbom(p *program, licenses map[string]license) ([]byte, error) {
	if p.info.Main.Path != modulePath {
		return nil, fmt.Errorf("the program is of module %q", p.info.Main.Path)
	}
	digest := fmt.Sprintf("%x", sha256.Sum256(p.data))
	name := "tenon-" + b.commit.plain() + "-" + p.system + "-" + p.arch
	d := document{
		Version: "SPDX-2.3", DataLicense: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: name,
		// unique for each program, and the same for the same one
		Namespace: "https://" + modulePath + "/spdx/" + name + "-" + digest[:32],
		Creation:  creation{Created: b.commit.time.Format("2006-01-02T15:04:05Z"), Creators: []string{"Organization: Tenon", "Tool: tenon-build-release-" + b.commit.plain()}},
	}
	root := spdxPackage{ID: "SPDXRef-Package-tenon", Name: "tenon", Version: b.commit.version, File: p.file(), Supplier: "Organization: Tenon",
		Download: "git+https://" + modulePath + "@" + b.commit.id, Checksums: []checksum{{"SHA256", digest}}, Homepage: "https://" + modulePath,
		Concluded: noAssertion, Declared: "Apache-2.0", Copyright: noAssertion, Purpose: "APPLICATION",
		Refs: []externalRef{purl(modulePath, b.commit.version)}}
	goVersion := strings.Fields(p.info.GoVersion)[0]
	std := spdxPackage{ID: "SPDXRef-Package-std", Name: "std", Version: goVersion, Supplier: "Organization: The Go Authors", Download: "https://go.dev/dl/" + goVersion + ".src.tar.gz",
		Homepage: "https://go.dev", Concluded: noAssertion, Declared: licenses["std"].id, Copyright: noAssertion, Purpose: "LIBRARY",
		Refs: []externalRef{purl("std", strings.TrimPrefix(goVersion, "go"))}}
	d.Packages = []spdxPackage{root, std}
	d.Relationships = []relationship{
		{d.ID, "DESCRIBES", root.ID},
		{root.ID, "DEPENDS_ON", std.ID},
	}
	for _, m := range p.info.Deps {
		if m.Replace != nil {
			return nil, fmt.Errorf("%s is replaced, so that go install could not build this program", m.Path)
		}
		l, ok := licenses[m.Path]
		if !ok {
			return nil, fmt.Errorf("the license of %s is not known", m.Path)
		}
		pkg := modulePackage(m, l)
		d.Packages = append(d.Packages, pkg)
		d.Relationships = append(d.Relationships, relationship{root.ID, "DEPENDS_ON", pkg.ID})
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(d); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func modulePackage(m *debug.Module, l license) spdxPackage {
	return spdxPackage{ID: "SPDXRef-Package-" + idPart(m.Path) + "-" + idPart(m.Version), Name: m.Path, Version: m.Version, Supplier: noAssertion,
		Download: "https://proxy.golang.org/" + escaped(m.Path) + "/@v/" + escaped(m.Version) + ".zip",
		// Go's digest is of a list of files, which SPDX has no algorithm for.
		Source:    "go.sum: " + m.Sum,
		Concluded: noAssertion, Declared: l.id, Copyright: noAssertion, Purpose: "LIBRARY",
		Refs: []externalRef{purl(m.Path, m.Version)}}
}

func purl(module, version string) externalRef {
	version = strings.NewReplacer("+", "%2B").Replace(version)
	return externalRef{"PACKAGE-MANAGER", "purl", "pkg:golang/" + strings.ToLower(module) + "@" + version}
}

var notInID = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// idPart returns the text with the characters that ids of SPDX may have.
func idPart(s string) string { return notInID.ReplaceAllString(s, "-") }

// escaped writes a module path or version as module proxies do: capital letters
// as an exclamation mark and the small letter.
func escaped(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('!')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}
