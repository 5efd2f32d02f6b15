package config

// Gateway configures tenon gateway: the member "gateway" of tenon.json. The zero
// value means the defaults.
type Gateway struct {
	// Logins configures the logins of users at servers.
	Logins GatewayLogins

	// Tools and Prompts change how clients see them, by the name that they have
	// otherwise: server__name.
	Tools, Prompts map[string]GatewayName

	// Sets are selections by name.
	Sets map[string]GatewaySet

	// Search gives clients two tools, search and invoke, instead of all tools.
	Search bool

	// Pins says which definitions clients get.
	Pins GatewayPins

	// MaxResult is the maximum size of a result in bytes; 0 means the default.
	MaxResult int

	// Redact says what is removed from results.
	Redact GatewayRedact

	// Rules decide what callers may see and use. None allows everything; with
	// rules, what none of them allows is denied.
	Rules []GatewayRule
	// Limits bound how often and how much at once callers may call.
	Limits []GatewayLimit
	// GroupClaim is the claim of tokens that has the groups of their subject;
	// empty means "groups".
	GroupClaim string
	// Keys is the file of API keys; empty means the default.
	Keys string
	// Audit configures the log of calls.
	Audit GatewayAudit
}

// gatewayMembers are the members of "gateway".
var gatewayMembers = []string{
	"logins", "tools", "prompts", "sets", "search",
	"pins", "maxResult", "redact",
	"rules", "limits", "groupClaim", "keys", "audit",
}

func readGateway(n node) (g Gateway, err error) {
	err = n.eachMember(func(m member) (err error) {
		switch m.name {
		case "logins":
			g.Logins, err = readGatewayLogins(m.value)
		case "tools":
			g.Tools, err = readNames(m.value)
		case "prompts":
			g.Prompts, err = readNames(m.value)
		case "sets":
			g.Sets, err = readSets(m.value)
		case "search":
			g.Search, err = m.value.bool()
		case "pins":
			g.Pins, err = readGatewayPins(m.value)
		case "maxResult":
			g.MaxResult, err = m.value.size()
		case "redact":
			g.Redact, err = readGatewayRedact(m.value)
		case "rules":
			g.Rules, err = listOf(m.value, readGatewayRule)
		case "limits":
			g.Limits, err = listOf(m.value, readGatewayLimit)
		case "groupClaim":
			g.GroupClaim, err = m.value.text()
		case "keys":
			g.Keys, err = m.value.text()
		case "audit":
			g.Audit, err = readGatewayAudit(m.value)
		default:
			err = m.unknown(gatewayMembers)
		}
		return err
	})
	return g, err
}
