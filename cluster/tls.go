package cluster

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"strings"
	"sync"
	"time"
)

// Replicas recognize each other by certificates. The authority that signs them
// is derived from a key of the cluster, so that every replica can sign its own,
// and nobody without the key can.

const (
	certLife  = 24 * time.Hour
	certEarly = time.Hour // how far the clocks of two replicas may differ
)

// A tlsState has the certificate of a replica and the authorities that it trusts.
type tlsState struct {
	id      string
	issuer  *x509.Certificate
	signer  ed25519.PrivateKey
	trusted *x509.CertPool

	mu      sync.Mutex
	cert    *tls.Certificate
	renewAt time.Time
}

// newTLSState returns the state for a ring. It trusts the authorities of all its
// keys, and signs with that of the current one.
func newTLSState(id string, g *ring) (*tlsState, error) {
	s := &tlsState{id: id, trusted: x509.NewCertPool()}
	for _, k := range g.ordered() {
		ca, signer, err := authority(k)
		if err != nil {
			return nil, err
		}
		s.trusted.AddCert(ca)
		if s.issuer == nil {
			s.issuer, s.signer = ca, signer
		}
	}
	return s, nil
}

// authority derives a certificate authority from a key: the same one at every
// replica.
func authority(k ringKeyEntry) (*x509.Certificate, ed25519.PrivateKey, error) {
	seed, err := hkdf.Key(sha256.New, k.Secret, nil, "tenon cluster authority", ed25519.SeedSize)
	if err != nil {
		return nil, nil, err
	}
	signer := ed25519.NewKeyFromSeed(seed)
	ca := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "tenon cluster " + k.ID},
		NotBefore:             time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC),
		NotAfter:              time.Date(2120, 1, 1, 0, 0, 0, 0, time.UTC),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	}
	raw, err := x509.CreateCertificate(rand.Reader, ca, ca, signer.Public(), signer)
	if err != nil {
		return nil, nil, err
	}
	ca, err = x509.ParseCertificate(raw)
	return ca, signer, err
}

// hostOf returns the name in the certificate of a replica.
func hostOf(id string) string { return id + ".replica.tenon" }

// idOf returns the id of the replica with this name or address of it.
func idOf(host string) string {
	id, _, _ := strings.Cut(host, ".")
	return id
}

// certificate returns the certificate of this replica. It makes another before
// one expires.
func (s *tlsState) certificate() (*tls.Certificate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.cert != nil && now.Before(s.renewAt) {
		return s.cert, nil
	}
	cert, err := s.sign(now)
	if err != nil {
		return nil, err
	}
	s.cert, s.renewAt = cert, now.Add(certLife/2)
	return cert, nil
}

func (s *tlsState) sign(now time.Time) (*tls.Certificate, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	serial := make([]byte, 16)
	rand.Read(serial)
	leaf := &x509.Certificate{
		SerialNumber: new(big.Int).SetBytes(serial),
		Subject:      pkix.Name{CommonName: s.id},
		DNSNames:     []string{hostOf(s.id)},
		NotBefore:    now.Add(-certEarly),
		NotAfter:     now.Add(certLife),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	raw, err := x509.CreateCertificate(rand.Reader, leaf, s.issuer, public, s.signer)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: private}, nil
}

// currentTLS returns the state of the ring in use, and the certificate of this
// replica in it.
func (r *Replica) currentTLS() (*tlsState, *tls.Certificate, error) {
	r.mu.Lock()
	s := r.tls
	r.mu.Unlock()
	if s == nil {
		return nil, nil, errors.New("the key ring is not loaded")
	}
	cert, err := s.certificate()
	return s, cert, err
}

// serverTLS returns the configuration for connections of other replicas.
func (r *Replica) serverTLS() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		NextProtos: []string{"h2", "http/1.1"},
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			s, cert, err := r.currentTLS()
			if err != nil {
				return nil, err
			}
			return &tls.Config{
				MinVersion:             tls.VersionTLS13,
				NextProtos:             []string{"h2", "http/1.1"},
				Certificates:           []tls.Certificate{*cert},
				ClientAuth:             tls.RequireAndVerifyClientCert,
				ClientCAs:              s.trusted,
				SessionTicketsDisabled: true, // each connection is verified
			}, nil
		},
	}
}

// clientTLS returns the configuration for connections to the replica with this
// id that use a protocol. It accepts no other replica, in case another has its
// address now.
func (r *Replica) clientTLS(id, protocol string) (*tls.Config, error) {
	s, cert, err := r.currentTLS()
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		NextProtos:   []string{protocol},
		ServerName:   hostOf(id),
		RootCAs:      s.trusted,
		Certificates: []tls.Certificate{*cert},
	}, nil
}
