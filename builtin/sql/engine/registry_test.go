package engine

import (
	"errors"
	"strings"
	"testing"
)

func TestOpenSaysWhatIsMissing(t *testing.T) {
	opened := ""
	Register(func(dsn string, o Options) (Database, error) {
		opened = dsn
		if o.LockTimeout == 0 {
			t.Error("the defaults were not filled in")
		}
		return nil, nil
	}, "sqlite")
	for _, row := range []struct{ dsn, opened, err string }{
		{dsn: "shop.db", opened: "shop.db"}, {dsn: "sqlite://shop.db", opened: "sqlite://shop.db"}, {dsn: `C:\data\shop.db`, opened: `C:\data\shop.db`}, {dsn: "dir/a://b", opened: "dir/a://b"},
		{dsn: "postgres://u:s3cr3t@h/d", err: `import _ "github.com/tenon-mcp/tenon/builtin/sql/postgres"`},
		{dsn: "MARIADB://u:s3cr3t@h/d", err: `builtin/sql/mysql"`},
		{dsn: "redis://u:s3cr3t@h/d", err: `unknown engine "redis"`},
		{dsn: "", err: "the dsn is missing"},
		// Taken for names of files, these were told to everybody as the place of the database.
		{dsn: "postgres:u:s3cr3t@h/d", err: "is not a URL"}, {dsn: "host=h user=u password=s3cr3t dbname=d", err: "is not a URL"},
		{dsn: "u:s3cr3t@tcp(h:3306)/d", err: "is not a URL"}, {dsn: "u:s3cr3t@h", err: "is not a URL"}, {dsn: "Server=h;Uid=u;Pwd=s3cr3t;", err: "is not a URL"},
		{dsn: "./host=h password=p", opened: "./host=h password=p"}, {dsn: "a b=c.db", opened: "a b=c.db"}, {dsn: "dir/me@home:1.db", opened: "dir/me@home:1.db"},
	} {
		opened = ""
		_, err := Open(row.dsn, Options{})
		if row.err == "" && (err != nil || opened != row.opened) {
			t.Errorf("%s: opened %q, %v", row.dsn, opened, err)
		}
		if row.err != "" && (err == nil || !strings.Contains(err.Error(), row.err) || strings.Contains(err.Error(), "s3cr3t")) {
			t.Errorf("%s: %v, want %s", row.dsn, err, row.err)
		}
	}
}

// S4: a password is taken out where it is one. A short one that is met by
// chance stays, since a gap would tell it.
func TestRedact(t *testing.T) {
	for _, row := range []struct{ text, password, want string }{
		{"cannot reach postgres://ann:a@db/shop", "a", "cannot reach postgres://ann:[redacted]@db/shop"},
		{"bad dsn ann:a@tcp(db:3306)/shop", "a", "bad dsn ann:[redacted]@tcp(db:3306)/shop"},
		{"bad dsn: password=a host=db", "a", "bad dsn: password=[redacted] host=db"},
		{"bad dsn: password='a b' host=db", "a b", "bad dsn: password='[redacted]' host=db"},
		{"a table was dropped at last", "a", "a table was dropped at last"},
		{"there is no table orders", "orders", "there is no table orders"},
		{"cannot log in with correct horse battery", "correct horse battery", "cannot log in with [redacted]"},
		{"cannot log in with correct%20horse+battery", "correct horse+battery", "cannot log in with [redacted]"},
		{"nothing to see: it failed", "", "nothing to see: it failed"},
	} {
		if got := Redact(errors.New(row.text), row.password).Error(); got != row.want {
			t.Errorf("%q became %q, want %q", row.text, got, row.want)
		}
	}
}
