package speccheck

import (
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// extras are rules about values that a type cannot express, by form and member.
var extras = map[string]func(w *walker, raw []byte, pointer string){
	"Tool/name":         checkToolName,
	"Tool/inputSchema":  checkToolSchema,
	"ToolsResult/tools": checkToolNames,
	"Image/data":        checkBase64,
	"Audio/data":        checkBase64,
	"BlobResource/blob": checkBase64,
	"Completion/values": checkCompletions,
	"Icon/src":          checkIcon,
	"Root/uri":          checkRoot,
	"Form":              checkForm,
	"Meta":              checkMetaKeys,
	"RequestMeta":       checkMetaKeys,
	"ResultMeta":        checkMetaKeys,
	"NoteMeta":          checkMetaKeys,
	"ListenMeta":        checkMetaKeys,
}

func (w *walker) look(place string, raw []byte, pointer string) {
	if w.extras {
		if check := extras[place]; check != nil {
			check(w, raw, pointer)
		}
	}
}

func checkToolName(w *walker, raw []byte, pointer string) {
	if name, ok := rawjson.String(raw); ok && !protocol.ValidToolName(name) {
		w.fault(ruleToolName, pointer, "not every client takes the name "+quote(name))
	}
}

func checkToolSchema(w *walker, raw []byte, pointer string) {
	if rawjson.IsObject(raw) && !rawjson.EqualString(rawjson.Lookup(raw, "type"), "object") {
		w.fault(ruleToolSchema, pointer, "its type is not \"object\"")
	}
}

func checkToolNames(w *walker, raw []byte, pointer string) {
	seen := map[string]int{}
	i := 0
	for e := rawjson.Array(raw); e.Next(); i++ {
		name, ok := rawjson.String(rawjson.Lookup(e.Value, "name"))
		if !ok {
			continue
		}
		if first, twice := seen[name]; twice {
			w.fault(ruleToolTwice, pointer+"/"+strconv.Itoa(i)+"/name", "tool "+strconv.Itoa(first)+" of this list is called "+quote(name)+" too")
			continue
		}
		seen[name] = i
	}
}

func checkBase64(w *walker, raw []byte, pointer string) {
	if s, ok := rawjson.String(raw); ok {
		if _, err := base64.StdEncoding.DecodeString(s); err != nil {
			w.fault(ruleBase64, pointer, "this is not base64: "+err.Error())
		}
	}
}

func checkCompletions(w *walker, raw []byte, pointer string) {
	n := 0
	for e := rawjson.Array(raw); e.Next(); {
		n++
	}
	if n > protocol.MaxCompletions {
		w.fault(ruleCompletion, pointer, "there are "+strconv.Itoa(n)+" values")
	}
}

func checkIcon(w *walker, raw []byte, pointer string) {
	src, ok := rawjson.String(raw)
	low := strings.ToLower(src)
	if ok && !strings.HasPrefix(low, "https:") && !strings.HasPrefix(low, "data:") && !strings.HasPrefix(low, "http:") {
		w.fault(ruleIcon, pointer, "a client must not fetch "+quote(src))
	}
}

func checkForm(w *walker, raw []byte, pointer string) {
	if _, err := mcp.ParseForm(raw); err != nil {
		w.fault(ruleForm, pointer, err.Error())
	}
}

func checkMetaKeys(w *walker, raw []byte, pointer string) {
	for m := rawjson.Object(raw); m.Next(); {
		key := string(m.Name)
		at := pointer + "/" + rawjson.EscapePointer(key)
		switch {
		case !protocol.ValidMetaKey(key):
			w.fault(ruleMetaKey, at, quote(key)+" does not have the form of a key")
		case protocol.ReservedMetaKey(key) && !knownMeta(key):
			w.fault(ruleMetaKey, at, quote(key)+" is reserved for the protocol, which has not given it a meaning")
		}
	}
}

// knownMeta reports whether any revision of the protocol defines the key.
func knownMeta(key string) bool {
	for _, name := range []string{"RequestMeta", "ListenMeta", "NoteMeta"} {
		if table().forms[name].elsewhere(key) {
			return true
		}
	}
	return false
}
