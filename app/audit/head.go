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

// A head has the length of a log. It is in a file beside the log, because a log
// without its last lines is still valid by itself.
//
// Lines are on disk before their head, so after a crash the log may be longer than
// its head by what was written at once, but never shorter.
type head struct {
	Seq    int64      `json:"seq"`            // of the last line; 0 before the first
	Hash   string     `json:"hash"`           // of that line
	End    int64      `json:"end"`            // the end of that line, in bytes
	Ahead  int64      `json:"ahead,omitzero"` // the most lines that were written at once, if more than one
	Signed *signature `json:"signed,omitzero"`
}

// ahead returns how many lines the log may have after a crash that its head does
// not count.
func (h head) ahead() int64 { return max(h.Ahead, 1) }

// A signature proves the lines of a log up to one of them, since each line has
// the hash of the previous one. A process without the key keeps it.
type signature struct {
	Seq  int64  `json:"seq"`
	Hash string `json:"hash"`
	End  int64  `json:"end"` // the end of that line, in bytes; not signed
	Key  string `json:"key"` // see keyID
	MAC  string `json:"mac"` // HMAC-SHA-256 of seq and hash
}

// HeadFile returns the head file of a log. It moves with the log.
func HeadFile(log string) string { return log + ".head" }

// errNoHead reports that a log has no head file.
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

// write replaces the head file.
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

// keyID returns a public name for a key.
func keyID(key []byte) string {
	sum := sha256.Sum256(append([]byte("tenon audit key\n"), key...))
	return hex.EncodeToString(sum[:4])
}
