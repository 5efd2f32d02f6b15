package speccheck

import (
	"strings"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// Rules about roots and sampling, which are deprecated.
func init() {
	extras["SamplingParams"] = checkSampling
}

func checkRoot(w *walker, raw []byte, pointer string) {
	if uri, ok := rawjson.String(raw); ok && !strings.HasPrefix(strings.ToLower(uri), "file://") {
		w.fault(ruleRoot, pointer, quote(uri)+" is no file:// address")
	}
}

func checkSampling(w *walker, raw []byte, pointer string) {
	var p mcp.CreateMessageParams
	if mcp.Unmarshal(raw, &p) != nil {
		return // its types are wrong, which is reported elsewhere
	}
	if err := p.Check(); err != nil { //nolint:staticcheck // the deprecated feature is still checked
		w.fault(ruleSampling, pointer+"/messages", err.Error())
	}
}
