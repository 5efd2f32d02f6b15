package api

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"

	"github.com/tenon-mcp/tenon/builtin/api/expr"
	"github.com/tenon-mcp/tenon/mcp"
)

// A cursor names the place of the next item to the model. It is signed together
// with the tool and its arguments, so that a model cannot send requests with it
// that the tool does not send. The key comes from the secrets of the file, so that
// cursors stay valid after a restart and in other processes. It is computed slowly, so
// that a cursor does not help to guess a password, and only when there is a cursor.

var errCursor = errors.New("the cursor does not belong to these arguments, or is not valid any more: call again without it")

const macSize = 16

// keyRounds makes a guess of a password cost about 0.2 s.
const keyRounds = 600_000

// slowKey derives the key of cursors from secrets.
func slowKey(secrets string) []byte {
	key, err := pbkdf2.Key(sha256.New, secrets, []byte("tenon api cursor"), keyRounds, sha256.Size)
	if err != nil { // only with other sizes
		return []byte(rand.Text())
	}
	return key
}

func (v *service) sealCursor(tool string, args map[string]any, at *place) (string, error) {
	raw, err := json.Marshal(at)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(append(v.cursorMAC(tool, args, raw), raw...)), nil
}

func (v *service) openCursor(tool string, args map[string]any, cursor string) (place, error) {
	var at place
	data, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(data) < macSize || !hmac.Equal(data[:macSize], v.cursorMAC(tool, args, data[macSize:])) {
		return at, errCursor
	}
	if mcp.Unmarshal(data[macSize:], &at) != nil {
		return at, errCursor
	}
	return at, nil
}

func (v *service) cursorMAC(tool string, args map[string]any, raw []byte) []byte {
	same := maps.Clone(args)
	delete(same, "cursor")
	delete(same, "limit")
	encoded, err := expr.Encode(same)
	if err != nil {
		encoded = nil
	}
	mac := hmac.New(sha256.New, v.cursorKey())
	for _, part := range [][]byte{[]byte(tool), encoded, raw} {
		mac.Write(part)
		mac.Write([]byte{0})
	}
	return mac.Sum(nil)[:macSize]
}
