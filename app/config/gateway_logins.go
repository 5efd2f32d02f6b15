package config

import "errors"

// GatewayLogins configures the logins of a gateway's users at servers whose entry
// has "login": "user".
type GatewayLogins struct {
	// Dir is the folder of the logins; empty means the default.
	Dir string
	// Key says where the key is that encrypts them: "file:PATH", "env:NAME" or
	// "keyring:NAME". Empty means a file beside the default folder, which is
	// created.
	Key string
	// ClientID and ClientSecret are the gateway as a client of its own
	// authorization server, where its users show who they are. The secret is
	// written like Key. Empty means that the gateway registers itself there.
	ClientID, ClientSecret string
}

var gatewayLoginsMembers = []string{"dir", "key", "clientId", "clientSecret"}

func readGatewayLogins(n node) (l GatewayLogins, err error) {
	err = n.eachMember(func(m member) (err error) {
		switch m.name {
		case "dir":
			l.Dir, err = m.value.text()
		case "key":
			l.Key, err = m.value.text()
			if err == nil {
				err = checkReference(m.value, l.Key)
			}
		case "clientId":
			l.ClientID, err = m.value.text()
		case "clientSecret":
			l.ClientSecret, err = m.value.text()
			if err == nil {
				err = checkReference(m.value, l.ClientSecret)
			}
		default:
			err = m.unknown(gatewayLoginsMembers)
		}
		return err
	})
	return l, err
}

// SplitReference splits the reference to a secret, such as "env:NAME", into where
// it is ("file", "env" or "keyring") and its name there.
func SplitReference(text string) (place, name string, err error) {
	for _, place := range []string{"file", "env", "keyring"} {
		if n := len(place) + 1; len(text) > n && text[:n] == place+":" {
			return place, text[n:], nil
		}
	}
	return "", "", errors.New("must be file:PATH, env:NAME or keyring:NAME")
}

// checkReference refuses a secret that is written into the file.
func checkReference(n node, text string) error {
	if _, _, err := SplitReference(text); err != nil {
		return n.errorf("%v", err)
	}
	return nil
}
