// Package sample fills a new workspace with examples: a vault of notes, a folder
// of files, and a small shop in SQLite. It never changes existing files.
package sample

import (
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // creates the shop
)

//go:embed vault files shop.sql
var content embed.FS

// A Place has the paths of the samples.
type Place struct {
	Vault  string // Markdown notes
	Files  string // a folder of files
	Shop   string // a SQLite file
	Orders string // a SQLite file that the order service makes
}

// Fill creates the samples in a folder, unless they exist.
func Fill(dir string) (Place, error) {
	p := Place{Vault: filepath.Join(dir, "vault"), Files: filepath.Join(dir, "files"), Shop: filepath.Join(dir, "shop.db"), Orders: filepath.Join(dir, "orders.db")}
	for name, to := range map[string]string{"vault": p.Vault, "files": p.Files} {
		if err := copyTree(name, to); err != nil {
			return p, fmt.Errorf("the samples could not be put into %s: %w", dir, err)
		}
	}
	if err := makeShop(p.Shop); err != nil {
		return p, fmt.Errorf("the sample shop could not be made: %w", err)
	}
	return p, nil
}

// copyTree copies an embedded folder, unless the target exists.
func copyTree(name, to string) error {
	if _, err := os.Stat(to); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	from, err := fs.Sub(content, name)
	if err != nil {
		return err
	}
	beside := to + ".new" // so that an incomplete copy is not used
	if err := os.RemoveAll(beside); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if err := os.CopyFS(beside, from); err != nil {
		return err
	}
	return os.Rename(beside, to)
}

func makeShop(file string) error {
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	beside := file + ".new"
	if err := os.Remove(beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	db, err := sql.Open("sqlite", beside)
	if err != nil {
		return err
	}
	_, err = db.Exec(ShopScript())
	if err = errors.Join(err, db.Close()); err != nil {
		return err
	}
	return os.Rename(beside, file)
}

// ShopScript returns the SQL that creates the sample shop in an empty database.
func ShopScript() string {
	script, err := content.ReadFile("shop.sql")
	if err != nil {
		panic(err) // it is embedded
	}
	return string(script)
}
