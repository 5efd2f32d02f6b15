package main

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/cluster"
)

// writeCertificate writes a certificate for 127.0.0.1 with this number.
func writeCertificate(t *testing.T, dir string, number int64) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(number), Subject: pkix.Name{CommonName: "tenon test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for name, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool = x509.NewCertPool()
	pool.AppendCertsFromPEM(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return cert, key, pool
}

// fetched gets a page and says with which certificate.
func fetched(t *testing.T, pool *x509.CertPool, method, url string) (status int, body string, serial int64) {
	t.Helper()
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Do(req)
	if err != nil {
		return 0, err.Error(), 0
	}
	defer r.Body.Close()
	b, _ := io.ReadAll(r.Body)
	if r.TLS != nil {
		serial = r.TLS.PeerCertificates[0].SerialNumber.Int64()
	}
	return r.StatusCode, string(b), serial
}

// S7: HTTPS, and a certificate that is renewed without a restart. Files that
// cannot be used leave the old one.
func TestServeTLS(t *testing.T) {
	dir := t.TempDir()
	cert, key, pool := writeCertificate(t, dir, 1)
	url := servingAt(t, "calc", "--http", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key)
	if !strings.HasPrefix(url, "https://") {
		t.Fatal(url)
	}
	health := strings.TrimSuffix(url, "/mcp") + healthPath
	if status, body, serial := fetched(t, pool, "GET", health); status != 200 || body != "ok\n" || serial != 1 {
		t.Errorf("%d %s, certificate %d", status, body, serial)
	}
	c := &certificate{certFile: cert, keyFile: key}
	if err := c.load(c.state()); err != nil {
		t.Fatal(err)
	}
	old := c.current
	_, _, renewed := writeCertificate(t, dir, 2)
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if _, _, serial := fetched(t, renewed, "GET", health); serial == 2 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the new certificate is not used")
		}
	}
	if got, err := c.refresh(); err != nil || got == old {
		t.Errorf("not read again: %v", err)
	}
	good := c.current
	if err := os.WriteFile(key, []byte("half a key"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.looked = time.Time{}
	if got, err := c.refresh(); err == nil || got != good {
		t.Errorf("a bad key: %v", err)
	}
}

// S7: what is asked for is logged, and no secret is.
// A request that a proxy may read differently is refused, as docs/serve-over-http.md
// promises.
func TestServeRefusesAmbiguousRequests(t *testing.T) {
	url := servingAt(t, "calc", "--http", "127.0.0.1:0")
	host := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/mcp")
	c, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "GET %s HTTP/1.1\nHost: %s\n\n", healthPath, host)
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if r.StatusCode != http.StatusBadRequest {
		t.Errorf("lines that end with a bare line feed: %s", r.Status)
	}
}

func TestServeAccessLog(t *testing.T) {
	t.Setenv("SERVE_TOKEN", "canary-0123456789abcdef")
	file := filepath.Join(t.TempDir(), "access.log")
	url := servingAt(t, "calc", "--http", "127.0.0.1:0", "--auth-token", "SERVE_TOKEN", "--access-log", file)
	for _, secret := range []string{"canary-0123456789abcdef", "canary-wrong-token-here"} {
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":2},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"canary","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
		req, err := http.NewRequestWithContext(t.Context(), "POST", url+"?api_key=canary", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{"Authorization": "Bearer " + secret, "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
			"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "add", "Cookie": "a=canary"} {
			req.Header.Set(name, value)
		}
		r, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, r.Body)
		r.Body.Close()
	}
	fetched(t, nil, "GET", strings.TrimSuffix(url, "/mcp")+healthPath)
	fetched(t, nil, "POST", strings.TrimSuffix(url, "/mcp")+healthPath)
	http.DefaultClient.CloseIdleConnections()
	var log []byte
	for end := time.Now().Add(time.Minute); bytes.Count(log, []byte("\n")) < 3 && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		log, _ = os.ReadFile(file)
	}
	lines := strings.Split(strings.TrimSpace(string(log)), "\n")
	if len(lines) != 3 || strings.Contains(string(log), "canary") {
		t.Fatalf("%s", log)
	}
	for i, want := range []string{`"status":200`, `"status":401`, `"status":405`} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("line %d: %s, want %s", i, lines[i], want)
		}
	}
	if !strings.Contains(lines[0], `"path":"/mcp"`) || !strings.Contains(lines[0], `"mcp":"tools/call"`) || strings.Contains(lines[0], `"bytes":0,`) {
		t.Error(lines[0])
	}
	if info, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestServeTLSRefuses(t *testing.T) {
	dir := t.TempDir()
	cert, key, _ := writeCertificate(t, dir, 1)
	for line, want := range map[string]string{
		"calc --http 127.0.0.1:0 --tls-cert " + cert:                          "--tls-cert and --tls-key together",
		"calc --http 127.0.0.1:0 --tls-key " + key:                            "--tls-cert and --tls-key together",
		"calc --http 127.0.0.1:0 --tls-cert /none.pem --tls-key " + key:       "/none.pem",
		"calc --http 127.0.0.1:0 --tls-cert " + key + " --tls-key " + cert:    "load the certificate",
		"calc --tls-cert " + cert + " --tls-key " + key:                       "need --http",
		"calc --http 127.0.0.1:0 --access-log " + dir + "/no/such/folder/log": "/no/such/folder/log",
	} {
		code, _, errs := tenon(t, append([]string{"serve"}, strings.Fields(line)...)...)
		if code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("serve %s: exit code %d: %s", line, code, errs)
		}
	}
}

// A request that was forwarded is one "request" in the access logs of all replicas.
func TestAccessLogCountsForwardedRequestsOnce(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	store := cluster.NewMemory()
	join := func() *cluster.Replica {
		r, err := cluster.Join(t.Context(), store, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close() })
		return r
	}
	a, b := join(), join()
	b.Handle(logAccess(log, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) })))
	logAccess(log, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := a.Forward(w, r, nil, b.ID()); err != nil {
			t.Error(err)
		}
	})).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/mcp", nil))
	lines := out.String()
	if strings.Count(lines, "msg=request ") != 1 || strings.Count(lines, `msg="forwarded request"`) != 1 || strings.Count(lines, "status=202") != 2 {
		t.Errorf("the logs have:\n%s", lines)
	}
}
