package modern

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// Keys seal what a server tells itself between two rounds of a call, so that
// it need not remember it: only who holds a key can read or make such a state,
// and it is good only for the same principal, method and params, and only for
// a while. A state may be used more than once within that time.
type Keys struct {
	// TTL is how long a sealed state is good.
	TTL time.Duration

	mu   sync.RWMutex
	ring []sealKey // the first seals, all of them open; empty until there is something to seal
}

type sealKey struct {
	id   [4]byte
	aead cipher.AEAD
}

const (
	maxKeys   = 8
	maxState  = 256 << 10
	minSecret = 16
)

// NewKeys makes a ring of keys from secrets, the current one first. Without
// any, a random one is made, which no other process has.
func NewKeys(ttl time.Duration, secrets ...[]byte) (*Keys, error) {
	k := &Keys{TTL: ttl}
	for i := len(secrets) - 1; i >= 0; i-- {
		if err := k.Rotate(secrets[i]); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// Rotate makes secret the one that seals from now on. The older ones still
// open, the oldest being forgotten when there are more than eight.
func (k *Keys) Rotate(secret []byte) error {
	if len(secret) < minSecret {
		return errors.New("a secret for sealing state needs at least 16 bytes")
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.rotateLocked(secret)
}

// current is the key that seals. Most servers never need one, and to make it
// takes a while, so the random one is made late.
func (k *Keys) current() (sealKey, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.ring) == 0 {
		secret := make([]byte, 32)
		rand.Read(secret)
		if err := k.rotateLocked(secret); err != nil {
			return sealKey{}, err
		}
	}
	return k.ring[0], nil
}

func (k *Keys) rotateLocked(secret []byte) error {
	key, err := hkdf.Key(sha256.New, secret, nil, "tenon request state", 36)
	if err != nil {
		return err
	}
	block, err := aes.NewCipher(key[:32])
	if err != nil {
		return err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return err
	}
	k.ring = append([]sealKey{{[4]byte(key[32:]), aead}}, k.ring...)
	if len(k.ring) > maxKeys {
		k.ring = k.ring[:maxKeys]
	}
	return nil
}

// sealed is what stands inside a state.
type sealed struct {
	Until int64                      `json:"u"`
	State []byte                     `json:"s,omitempty"` // not always a text
	Saved map[string]json.RawMessage `json:"k,omitempty"`
}

// seal returns what the client is to bring back; empty if there is nothing to
// keep.
func (k *Keys) seal(need *mcp.InputRequired, c *mcp.Call) (string, error) {
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
	key, err := k.current()
	if err != nil {
		return "", err
	}
	out := key.aead.Seal(key.id[:], nil, plain, binding(c))
	return base64.RawURLEncoding.EncodeToString(out), nil
}

// errState does not say which check failed, so that it reveals nothing.
var errState = &mcp.Error{
	Code:    mcp.CodeInvalidParams,
	Message: "params.requestState is not valid for this request: it was changed, has expired, or belongs to another call; make the call again without it",
}

func (k *Keys) open(s string, c *mcp.Call) (string, map[string]json.RawMessage, error) {
	if len(s) > 2*maxState {
		return "", nil, errState
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil || len(raw) < 4 {
		return "", nil, errState
	}
	k.mu.RLock()
	ring := k.ring
	k.mu.RUnlock()
	for _, key := range ring {
		if [4]byte(raw) != key.id {
			continue
		}
		plain, err := key.aead.Open(nil, nil, raw[4:], binding(c))
		if err != nil {
			continue
		}
		var in sealed
		if json.Unmarshal(plain, &in) != nil || time.Now().Unix() > in.Until {
			break
		}
		return string(in.State), in.Saved, nil
	}
	return "", nil, errState
}

// binding is what a state belongs to: who asks, and for what.
func binding(c *mcp.Call) []byte {
	b := rawjson.AppendString(nil, c.Method)
	b = rawjson.AppendString(b, c.Caller.Principal.Key())
	b = rawjson.AppendCanonical(b, c.Params)
	sum := sha256.Sum256(b)
	return sum[:]
}
