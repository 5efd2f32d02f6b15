package main

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/zalando/go-keyring"
)

// The keys of model providers in the keyring of the operating system are
// entries of the service keyService, one for each provider under its name, with
// @host for a host that is not the provider's own; see docs/models.md.
const keyService = "tenon-models"

// The key that signs the heads of audit logs is the entry auditUser of the
// service auditService, in base64. It is there if the person has made it, with
// tenon audit key.
const (
	auditService = "tenon-audit"
	auditUser    = "head"
)

// The secrets of configured servers are entries of the service serverService, one
// for each ${keyring:name} in tenon.json under its name.
const serverService = "tenon-servers"

// keyringTimeout bounds the wait for the keyring: one that waits for the user to
// unlock it must not delay every start.
const keyringTimeout = 5 * time.Second

// keys reads keys from the keyring. After the first failure it does not try again,
// so that the user is asked to unlock the keyring only once.
type keys struct {
	mu   sync.Mutex
	gone error

	read func(service, user string) (string, error) // nil means the keyring of the system
}

// key returns the key of a provider, or "" if there is none.
func (k *keys) key(provider string) (string, error) { return k.get(keyService, provider) }

// audit returns the key that signs audit logs, or nil if there is none.
func (k *keys) audit() ([]byte, error) {
	text, err := k.get(auditService, auditUser)
	if err != nil || text == "" {
		return nil, err
	}
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(key) < 16 {
		return nil, fmt.Errorf("the keyring entry %s of %s is not a valid key: remove it and create one with tenon audit key", auditUser, auditService)
	}
	return key, nil
}

// get returns an entry of the keyring, or "" if there is none.
func (k *keys) get(service, user string) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.gone != nil {
		return "", nil
	}
	if k.read == nil {
		if !hasKeyring() {
			return "", nil
		}
		k.read = keyring.Get
	}
	var key string
	err := k.wait(func() (err error) {
		key, err = k.read(service, user)
		return err
	})
	switch {
	case err == nil:
		return key, nil
	case errors.Is(err, keyring.ErrNotFound):
		return "", nil
	}
	k.gone = err
	return "", err
}

// wait runs an operation of the keyring for a limited time.
func (k *keys) wait(do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }() // ends with the keyring's answer, or with the program
	select {
	case err := <-done:
		return err
	case <-time.After(keyringTimeout):
		return errors.New("the keyring timed out: unlock it, or set the key as an environment variable")
	}
}

// server returns the secret of a configured server, or "" if there is none. It
// returns an error if there is no keyring.
func (k *keys) server(name string) (string, error) { return k.sure(serverService, name) }

// sure is get for an entry that the configuration needs.
func (k *keys) sure(service, name string) (string, error) {
	if !hasKeyring() && k.read == nil {
		return "", errNoKeyring
	}
	secret, err := k.get(service, name)
	if err == nil && secret == "" {
		k.mu.Lock()
		defer k.mu.Unlock()
		err = k.gone
	}
	return secret, err
}

// model returns the key with a name that tenon.json refers to, or "" if there is
// none. It returns an error if there is no keyring.
func (k *keys) model(entry string) (string, error) { return k.sure(keyService, entry) }

// setServer stores the secret of a configured server.
func (k *keys) setServer(name, secret string) error {
	return k.wait(func() error { return keyring.Set(serverService, name, secret) })
}

// setModel stores the key of a model provider.
func (k *keys) setModel(provider, key string) error {
	return k.wait(func() error { return keyring.Set(keyService, provider, key) })
}

// removeModel removes the key of a model provider, and reports whether there was
// one.
func (k *keys) removeModel(entry string) (bool, error) {
	err := k.wait(func() error { return keyring.Delete(keyService, entry) })
	if errors.Is(err, keyring.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// removeServer removes the secret of a configured server, if it is there.
func (k *keys) removeServer(name string) error {
	err := k.wait(func() error { return keyring.Delete(serverService, name) })
	if errors.Is(err, keyring.ErrNotFound) {
		return nil
	}
	return err
}

// hasKeyring reports whether there is a keyring: on Linux it needs the D-Bus
// session of the user, which servers and containers usually lack.
func hasKeyring() bool {
	switch runtime.GOOS {
	case "darwin", "windows":
		return true
	}
	if os.Getenv("DBUS_SESSION_BUS_ADDRESS") != "" {
		return true
	}
	_, err := os.Stat(os.Getenv("XDG_RUNTIME_DIR") + "/bus")
	return os.Getenv("XDG_RUNTIME_DIR") != "" && err == nil
}
