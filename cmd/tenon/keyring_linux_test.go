package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/godbus/dbus/v5"

	"github.com/tenon-mcp/tenon/internal/needtest"
)

// secretService is a keyring for processes of a test: the calls of the Secret
// Service API that go-keyring makes, over a real message bus.
type secretService struct {
	conn *dbus.Conn

	mu    sync.Mutex
	items map[dbus.ObjectPath]*secretItem
	last  int
}

// dbusSecret is the form of a secret on the bus.
type dbusSecret struct {
	Session     dbus.ObjectPath
	Parameters  []byte
	Value       []byte
	ContentType string
}

type secretItem struct {
	s          *secretService
	path       dbus.ObjectPath
	attributes map[string]string
	value      []byte
}

const (
	secretsPath    = "/org/freedesktop/secrets"
	noPrompt       = dbus.ObjectPath("/")
	defaultKeyring = secretsPath + "/aliases/default"
)

// startKeyring starts a message bus with a keyring, and returns its address.
func startKeyring(t *testing.T) (s *secretService, address string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "bus") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	address = "unix:path=" + socket
	daemon := exec.Command(needtest.Program(t, "dbus-daemon"), "--session", "--nofork", "--nopidfile", "--nosyslog", "--address="+address)
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { daemon.Process.Kill(); daemon.Wait() })
	s = &secretService{items: map[dbus.ObjectPath]*secretItem{}}
	eventually(t, func() bool { s.conn, err = dbus.Connect(address); return err == nil }) // the socket is there before anybody listens
	t.Cleanup(func() { s.conn.Close() })
	for path, name := range map[dbus.ObjectPath]string{secretsPath: "Service", defaultKeyring: "Collection", secretsPath + "/session": "Session"} {
		if err := s.conn.Export(s, path, "org.freedesktop.Secret."+name); err != nil {
			t.Fatal(err)
		}
	}
	if reply, err := s.conn.RequestName("org.freedesktop.secrets", dbus.NameFlagDoNotQueue); err != nil || reply != dbus.RequestNameReplyPrimaryOwner {
		t.Fatalf("%v, %v", reply, err)
	}
	return s, address
}

// OpenSession is called through the bus, as are the other exported methods.
func (s *secretService) OpenSession(string, dbus.Variant) (dbus.Variant, dbus.ObjectPath, *dbus.Error) {
	return dbus.MakeVariant(""), secretsPath + "/session", nil
}

func (s *secretService) Close() *dbus.Error { return nil }

func (s *secretService) Unlock(objects []dbus.ObjectPath) ([]dbus.ObjectPath, dbus.ObjectPath, *dbus.Error) {
	return objects, noPrompt, nil
}

func (s *secretService) CreateItem(properties map[string]dbus.Variant, secret dbusSecret, _ bool) (dbus.ObjectPath, dbus.ObjectPath, *dbus.Error) {
	attributes, ok := properties["org.freedesktop.Secret.Item.Attributes"].Value().(map[string]string)
	if !ok {
		return noPrompt, noPrompt, dbus.MakeFailedError(fmt.Errorf("no attributes"))
	}
	s.mu.Lock()
	s.last++
	item := &secretItem{s: s, path: dbus.ObjectPath(fmt.Sprintf("%s/%d", defaultKeyring, s.last)), attributes: attributes, value: secret.Value}
	s.items[item.path] = item
	s.mu.Unlock()
	if err := s.conn.Export(item, item.path, "org.freedesktop.Secret.Item"); err != nil {
		return noPrompt, noPrompt, dbus.MakeFailedError(err)
	}
	return item.path, noPrompt, nil
}

func (s *secretService) SearchItems(attributes map[string]string) ([]dbus.ObjectPath, *dbus.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := []dbus.ObjectPath{}
	for path, item := range s.items {
		same := true
		for name, value := range attributes {
			same = same && item.attributes[name] == value
		}
		if same {
			found = append(found, path)
		}
	}
	return found, nil
}

func (i *secretItem) GetSecret(session dbus.ObjectPath) (dbusSecret, *dbus.Error) {
	return dbusSecret{Session: session, Parameters: []byte{}, Value: i.value, ContentType: "text/plain"}, nil
}

func (i *secretItem) Delete() (dbus.ObjectPath, *dbus.Error) {
	i.s.mu.Lock()
	defer i.s.mu.Unlock()
	delete(i.s.items, i.path)
	return noPrompt, nil
}

// all returns the entries of the keyring as service/user=value.
func (s *secretService) all() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []string
	for _, item := range s.items {
		list = append(list, item.attributes["service"]+"/"+item.attributes["username"]+"="+string(item.value))
	}
	return strings.Join(list, " ")
}

// The real program keeps a secret in the keyring of the desktop, over the bus:
// one process adds it, another uses it, a third removes it.
func TestSecretInputsInTheDesktopKeyring(t *testing.T) {
	s, address := startKeyring(t)
	d := newDesk(t)
	here := func(args ...string) string {
		t.Helper()
		cmd := d.command(args...)
		set(cmd, "DBUS_SESSION_BUS_ADDRESS", address)
		return d.run(0, cmd)
	}
	file := d.file("server.json", weatherJSON)
	here("config", "add", "my+weather", file, "--yes", "--input", "units=metric", "--input", "API_KEY="+inputSecret)
	if got := s.all(); got != "tenon-servers/my_weather.API_KEY="+inputSecret {
		t.Errorf("the keyring has %q", got)
	}
	contains(t, here("call", "my+weather", "add", "a=20", "b=22"), "42")
	contains(t, d.read(d.environ), "API_KEY="+inputSecret+"\n")
	noFileHolds(t, d.config, inputSecret, "tenon.json")
	contains(t, d.tenon(exitUsage, "tools", "my+weather"), "no keyring is available here")
	here("config", "remove", "my+weather")
	if got := s.all(); got != "" {
		t.Errorf("the keyring still has %q", got)
	}
}

// A bus without a keyring, as on servers, is no keyring: the secret is asked for
// at each start.
func TestBusWithoutAKeyring(t *testing.T) {
	s, address := startKeyring(t)
	if _, err := s.conn.ReleaseName("org.freedesktop.secrets"); err != nil {
		t.Fatal(err)
	}
	d := newDesk(t)
	cmd := d.command("config", "add", "weather", d.file("server.json", weatherJSON), "--yes", "--input", "units=metric", "--input", "API_KEY="+inputSecret)
	set(cmd, "DBUS_SESSION_BUS_ADDRESS", address)
	contains(t, d.run(0, cmd), "The secret API_KEY was not stored", "set TENON_INPUT_WEATHER_API_KEY")
	noFileHolds(t, d.config, inputSecret, "tenon.json")
}
