package audit

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tenon-mcp/tenon/internal/safefile"
)

// A head says how far a log goes. It is kept in a file beside the log, because
// a log whose last lines were cut off still looks whole by itself.
//
// The line is on disk before the head that counts it, so after a crash the log
// may be one line longer than its head. It is never shorter.
type head struct {
	Seq    int64      `json:"seq"`  // of the last line; 0 before the first
	Hash   string     `json:"hash"` // of that line
	End    int64      `json:"end"`  // where it ends, in bytes
	Signed *signature `json:"signed,omitzero"`
}

// A signature proves the lines of a log up to one of them: each line holds the
// hash of the one before. A process without the key leaves it as it is.
type signature struct {
	Seq  int64  `json:"seq"`
	Hash string `json:"hash"`
	End  int64  `json:"end"` // where the line ends, in bytes; it is not signed, only a place to look
	Key  string `json:"key"` // names the key; see keyID
	MAC  string `json:"mac"` // HMAC-SHA-256 of seq and hash
}

// HeadFile is the file beside a log that says how far the log goes. It moves with
// the log.
func HeadFile(log string) string { return log + ".head" }

// errNoHead says that there is no head beside a log.
var errNoHead = errors.New("there is no head file")

func readHead(log string) (h head, err error) {
	data, err := os.ReadFile(HeadFile(log))
	if errors.Is(err, fs.ErrNotExist) {
		return h, errNoHead
	}
	if err != nil {
		return h, err
	}
	if err := json.Unmarshal(data, &h); err != nil || h.Seq < 0 || h.End < 0 || (h.Seq == 0) != (h.End == 0) {
		return head{}, fmt.Errorf("%s is damaged: it is not what this program writes", HeadFile(log))
	}
	return h, nil
}

// write replaces the head file whole.
func (h head) write(log string, key []byte) error {
	if key != nil && h.Seq > 0 {
		h.Signed = sign(h.Seq, h.Hash, key)
		h.Signed.End = h.End
	}
	data, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if err := safefile.WritePath(HeadFile(log), append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(HeadFile(log)), err)
	}
	return nil
}

func sign(seq int64, hash string, key []byte) *signature {
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "tenon audit head\n%d\n%s\n", seq, hash)
	return &signature{Seq: seq, Hash: hash, Key: keyID(key), MAC: hex.EncodeToString(mac.Sum(nil))}
}

// good reports whether the signature was made with this key.
func (s *signature) good(key []byte) bool {
	want := sign(s.Seq, s.Hash, key)
	return hmac.Equal([]byte(want.MAC), []byte(s.MAC))
}

// keyID names a key and does not tell it.
func keyID(key []byte) string {
	sum := sha256.Sum256(append([]byte("tenon audit key\n"), key...))
	return hex.EncodeToString(sum[:4])
}
