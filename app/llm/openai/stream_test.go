package openai_test

import (
	"context"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/llmtest"
	"github.com/tenon-mcp/tenon/app/llm/openai"
)

func play(name string, stream []byte, n int) string {
	o := &openai.Options{Client: llmtest.Bytes(stream, n), Attempts: 1, API: openai.Chat, Dialect: openai.Plain, Provider: "test"}
	if strings.Contains(name, "responses") {
		o.API = openai.Responses
	}
	return llmtest.Transcript(openai.New("m", o).Stream(context.Background(), &llm.Request{Messages: []llm.Message{llm.User("x")}}))
}

func TestRecordedStreams(t *testing.T) { llmtest.Streams(t, "testdata/*.sse", play) }

// Whatever comes, a stream ends with done or with an error, and only once.
func FuzzChat(f *testing.F) {
	llmtest.SeedStreams(f, "testdata/chat_*.sse")
	f.Fuzz(func(t *testing.T, stream []byte) {
		llmtest.CheckEnd(t, play("chat", stream, 0), play("chat", stream, 1))
	})
}

func FuzzResponses(f *testing.F) {
	llmtest.SeedStreams(f, "testdata/responses_*.sse")
	f.Fuzz(func(t *testing.T, stream []byte) {
		llmtest.CheckEnd(t, play("responses", stream, 0), play("responses", stream, 1))
	})
}
