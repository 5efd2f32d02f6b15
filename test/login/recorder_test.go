package login

import (
	"net/http"
	"sync"
)

// A recorder sees the last proof of possession that went over the wire and was
// accepted.
type recorder struct {
	base *http.Transport
	mu   sync.Mutex
	last string
}

// RoundTrip implements http.RoundTripper.
func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := r.base.RoundTrip(req)
	if err == nil && res.StatusCode == http.StatusOK {
		r.mu.Lock()
		r.last = req.Header.Get("DPoP")
		r.mu.Unlock()
	}
	return res, err
}

// CloseIdleConnections drops connections that are not in use.
func (r *recorder) CloseIdleConnections() { r.base.CloseIdleConnections() }

func (r *recorder) proof() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}
