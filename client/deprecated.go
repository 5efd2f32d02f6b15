package client

import "strings"

const removal = " is deprecated by SEP-2577 and may be removed from the protocol after July 2027: "

// IsDeprecation reports whether a text that [Options].Warn was called with says
// only that an option belongs to a deprecated feature of the protocol.
func IsDeprecation(warning string) bool { return strings.Contains(warning, removal) }

// warnOfDeprecated warns once per client about options that belong to
// deprecated features of the protocol.
func (o *Options) warnOfDeprecated() {
	if o.Sampling != nil {
		o.warn("sampling" + removal + "servers call a model directly instead")
	}
	if o.Roots != nil {
		o.warn("roots" + removal + "use tool parameters or URIs instead")
	}
	if o.Logging != nil {
		o.warn("logging" + removal + "use stderr or OpenTelemetry instead")
	}
}
