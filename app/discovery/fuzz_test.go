package discovery

import (
	"context"
	"testing"
)

// A server.json, a manifest or a card is described or refused, whatever it says,
// and an entry can be made of each option or is refused.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"$schema":"https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json","name":"io.example/weather","description":"Forecasts","version":"1.0.2","packages":[{"registryType":"npm","identifier":"@x/weather","version":"1.0.2","transport":{"type":"stdio"},"packageArguments":[{"type":"named","name":"--units","value":"{u}","variables":{"u":{"default":"c","choices":["c","f"]}}},{"type":"positional","valueHint":"city","isRequired":true}],"environmentVariables":[{"name":"KEY","isSecret":true,"isRequired":true}]}]}`))
	f.Add([]byte(`{"name":"io.example/far","description":"d","version":"1.0.0","remotes":[{"type":"streamable-http","url":"https://{region}.example.com/mcp","variables":{"region":{"default":"eu"}},"headers":[{"name":"Authorization","value":"Bearer {t}","variables":{"t":{"isSecret":true}}}]}]}`))
	f.Add([]byte(`{"name":"io.example/oci","description":"d","version":"1.0.0","packages":[{"registryType":"oci","identifier":"docker.io/x/y:1","transport":{"type":"stdio"},"runtimeArguments":[{"type":"named","name":"-e","value":"A=b"}]}]}`))
	ctx, cancel := context.WithCancel(f.Context())
	cancel() // nothing that the text names is fetched
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := ParseServer(data); err == nil && s.Name == "" {
			t.Error("a server without a name is accepted")
		}
		if m, err := ParseManifest(data); err == nil && (m.Name == "" || m.Server.EntryPoint == "") {
			t.Error("a manifest without a name or an entry point is accepted")
		}
		d, err := Parse(ctx, data, &Options{})
		if err != nil {
			return
		}
		for _, o := range d.Options {
			if o.Unsupported != "" {
				continue
			}
			values := Values{}
			for _, in := range o.Inputs {
				values[in.Name] = []Value{{Text: "1"}}
			}
			_, _ = o.Entry("x", values) // must not panic
		}
	})
}
