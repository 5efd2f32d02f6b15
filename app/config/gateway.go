package config

// Gateway configures tenon gateway: the member "gateway" of tenon.json. The zero
// value means the defaults.
type Gateway struct {
}

// gatewayMembers are the members of "gateway".
var gatewayMembers = []string{}

func readGateway(n node) (g Gateway, err error) {
	err = n.eachMember(func(m member) error {
		switch m.name {
		default:
			return m.unknown(gatewayMembers)
		}
	})
	return g, err
}
