package login

import (
	"fmt"
	"net/http"
)

// What the browser shows at the end. Nothing of the request appears in it.
var (
	pageDone    = [2]string{"You are logged in", "You can close this window and go back to where you came from."}
	pageFailed  = [2]string{"The login did not work", "You can close this window. The program that asked for the login says more."}
	pageRefused = [2]string{"This is not for you", "This address waits for the end of one login, and your request is not it."}
)

const pageText = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>%[1]s</title>
<style>
body { font: 1.1rem/1.5 system-ui, sans-serif; display: grid; place-items: center; min-height: 90vh; margin: 0 }
main { max-width: 26rem; padding: 2rem; text-align: center }
h1 { font-size: 1.5rem; font-weight: 600; margin: 0 0 .5rem }
p { margin: 0; opacity: .75 }
</style></head>
<body><main><h1>%[1]s</h1><p>%[2]s</p></main></body></html>
`

func writePage(w http.ResponseWriter, status int, text [2]string) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Connection", "close")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, pageText, text[0], text[1])
}
