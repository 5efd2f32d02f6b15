package redis

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/redis/rueidis"
)

// A target is what the URL of a store says.
type target struct {
	prefix string
	option rueidis.ClientOption
}

// parameters of a URL.
var parameters = map[string]bool{
	"addr": true, "cluster": true, "master": true, "sentinel_user": true, "sentinel_password": true,
	"ca": true, "cert": true, "key": true, "server_name": true, "prefix": true,
}

// errInvalidURL has no password before an @, which would be hidden as a secret.
var errInvalidURL = errors.New("invalid URL: want redis://HOST:PORT/DATABASE, with USER:PASSWORD@ before the host if Redis has a password, whose special characters are percent-encoded, such as %40 for @")

// parseURL reads the URL of a store. Its errors contain no part of the URL that
// may be secret.
func parseURL(raw string) (*target, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, errInvalidURL // the cause repeats the URL
	}
	if u.Scheme != "redis" && u.Scheme != "rediss" {
		return nil, errors.New("the URL does not start with redis:// or rediss://")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil || u.Fragment != "" || u.Opaque != "" || u.Hostname() == "" {
		return nil, errInvalidURL
	}
	for name := range query {
		if !parameters[name] {
			return nil, fmt.Errorf("unknown parameter %q", name)
		}
	}
	t := &target{prefix: query.Get("prefix")}
	o := &t.option
	o.InitAddress = []string{address(u.Host)}
	for _, a := range query["addr"] {
		o.InitAddress = append(o.InitAddress, address(a))
	}
	o.Username = u.User.Username()
	o.Password, _ = u.User.Password()
	if db := strings.Trim(u.Path, "/"); db != "" {
		if o.SelectDB, err = strconv.Atoi(db); err != nil || o.SelectDB < 0 {
			return nil, errors.New("the path of the URL is not the number of a database")
		}
	}
	if err := t.topology(query); err != nil {
		return nil, err
	}
	if u.Scheme == "rediss" {
		o.TLSConfig, err = tlsConfig(query)
	} else if query.Has("ca") || query.Has("cert") || query.Has("key") || query.Has("server_name") {
		err = errors.New("certificates need a URL that starts with rediss://")
	}
	return t, err
}

// topology decides between one server, Redis Cluster and Sentinel.
func (t *target) topology(query url.Values) error {
	o := &t.option
	master, inCluster := query.Get("master"), query.Get("cluster") == "true"
	switch {
	case query.Has("cluster") && !inCluster:
		return errors.New("the parameter cluster can only be true")
	case master != "" && inCluster:
		return errors.New("the parameters master and cluster exclude each other")
	case master != "":
		o.Sentinel = rueidis.SentinelOption{MasterSet: master, Username: query.Get("sentinel_user"), Password: query.Get("sentinel_password")}
	case inCluster:
		if o.SelectDB != 0 {
			return errors.New("a Redis Cluster has only the database 0")
		}
	case len(o.InitAddress) > 1:
		return errors.New("several addresses need the parameter cluster=true or master=NAME")
	default:
		o.ForceSingleClient = true
	}
	return nil
}

// address adds the default port.
func address(host string) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	return net.JoinHostPort(strings.Trim(host, "[]"), "6379")
}

// tlsConfig reads the certificates that a URL names.
func tlsConfig(query url.Values) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: query.Get("server_name")}
	if file := query.Get("ca"); file != "" {
		pem, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read the CA certificates: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("the file %q has no certificate", file)
		}
	}
	if cert, key := query.Get("cert"), query.Get("key"); cert != "" || key != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("read the client certificate: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
