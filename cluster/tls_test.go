package cluster_test

import (
	"crypto/tls"
	"net/http"
)

// insecure is a client that trusts every server and has no certificate.
var insecure = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
