package validate

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func defaults() Limits {
	return Limits{Bytes: 1 << 20, Depth: 64, Subschemas: 10_000, PatternBytes: 4096, Steps: 1_000_000}
}

// The official test suite of JSON Schema is not part of this repository. To run
// it, put a copy somewhere and say where:
//
//	JSON_SCHEMA_TEST_SUITE=~/JSON-Schema-Test-Suite go test -run Suite -v ./schema/internal/validate
func TestOfficialSuite(t *testing.T) {
	root := os.Getenv("JSON_SCHEMA_TEST_SUITE")
	if root == "" {
		t.Skip("JSON_SCHEMA_TEST_SUITE does not say where the suite is")
	}
	dialects := map[string]string{
		"draft2020-12": "https://json-schema.org/draft/2020-12/schema",
		"draft2019-09": "https://json-schema.org/draft/2019-09/schema",
		"draft7":       "http://json-schema.org/draft-07/schema#",
		"draft6":       "http://json-schema.org/draft-06/schema#",
		"draft4":       "http://json-schema.org/draft-04/schema#",
	}
	for dir, dialect := range dialects {
		t.Run(dir, func(t *testing.T) {
			files, _ := filepath.Glob(filepath.Join(root, "tests", dir, "*.json"))
			more, _ := filepath.Glob(filepath.Join(root, "tests", dir, "optional", "*.json"))
			if len(files) == 0 {
				t.Fatal("no tests there")
			}
			var s score
			for _, file := range append(files, more...) {
				s.file(t, file, dialect)
			}
			t.Logf("%d tests passed, %d failed; %d in %d schemas that refer to others were left out", s.passed, s.failed, s.left, s.remote)
		})
	}
}

type score struct{ passed, failed, left, remote int }

func (s *score) file(t *testing.T, file, dialect string) {
	var groups []struct {
		Description string
		Schema      json.RawMessage
		Tests       []struct {
			Description string
			Data        json.RawMessage
			Valid       bool
		}
	}
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &groups)
	}
	if err != nil {
		t.Fatal(err)
	}
	short := filepath.Base(file)
	optional := strings.Contains(file, "optional")
	for _, g := range groups {
		text := g.Schema
		if strings.HasPrefix(string(text), "{") && !strings.Contains(string(text), `"$schema"`) {
			text = json.RawMessage(`{"$schema":"` + dialect + `",` + strings.TrimPrefix(string(text), "{"))
			text = json.RawMessage(strings.Replace(string(text), `",}`, `"}`, 1))
		}
		compiled, err := Compile(text, defaults())
		if err != nil {
			if strings.Contains(err.Error(), "never fetched") || strings.Contains(err.Error(), "the dialect") {
				s.remote++
				s.left += len(g.Tests)
				if !strings.Contains(string(g.Schema), "localhost:1234") {
					t.Logf("left out: %s: %s: %v", short, g.Description, err)
				}
				continue
			}
			s.failed += len(g.Tests)
			t.Logf("optional=%v %s: %s: %v", optional, short, g.Description, err)
			if !optional {
				t.Fail()
			}
			continue
		}
		for _, test := range g.Tests {
			problems, _ := compiled.Check(test.Data)
			if (problems == nil) == test.Valid {
				s.passed++
				continue
			}
			s.failed++
			t.Logf("optional=%v %s: %s: %s: valid is %v, problems are %v", optional, short, g.Description, test.Description, test.Valid, problems)
			if !optional {
				t.Fail()
			}
		}
	}
}
