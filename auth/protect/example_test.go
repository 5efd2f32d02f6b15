package protect_test

import (
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/tenon-mcp/tenon/auth/protect"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

// A server is protected with five lines: what it is called, who vouches for its
// callers, and a wrapper around its endpoint.
func Example() {
	s := server.New(mcp.Implementation{Name: "files", Version: "1.0"}, nil)
	endpoint, err := streamable.NewHandler(s, &streamable.Options{Principal: protect.Principal})
	if err != nil {
		log.Fatal(err)
	}

	guard, err := protect.New(&protect.Options{
		Resource:             "https://files.example.com/mcp",
		AuthorizationServers: []string{"https://login.example.com"},
		Scopes:               []string{"files"},
	})
	if err != nil {
		log.Fatal(err)
	}
	handler := guard.Wrap(endpoint) // http.ListenAndServe(":8080", handler)

	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest("POST", "/mcp", nil))
	fmt.Println(w.Code)
	fmt.Println(w.Header().Get("WWW-Authenticate"))
	// Output:
	// 401
	// Bearer scope="files", resource_metadata="https://files.example.com/.well-known/oauth-protected-resource/mcp"
}

// Tools may need scopes of their own. A client without them is told all that it
// needs, before the tool runs.
func ExampleOptions_require() {
	hash, err := protect.HashKey("PbV3cKj-not-a-real-key-0Zq1")
	if err != nil {
		log.Fatal(err)
	}
	keys, err := protect.APIKeys(map[string]mcp.Principal{hash: {ID: "build robot", Scopes: []string{"files:read"}}})
	if err != nil {
		log.Fatal(err)
	}
	guard, err := protect.New(&protect.Options{
		Resource: "https://files.example.com/mcp",
		Verifier: keys,
		Require: func(method, name string) []string {
			if method == "tools/call" && name == "delete_file" {
				return []string{"files:read", "files:write"}
			}
			return []string{"files:read"}
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	handler := guard.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println(protect.Principal(r).ID, "calls")
	}))
	for _, tool := range []string{"read_file", "delete_file"} {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q}}`, tool)
		r := httptest.NewRequest("POST", "/mcp", strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer PbV3cKj-not-a-real-key-0Zq1")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		fmt.Printf("%s %d %q\n", tool, w.Code, w.Header().Get("WWW-Authenticate"))
	}
	// Output:
	// build robot calls
	// read_file 200 ""
	// delete_file 403 "Bearer error=\"insufficient_scope\", error_description=\"this operation needs more scopes than the token has\", scope=\"files:read files:write\""
}
