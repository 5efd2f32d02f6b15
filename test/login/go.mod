module github.com/tenon-mcp/tenon/test/login

go 1.26.0

replace github.com/tenon-mcp/tenon => ../..

require (
	github.com/chromedp/chromedp v0.21.0
	github.com/tenon-mcp/tenon v0.0.0
)

require (
	github.com/chromedp/cdproto v0.157.8 // indirect
	github.com/go-jose/go-jose/v4 v4.1.6 // indirect
	github.com/go-json-experiment/json v0.0.0-20260820222146-c27c302e5fc3 // indirect
	golang.org/x/sys v0.49.0 // indirect
)
