// Package web serves the peers over HTTP, as their users would: on net/http with
// its defaults.
package web

import (
	"log"
	"net/http"
)

// Listen serves at an address until the process is killed.
func Listen(addr string, h http.Handler) {
	mux := http.NewServeMux()
	mux.Handle("/mcp", h)
	log.Fatal(http.ListenAndServe(addr, mux))
}
