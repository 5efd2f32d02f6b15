package anthropic_test

import (
	"context"
	"testing"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/anthropic"
	"github.com/tenon-mcp/tenon/app/llm/llmtest"
)

func play(stream []byte, n int) string {
	m := anthropic.New("claude-opus-4-6", &anthropic.Options{Client: llmtest.Bytes(stream, n), Attempts: 1})
	return llmtest.Transcript(m.Stream(context.Background(), &llm.Request{Messages: []llm.Message{llm.User("x")}}))
}

func TestRecordedStreams(t *testing.T) {
	llmtest.Streams(t, "testdata/*.sse", func(_ string, s []byte, n int) string { return play(s, n) })
}

// Whatever comes, a stream ends with done or with an error, and only once.
func FuzzStream(f *testing.F) {
	llmtest.SeedStreams(f, "testdata/*.sse")
	f.Fuzz(func(t *testing.T, stream []byte) { llmtest.CheckEnd(t, play(stream, 0), play(stream, 1)) })
}
