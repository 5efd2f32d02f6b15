package config

import (
	"regexp"
	"strconv"
	"strings"
)

// GatewayPins configures which definitions of servers clients get: the member
// "pins" of "gateway".
type GatewayPins struct {
	// On is set if the member is there.
	On bool
	// File has the pins; empty means DefaultPinFile. A relative path begins at the
	// directory of tenon.json.
	File string
	// HoldNew holds back definitions that are seen for the first time ("new":
	// "hold").
	HoldNew bool
	// HoldSuspicious holds back suspicious definitions that are seen for the first
	// time ("suspicious": "hold").
	HoldSuspicious bool
}

// DefaultPinFile is the name of the file with the pins.
const DefaultPinFile = "tenon.pins.json"

// GatewayRedact says what the gateway removes from results besides the secrets of
// the configuration: the member "redact" of "gateway".
type GatewayRedact struct {
	// Patterns are regular expressions that match secrets.
	Patterns []*regexp.Regexp
	// Tokens says that texts of well-known shapes are secrets.
	Tokens bool
	// Off leaves results as they are, also with secrets of the configuration.
	Off bool
}

func readGatewayPins(n node) (p GatewayPins, err error) {
	p.On = true
	err = n.eachMember(func(m member) (err error) {
		switch m.name {
		case "file":
			p.File, err = m.value.text()
		case "new":
			p.HoldNew, err = m.value.choice("allow", "hold")
		case "suspicious":
			p.HoldSuspicious, err = m.value.choice("allow", "hold")
		default:
			err = m.unknown([]string{"file", "new", "suspicious"})
		}
		return err
	})
	return p, err
}

// choice reports whether a value is the second of two words.
func (n node) choice(first, second string) (bool, error) {
	text, err := n.text()
	if err == nil && text != first && text != second {
		err = n.errorf("must be %q or %q, not %q", first, second, text)
	}
	return text == second, err
}

func readGatewayRedact(n node) (r GatewayRedact, err error) {
	if string(n.raw) == "false" {
		return GatewayRedact{Off: true}, nil
	}
	err = n.eachMember(func(m member) (err error) {
		switch m.name {
		case "patterns":
			r.Patterns, err = listOf(m.value, readPattern)
		case "tokens":
			r.Tokens, err = m.value.bool()
		default:
			err = m.unknown([]string{"patterns", "tokens"})
		}
		return err
	})
	return r, err
}

func readPattern(n node) (*regexp.Regexp, error) {
	text, err := n.text()
	if err != nil {
		return nil, err
	}
	p, err := regexp.Compile(text)
	switch {
	case err != nil:
		return nil, n.errorf("must be a regular expression: %v", err)
	case p.MatchString(""):
		return nil, n.errorf("matches the empty text, so it would match everything")
	}
	return p, nil
}

// size reads a number of bytes, or a string such as "4 MiB".
func (n node) size() (int, error) {
	text, err := n.scalar()
	if err != nil {
		return 0, err
	}
	unit := 1
	for name, bytes := range map[string]int{"KiB": 1 << 10, "MiB": 1 << 20} {
		if number, ok := strings.CutSuffix(text, name); ok {
			text, unit = strings.TrimSpace(number), bytes
		}
	}
	size, err := strconv.Atoi(text)
	if err != nil || size <= 0 || size > 1<<30/unit {
		return 0, n.errorf(`must be a number of bytes up to 1 GiB, or a size such as "4 MiB"`)
	}
	return size * unit, nil
}
