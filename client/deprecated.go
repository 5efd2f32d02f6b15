package client

// warnOfDeprecated says once for each client which of its options belong to
// features that the protocol is giving up.
func (o *Options) warnOfDeprecated() {
	const going = " is deprecated by SEP-2577 and may be gone from the protocol after July 2027: "
	if o.Sampling != nil {
		o.warn("sampling" + going + "servers call a model directly instead")
	}
	if o.Roots != nil {
		o.warn("the list of roots" + going + "use tool parameters or URIs instead")
	}
	if o.Logging != nil {
		o.warn("logging over the protocol" + going + "use stderr or OpenTelemetry instead")
	}
}
