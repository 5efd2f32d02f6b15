package mysql

import (
	"database/sql/driver"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/builtin/sql/engine"
)

// parameter converts a parameter for the driver.
func parameter(p any) driver.Value {
	switch p := p.(type) {
	case engine.Decimal:
		return string(p)
	case engine.JSON:
		return string(p)
	case engine.Bytes:
		return p.Head
	}
	return p
}

// value converts a value of a row by the name of its type.
func value(kind string, v driver.Value) any {
	switch v := v.(type) {
	case float32: // the shortest text of a float32
		f, err := strconv.ParseFloat(strconv.FormatFloat(float64(v), 'g', -1, 32), 64)
		if err != nil {
			return float64(v)
		}
		return f
	case []byte:
		return fromBytes(kind, v)
	}
	return v
}

func fromBytes(kind string, b []byte) any {
	switch strings.TrimPrefix(kind, "unsigned ") {
	case "decimal":
		return engine.Decimal(b)
	case "json":
		return engine.JSON(b)
	case "datetime":
		return iso(string(b), "")
	case "timestamp":
		return iso(string(b), "Z") // the session is in UTC
	case "blob", "tinyblob", "mediumblob", "longblob", "binary", "varbinary", "bit", "geometry", "vector":
		return binary(b)
	}
	if !utf8.Valid(b) {
		return binary(b)
	}
	return string(b)
}

func binary(b []byte) engine.Bytes {
	return engine.Bytes{Head: append([]byte(nil), b...), Size: int64(len(b))}
}

// iso converts "2024-05-01 10:00:00" to an ISO 8601 time.
func iso(s, zone string) string {
	if len(s) < 19 || s[10] != ' ' || strings.HasPrefix(s, "0000-00-00") {
		return s
	}
	return s[:10] + "T" + s[11:] + zone
}
