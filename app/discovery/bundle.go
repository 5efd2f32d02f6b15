package discovery

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// The limits of bundles.
const (
	maxBundle   = 256 << 20 // the file
	maxFiles    = 50_000    // files and folders in it
	maxUnpacked = 1 << 30   // all files together
	maxManifest = 1 << 20
	// maxRatio is how often larger the files may be than the bundle, if they are
	// larger than ratioFree.
	maxRatio  = 100
	ratioFree = 1 << 20
)

// A Bundle is an MCP bundle: a zip file with a server and a manifest.
type Bundle struct {
	SHA256   string // of the file, in hexadecimal digits
	Manifest *Manifest

	zip      *zip.Reader
	unpacked uint64 // size of all files
	runs     string // the file in the bundle that is started; empty if there is none
}

// OpenBundle reads a bundle from memory, checks every name in it, and reads its
// manifest. If digest is not empty, the SHA-256 digest of data must be equal to
// it.
func OpenBundle(data []byte, digest string) (*Bundle, error) {
	sum := sha256.Sum256(data)
	b := &Bundle{SHA256: hex.EncodeToString(sum[:])}
	if digest != "" && !strings.EqualFold(digest, b.SHA256) {
		return nil, fmt.Errorf("read the bundle: its SHA-256 digest is %s and must be %s", b.SHA256, clip(digest))
	}
	if len(data) > maxBundle {
		return nil, fmt.Errorf("read the bundle: it is larger than %d MiB", maxBundle>>20)
	}
	var err error
	if b.zip, err = zip.NewReader(bytes.NewReader(data), int64(len(data))); err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return nil, fmt.Errorf("read the bundle: %w", err)
	}
	if err := b.checkFiles(uint64(len(data))); err != nil {
		return nil, fmt.Errorf("read the bundle: %w", err)
	}
	text, err := b.read("manifest.json", maxManifest)
	if err != nil {
		return nil, fmt.Errorf("read the bundle: %w", err)
	}
	if b.Manifest, err = ParseManifest(text); err != nil {
		return nil, fmt.Errorf("read the bundle: %w", err)
	}
	return b, nil
}

// checkFiles checks the names, kinds and sizes of all files.
func (b *Bundle) checkFiles(size uint64) error {
	if len(b.zip.File) > maxFiles {
		return fmt.Errorf("it has more than %d files", maxFiles)
	}
	var packed uint64
	seen := map[string]string{} // names by their folded form
	folders := map[string]bool{}
	for _, f := range b.zip.File {
		if err := checkFile(f); err != nil {
			return err
		}
		name := strings.TrimSuffix(f.Name, "/")
		if before, ok := seen[fold(name)]; ok {
			return fmt.Errorf("the files %q and %q would be the same", clip(before), clip(f.Name))
		}
		seen[fold(name)] = f.Name
		folders[fold(name)] = strings.HasSuffix(f.Name, "/")
		packed += f.CompressedSize64
		b.unpacked += f.UncompressedSize64
		if packed > size || b.unpacked > maxUnpacked || f.UncompressedSize64 > maxUnpacked {
			return fmt.Errorf("its files are larger than %d MiB, or overlap", maxUnpacked>>20)
		}
	}
	if b.unpacked > ratioFree && b.unpacked > maxRatio*size {
		return fmt.Errorf("its files are more than %d times larger than the bundle", maxRatio)
	}
	for name, at := range seen {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if folder, ok := folders[dir]; ok && !folder {
				return fmt.Errorf("%q is a file and a folder", clip(path.Dir(at)))
			}
		}
	}
	return nil
}

// fold returns a name such that two names which are the same file on some
// operating system are equal.
func fold(name string) string { return strings.ToLower(norm.NFKC.String(strings.ToLower(name))) }

// checkFile returns an error if a file of a bundle has a name or a kind that
// could do harm when it is unpacked, on any operating system.
func checkFile(f *zip.File) error {
	name := strings.TrimSuffix(f.Name, "/")
	fail := func(why string) error { return fmt.Errorf("the file %q %s", clip(f.Name), why) }
	switch {
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return fail("has invalid characters in its name")
	case strings.ContainsAny(name, `\:`) || !fs.ValidPath(name) || name == ".":
		return fail("has a name that leads elsewhere")
	case len(name) > 1024:
		return fail("has a name that is too long")
	case f.Mode().IsDir() != strings.HasSuffix(f.Name, "/"):
		return fail("is neither a file nor a folder")
	case !f.Mode().IsDir() && !f.Mode().IsRegular():
		return fail("is a link or a device")
	case f.Flags&1 != 0:
		return fail("is encrypted")
	case f.Method != zip.Store && f.Method != zip.Deflate:
		return fail("is compressed in an unknown way")
	}
	for part := range strings.SplitSeq(name, "/") {
		base, _, _ := strings.Cut(strings.ToUpper(part), ".")
		if strings.HasSuffix(part, ".") || strings.HasSuffix(part, " ") || slices.Contains(deviceNames, strings.TrimSpace(base)) || strings.ContainsAny(part, `<>"|?*`) {
			return fail("has a name that Windows does not allow")
		}
	}
	return nil
}

// deviceNames are names that Windows reserves, with any extension.
var deviceNames = strings.Fields("CON PRN AUX NUL CONIN$ CONOUT$ COM0 COM1 COM2 COM3 COM4 COM5 COM6 COM7 COM8 COM9 LPT0 LPT1 LPT2 LPT3 LPT4 LPT5 LPT6 LPT7 LPT8 LPT9")

// read returns the content of a file in the bundle.
func (b *Bundle) read(name string, limit uint64) ([]byte, error) {
	f := b.file(name)
	switch {
	case f == nil:
		return nil, fmt.Errorf("it has no %s", name)
	case f.UncompressedSize64 > limit:
		return nil, fmt.Errorf("its %s is larger than %d KiB", name, limit>>10)
	}
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, int64(f.UncompressedSize64)+1))
	if err == nil && uint64(len(text)) != f.UncompressedSize64 {
		err = errors.New("has another size than the bundle says")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return text, nil
}

// file returns the file with a name, or nil.
func (b *Bundle) file(name string) *zip.File {
	if i := slices.IndexFunc(b.zip.File, func(f *zip.File) bool { return f.Name == name }); i >= 0 {
		return b.zip.File[i]
	}
	return nil
}
