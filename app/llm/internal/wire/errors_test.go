package wire

import (
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/app/llm"
)

// Errors as the providers write them.
func TestRefusals(t *testing.T) {
	for _, test := range []struct {
		name   string
		status int
		body   string
		kind   llm.ErrorKind
		says   string
	}{
		{"Anthropic key", 401, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`, llm.ErrAuth, "invalid x-api-key"},
		{"Anthropic permission", 403, `{"type":"error","error":{"type":"permission_error","message":"no"}}`, llm.ErrAuth, "no"},
		{"Anthropic long", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 214318 tokens > 200000 maximum"}}`, llm.ErrContextLength, "214318"},
		{"Anthropic long with output", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"input length and ` + "`max_tokens`" + ` exceed context limit: 195000 + 32000 > 200000"}}`, llm.ErrContextLength, ""},
		{"Anthropic large", 413, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, llm.ErrContextLength, ""},
		{"Anthropic bad", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"messages: roles must alternate"}}`, llm.ErrBadRequest, "alternate"},
		{"Anthropic credit", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`, llm.ErrQuota, "credit"},
		{"Anthropic model", 404, `{"type":"error","error":{"type":"not_found_error","message":"model: claude-9"}}`, llm.ErrBadRequest, "claude-9"},
		{"Anthropic rate", 429, `{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your organization's rate limit of 30,000 input tokens per minute"}}`, llm.ErrRate, "rate limit"},
		{"Anthropic busy", 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, llm.ErrOverloaded, ""},
		{"OpenAI key", 401, `{"error":{"message":"Incorrect API key provided: sk-a***b.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`, llm.ErrAuth, ""},
		{"OpenAI long", 400, `{"error":{"message":"This model's maximum context length is 128000 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, llm.ErrContextLength, "128000"},
		{"OpenAI quota", 429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`, llm.ErrQuota, ""},
		{"OpenAI server", 500, `{"error":{"message":"The server had an error","type":"server_error","param":null,"code":null}}`, llm.ErrServer, ""},
		{"Gemini key", 400, `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"@type":"x","reason":"API_KEY_INVALID"}]}}]`, llm.ErrAuth, "API key not valid"},
		{"Gemini long", 400, `[{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]`, llm.ErrContextLength, ""},
		{"Gemini busy", 503, `[{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}]`, llm.ErrOverloaded, ""},
		{"Gemini rate", 429, `[{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"x"},{"retryDelay":"37s"}]}}]`, llm.ErrRate, ""},
		{"Ollama model", 404, `{"error":{"message":"model 'x' not found","type":"api_error","param":null,"code":null}}`, llm.ErrBadRequest, "not found"},
		{"Ollama old", 400, `{"error":"registry.ollama.ai/library/gemma does not support tools"}`, llm.ErrBadRequest, "does not support tools"},
		{"llama.cpp long", 400, `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":5000,"n_ctx":4096}}`, llm.ErrContextLength, ""},
		{"llama.cpp loading", 503, `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`, llm.ErrOverloaded, "Loading"},
		{"vLLM long", 400, `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens. Please reduce the length of the messages.","type":"BadRequestError","param":null,"code":400}`, llm.ErrContextLength, ""},
		{"FastAPI", 422, `{"detail":[{"loc":["body"],"msg":"field required"}]}`, llm.ErrBadRequest, "field required"},
		{"OpenRouter credit", 402, `{"error":{"message":"Insufficient credits","code":402}}`, llm.ErrQuota, ""},
		{"a proxy", 502, "<html><head><title>502 Bad Gateway</title><style>x{}</style></head><body><h1>Bad</h1></body></html>", llm.ErrServer, "502 Bad Gateway Bad"},
		{"nothing", 418, "", llm.ErrBadRequest, "teapot"},
		{"control characters", 400, "{\"error\":\"a\\u001b[31mb\\u202ec\"}", llm.ErrBadRequest, "a [31mb c"},
		{"in a stream: rate", 0, `{"error":{"code":"rate_limit_exceeded","message":"slow down"}}`, llm.ErrRate, ""},
		{"in a stream: busy", 0, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, llm.ErrOverloaded, ""},
		{"in a stream: api", 0, `{"type":"error","error":{"type":"api_error","message":"Internal server error"}}`, llm.ErrServer, ""},
		{"in a stream: long", 0, `{"error":{"code":"context_length_exceeded","message":"Your input exceeds the context window of this model."}}`, llm.ErrContextLength, ""},
		{"in a stream: prompt", 0, `{"error":{"code":"invalid_prompt","message":"no"}}`, llm.ErrBadRequest, ""},
	} {
		e := ResponseError(test.status, []byte(test.body))
		if e.Kind != test.kind || !strings.Contains(e.Message, test.says) || e.Message == "" {
			t.Errorf("%s: %s, %q; want %s, %q", test.name, e.Kind, e.Message, test.kind, test.says)
		}
	}
}

func TestEndlessErrorsAreCut(t *testing.T) {
	e := ResponseError(400, []byte(`{"error":"`+strings.Repeat("x", 50000)+`"}`))
	if len(e.Message) > 700 {
		t.Errorf("%d bytes", len(e.Message))
	}
}
