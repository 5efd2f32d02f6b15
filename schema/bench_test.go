package schema_test

import (
	"bytes"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/schema"
)

type twoInts struct {
	A int `json:"a"`
	B int `json:"b"`
}

type midItem struct {
	Name  string   `json:"name" schema:"minLength=1"`
	Price float64  `json:"price" schema:"minimum=0"`
	Tags  []string `json:"tags"`
}

type mid struct {
	ID      string         `json:"id" schema:"minLength=1,maxLength=64"`
	Kind    string         `json:"kind" schema:"enum=new|old"`
	Count   int            `json:"count" schema:"minimum=0,maximum=1000"`
	Active  bool           `json:"active"`
	Created time.Time      `json:"created"`
	Items   []midItem      `json:"items" schema:"minItems=1"`
	Labels  map[string]int `json:"labels"`
	Note    *string        `json:"note,omitempty"`
}

var (
	twoData = []byte(`{"a":2,"b":40}`)
	midData = []byte(`{"id":"order-17","kind":"new","count":42,"active":true,"created":"2026-01-31T12:00:00Z","items":[{"name":"one","price":1.5,"tags":["x","y"]},{"name":"two","price":2.25,"tags":[]},{"name":"three","price":100,"tags":["z"]}],"labels":{"a":1,"b":2},"note":"by hand"}`)
)

func benchDecode[T any](b *testing.B, data []byte) {
	plan := compile[T](b)
	check, err := schema.NewValidator(plan.Schema(), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("plan", func(b *testing.B) { // of data that was checked before, as in a server
		b.ReportAllocs()
		for b.Loop() {
			var in T
			if err := plan.Decode(data, &in); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("strict check and plan", func(b *testing.B) { // the same work as the two below
		b.ReportAllocs()
		for b.Loop() {
			var in T
			if err := rawjson.Check(data); err != nil {
				b.Fatal(err)
			}
			if err := plan.Decode(data, &in); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("jsonv2 alone", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var in T
			if err := jsonv2.Unmarshal(data, &in); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("validator and jsonv2", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var in T
			if err := check.Check(data); err != nil {
				b.Fatal(err)
			}
			if err := jsonv2.Unmarshal(data, &in); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func benchAppend[T any](b *testing.B, data []byte) {
	plan := compile[T](b)
	var v T
	if err := plan.Decode(data, &v); err != nil {
		b.Fatal(err)
	}
	b.Run("plan", func(b *testing.B) {
		b.ReportAllocs()
		var buf []byte
		for b.Loop() {
			var err error
			if buf, err = plan.Append(buf[:0], &v); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("jsonv2", func(b *testing.B) {
		b.ReportAllocs()
		var buf bytes.Buffer
		for b.Loop() {
			buf.Reset()
			if err := jsonv2.MarshalWrite(&buf, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkDecodeTwoInts(b *testing.B) { benchDecode[twoInts](b, twoData) }
func BenchmarkDecodeMid(b *testing.B)     { benchDecode[mid](b, midData) }
func BenchmarkAppendTwoInts(b *testing.B) { benchAppend[twoInts](b, twoData) }
func BenchmarkAppendMid(b *testing.B)     { benchAppend[mid](b, midData) }

func BenchmarkDecodeProblems(b *testing.B) {
	plan := compile[mid](b)
	b.ReportAllocs()
	var in mid
	for b.Loop() {
		if plan.Decode([]byte(`{"idd":"x","kind":"newer","count":-1}`), &in) == nil {
			b.Fatal("accepted")
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		compile[mid](b)
	}
}
