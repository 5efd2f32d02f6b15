package uritemplate

import (
	"strings"
	"testing"
)

func BenchmarkMatch(b *testing.B) {
	for _, bm := range []struct{ name, template, uri string }{
		{"one variable", "welcome://{userId}", "welcome://ada"},
		{"three parts", "repo://{owner}/{name}/issues{?state,page}", "repo://ada/engine/issues?state=open"},
		{"50000 commas", "file:///x{/id*}", "file:///x/" + strings.Repeat(",", 50_000) + "!"},
	} {
		b.Run(bm.name, func(b *testing.B) {
			tmpl := mustParse(b, bm.template)
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := tmpl.Match(bm.uri); !ok {
					b.Fatal("no match")
				}
			}
		})
	}
}
