package config

// Gateway configures tenon gateway: the member "gateway" of tenon.json. The zero
// value means the defaults.
type Gateway struct {
	// Logins configures the logins of users at servers.
	Logins GatewayLogins
}

// gatewayMembers are the members of "gateway".
var gatewayMembers = []string{"logins"}

func readGateway(n node) (g Gateway, err error) {
	err = n.eachMember(func(m member) (err error) {
		switch m.name {
		case "logins":
			g.Logins, err = readGatewayLogins(m.value)
		default:
			err = m.unknown(gatewayMembers)
		}
		return err
	})
	return g, err
}
