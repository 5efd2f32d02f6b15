package sample

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"
)

func TestFillIsWholeAndKeepsWhatIsThere(t *testing.T) {
	dir := t.TempDir()
	p, err := Fill(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{filepath.Join(p.Vault, "Welcome.md"), filepath.Join(p.Vault, "Meetings", "2026-11-03 Catalogue.md"), filepath.Join(p.Files, "data", "harvest.csv")} {
		if _, err := os.Stat(f); err != nil {
			t.Error(err)
		}
	}
	db, err := sql.Open("sqlite", p.Shop)
	if err != nil {
		t.Fatal(err)
	}
	var orders, lines, orphans int
	err = db.QueryRow(`SELECT (SELECT COUNT(*) FROM purchase), (SELECT COUNT(*) FROM purchase_line),
		(SELECT COUNT(*) FROM purchase_line WHERE product_id NOT IN (SELECT id FROM product))`).Scan(&orders, &lines, &orphans)
	db.Close()
	if err != nil || orders != 480 || lines < 700 || orphans != 0 {
		t.Errorf("%d orders, %d lines, %d orphans, %v", orders, lines, orphans, err)
	}
	mine := filepath.Join(p.Vault, "Welcome.md")
	if err := os.WriteFile(mine, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(p.Vault, "Recipes", "Water.md")); err != nil {
		t.Fatal(err)
	}
	if _, err := Fill(dir); err != nil {
		t.Fatal(err)
	}
	if data, _ := os.ReadFile(mine); string(data) != "mine" {
		t.Errorf("what was there was changed to %q", data)
	}
	if _, err := os.Stat(filepath.Join(p.Vault, "Recipes", "Water.md")); err == nil {
		t.Error("what the person has deleted came back")
	}
	left, _ := filepath.Glob(filepath.Join(dir, "*.new"))
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
