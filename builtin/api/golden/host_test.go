package golden

import (
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/builtin/api"
)

// A case notices a request to another host, whether its base has a reference or not.
func TestCasesCompareHosts(t *testing.T) {
	for _, base := range []string{"https://api.example.com", "${env:BASE:-https://api.example.com}", "${env:BASE}"} {
		file := `tenon: api/1
name: test
title: Test
api: {base: "` + base + `", hosts: ["https://files.example.com"]}
tools: {upload: {description: d, request: POST https://files.example.com/up}}
tests:
  - {name: wrong, tool: upload, answers: [{request: POST /up, body: {}}], expect: {result: {}}}
  - {name: right, tool: upload, answers: [{request: POST https://files.example.com/up, body: {}}], expect: {result: {}}}
  - {name: plain, tool: upload, answers: [{request: POST http://files.example.com/up, body: {}}], expect: {result: {}}}
`
		outcomes, err := Run(t.Context(), api.Config{Data: []byte(file), Name: "f.yaml"}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range outcomes {
			failed := strings.Join(o.Problems, "")
			if o.Name == "right" && failed != "" || o.Name != "right" && !strings.Contains(failed, "got POST https://files.example.com/up") {
				t.Errorf("%s: %s: %q", base, o.Name, failed)
			}
		}
	}
}
