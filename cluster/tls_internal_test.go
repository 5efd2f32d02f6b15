package cluster

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net/http"
	"sync/atomic"
	"testing"
	"time"
)

// Expired certificates, those that another key has signed under the name of the
// cluster's authority, and those that their owner has signed are refused.
func TestForgedCertificatesAreRefused(t *testing.T) {
	r, err := Join(t.Context(), NewMemory(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var served atomic.Bool
	r.Handle(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served.Store(true) }))
	right, err := newTLSState("other", r.ring)
	if err != nil {
		t.Fatal(err)
	}
	foreign := newRingKey(time.Now())
	foreign.ID = r.ring.Keys[0].ID // so that the names are alike
	forger, err := newTLSState("other", &ring{[]ringKeyEntry{foreign}, foreign.ID})
	if err != nil {
		t.Fatal(err)
	}
	valid, err := right.sign(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	expired, err := right.sign(time.Now().Add(-2 * certLife))
	if err != nil {
		t.Fatal(err)
	}
	forged, err := forger.sign(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		cert *tls.Certificate
		ok   bool
	}{"valid": {valid, true}, "expired": {expired, false}, "forged": {forged, false}, "self-signed": {selfSigned(t), false}} {
		served.Store(false)
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{
			RootCAs: right.trusted, ServerName: hostOf(r.id), Certificates: []tls.Certificate{*c.cert},
		}}}
		res, err := client.Get("https://" + r.Addr())
		if err == nil {
			res.Body.Close()
		}
		if (err == nil) != c.ok || served.Load() != c.ok {
			t.Errorf("%s: served %v, error %v", name, served.Load(), err)
		}
	}
}

func selfSigned(t *testing.T) *tls.Certificate {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{hostOf("other")}}
	raw, err := x509.CreateCertificate(rand.Reader, c, c, public, private)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: private}
}

// The state of a ring makes another certificate before one expires.
func TestCertificatesAreRenewed(t *testing.T) {
	k := newRingKey(time.Now())
	s, err := newTLSState("me", &ring{[]ringKeyEntry{k}, k.ID})
	if err != nil {
		t.Fatal(err)
	}
	first, err := s.certificate()
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := s.certificate(); again != first {
		t.Error("each call makes a certificate")
	}
	s.renewAt = time.Now().Add(-time.Second)
	if later, _ := s.certificate(); later == first {
		t.Error("not renewed")
	}
}
