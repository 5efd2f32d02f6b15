package modern

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/internal/sealring"
	"github.com/tenon-mcp/tenon/mcp"
)

// Keys seal the state of a call between two rounds, so that the server keeps
// none: only who has a key can read or make such a state. It is valid for the
// same principal, method and params, for a while, and may be used more than once
// within that time.
type Keys struct {
	// TTL is how long a sealed state is valid.
	TTL time.Duration

	ring *sealring.Ring
}

const maxState = 256 << 10

// NewKeys returns keys made from secrets, the current one first. Without secrets
// it makes a random one, which no other process has.
func NewKeys(ttl time.Duration, secrets ...[]byte) (*Keys, error) {
	k := &Keys{TTL: ttl, ring: sealring.New("tenon request state")}
	for i := len(secrets) - 1; i >= 0; i-- {
		if err := k.Rotate(secrets[i]); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// Rotate makes secret the one that seals from now on. The older ones still
// open; beyond eight, the oldest is dropped.
func (k *Keys) Rotate(secret []byte) error { return k.ring.Rotate(secret) }

// Replace replaces all secrets, the current one first.
func (k *Keys) Replace(secrets ...[]byte) error { return k.ring.Replace(secrets...) }

// sealed is what stands inside a state.
type sealed struct {
	Until int64                      `json:"u"`
	State []byte                     `json:"s,omitempty"` // not always a text
	Saved map[string]json.RawMessage `json:"k,omitempty"`
}

// seal returns the requestState for the next round; empty if there is nothing to
// keep. If the process holds something for the next round, the state begins with
// the name of the replica, if that has one: only there can the call continue.
func (k *Keys) seal(need *mcp.InputRequired, c *mcp.Call, replica string) (string, error) {
	if need.State == "" && len(need.PriorResponses) == 0 && len(need.Requests) > 0 {
		return "", nil
	}
	plain, err := json.Marshal(sealed{time.Now().Add(k.TTL).Unix(), []byte(need.State), need.PriorResponses})
	if err != nil {
		return "", err
	}
	if len(plain) > maxState {
		if len(need.State) <= maxState/2 {
			return "", mcp.InvalidParams("the answers to this call have %d bytes: at most %d can be carried to the next round", len(plain), maxState)
		}
		return "", mcp.Errorf(mcp.CodeInternal, "the state of this call has %d bytes: at most %d can be carried to the next round", len(plain), maxState)
	}
	if need.Abandon == nil {
		replica = ""
	}
	out, err := k.ring.Seal(plain, binding(c, replica))
	if err != nil {
		return "", err
	}
	state := base64.RawURLEncoding.EncodeToString(out)
	if replica != "" {
		state = replica + ownerMark + state
	}
	return state, nil
}

// ownerMark follows the name of a replica in a requestState. It is not part of
// base64.
const ownerMark = "."

// StateOwner returns the name of the replica at which the requestState in the
// params of a request can continue; "" means any. The name is not verified: only
// that replica can open the state.
func StateOwner(params json.RawMessage) string {
	state, _ := rawjson.String(rawjson.Lookup(params, "requestState"))
	owner, _, ok := strings.Cut(state, ownerMark)
	if !ok || len(owner) > maxOwner {
		return ""
	}
	return owner
}

const maxOwner = 64

// errState does not say which check failed, so that it reveals nothing.
var errState = &mcp.Error{
	Code:    mcp.CodeInvalidParams,
	Message: "params.requestState is not valid for this request: it was changed, has expired, or belongs to another call; make the call again without it",
}

func (k *Keys) open(s string, c *mcp.Call) (string, map[string]json.RawMessage, error) {
	if len(s) > 2*maxState {
		return "", nil, errState
	}
	replica, text, ok := strings.Cut(s, ownerMark)
	if !ok {
		replica, text = "", s
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return "", nil, errState
	}
	plain, ok := k.ring.Open(raw, binding(c, replica))
	if !ok {
		return "", nil, errState
	}
	var in sealed
	if json.Unmarshal(plain, &in) != nil || time.Now().Unix() > in.Until {
		return "", nil, errState
	}
	return string(in.State), in.Saved, nil
}

// binding returns what a state belongs to: the principal, the call, and the
// replica, if only one can continue it.
func binding(c *mcp.Call, replica string) []byte {
	b := rawjson.AppendString(nil, c.Method)
	b = rawjson.AppendString(b, c.Caller.Principal.Key())
	b = rawjson.AppendCanonical(b, c.Params)
	if replica != "" {
		b = rawjson.AppendString(b, replica)
	}
	sum := sha256.Sum256(b)
	return sum[:]
}
