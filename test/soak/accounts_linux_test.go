package soak

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
)

// An accounts is an API behind the gateways. GET /echo returns a text. GET /me says
// whose account the gateway uses: a principal logs in once, with the device flow,
// and the gateway refreshes the token, which is good for a minute.
type accounts struct {
	mu    sync.Mutex
	n     int
	codes map[string]string // users by device code; empty until the user has agreed
	users map[string]string // by token
}

func (a *accounts) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	answer := func(status int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		json.NewEncoder(w).Encode(v)
	}
	q.ParseForm()
	switch q.URL.Path {
	case "/echo":
		answer(200, said{q.Form.Get("text")})
	case "/device":
		a.n++
		code := fmt.Sprint("device-", a.n)
		a.codes[code] = ""
		page := "http://" + q.Host + "/page"
		answer(200, map[string]any{"device_code": code, "user_code": "CODE", "verification_uri": page, "verification_uri_complete": fmt.Sprint(page, "?n=", a.n), "expires_in": 600, "interval": 0.05})
	case "/page":
		a.codes["device-"+q.Form.Get("n")] = q.Header.Get("X-User")
	case "/token":
		who := a.codes[q.Form.Get("device_code")]
		if token := q.Form.Get("refresh_token"); token != "" {
			who = a.users[token]
			delete(a.users, token) // for one use
		}
		if _, known := a.codes[q.Form.Get("device_code")]; known && who == "" {
			answer(400, map[string]any{"error": "authorization_pending"})
			return
		}
		if who == "" {
			answer(400, map[string]any{"error": "invalid_grant"})
			return
		}
		delete(a.codes, q.Form.Get("device_code"))
		a.n += 2
		access, refresh := fmt.Sprint("access-token-", a.n), fmt.Sprint("refresh-token-", a.n+1)
		a.users[access], a.users[refresh] = who, who
		answer(200, map[string]any{"access_token": access, "refresh_token": refresh, "token_type": "Bearer", "expires_in": 60})
	default:
		who := a.users[strings.TrimPrefix(q.Header.Get("Authorization"), "Bearer ")]
		if who == "" {
			answer(401, map[string]any{"message": "no such token"})
			return
		}
		answer(200, map[string]any{"user": who})
	}
}

// apiFiles returns the files of the two servers that wrap the API.
func apiFiles(base string) (echo, who string) {
	head := "tenon: api/1\nname: NAME\napi: {base: \"" + base + "\", private: true}\n"
	echo = strings.Replace(head, "NAME", "api", 1) + "tools:\n" +
		"  echo: {description: Returns the text, params: {text: {type: string, required: true}}, request: \"GET /echo{?text}\", cache: {ttl: 1m}, output: {text: \"{{ .text }}\"}}\n"
	who = strings.Replace(head, "NAME", "who", 1) +
		"auth: {kind: oauth2, grant: device, token_url: \"" + base + "/token\", device_url: \"" + base + "/device\", client_id: gw, account: caller}\n" +
		"tools:\n  me: {description: Says who you are, request: GET /me, cache: {ttl: 5s}, output: {text: \"{{ .user }}\"}}\n"
	return echo, who
}
