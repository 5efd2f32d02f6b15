package golden

import (
	"testing"

	"github.com/tenon-mcp/tenon/builtin/api"
	"github.com/tenon-mcp/tenon/builtin/api/packs"
)

// Every case of every pack passes.
func TestPacks(t *testing.T) {
	for _, name := range packs.Names() {
		data, _ := packs.File(name)
		outcomes, err := Run(t.Context(), api.Config{Data: data, Name: name + ".yaml", Private: true}, Options{})
		if err != nil {
			t.Errorf("%s:\n%v", name, err)
			continue
		}
		for _, o := range outcomes {
			for _, p := range o.Problems {
				t.Errorf("%s: %s: %s", name, o.Name, p)
			}
		}
	}
}
