package gateway

import (
	"bytes"
	"compress/flate"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/cluster"
)

const (
	pinIndex   = "pins"               // key of the list of parts
	pinPart    = "pins part "         // begins the keys of parts, before their digest
	pinPartLen = 256 << 10            // bytes of a part
	pinTTL     = 400 * 24 * time.Hour // since a gateway ran last
	pinRenew   = 24 * time.Hour       // interval for extending the time to live of parts
)

// clusterPins is a pinStore in a cluster's store. The document is compressed and
// cut into parts whose keys are their digests, so parts never change; a small
// index lists them, and is replaced only if its version is the one that was read.
type clusterPins struct {
	store cluster.Store

	mu      sync.Mutex
	version int64     // of the index that was read
	renewed time.Time // when the parts were renewed last
}

func (c *clusterPins) String() string { return "in the cluster" }

// background is the context of all operations: the store has deadlines of its
// own.
var background = context.Background()

// changed looks at the index. While the store is unavailable, nothing changes.
func (c *clusterPins) changed(existed bool) bool {
	index, version, err := c.store.Get(background, pinIndex, pinTTL)
	if err != nil {
		return false
	}
	c.mu.Lock()
	due := version != 0 && time.Since(c.renewed) > pinRenew
	if due {
		c.renewed = time.Now()
	}
	read := c.version
	c.mu.Unlock()
	if due {
		c.renew(string(index))
	}
	return version != read || version == 0 && existed
}

// renew extends the time to live of parts.
func (c *clusterPins) renew(index string) {
	for part := range strings.FieldsSeq(index) {
		if _, _, err := c.store.Get(background, pinPart+part, pinTTL); err != nil {
			return
		}
	}
}

func (c *clusterPins) read() ([]byte, error) {
	data, version, err := c.load()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version = version
	return data, nil
}

// load returns the document and the version of its index, nil and 0 if there is
// none.
func (c *clusterPins) load() ([]byte, int64, error) {
	index, version, err := c.store.Get(background, pinIndex, pinTTL)
	if err != nil || version == 0 {
		return nil, 0, err
	}
	var packed bytes.Buffer
	for digest := range strings.FieldsSeq(string(index)) {
		part, found, err := c.store.Get(background, pinPart+digest, pinTTL)
		if err != nil {
			return nil, 0, err
		}
		if found == 0 || partDigest(part) != digest {
			return nil, 0, errors.New("a part of the pins is missing")
		}
		packed.Write(part)
	}
	data, err := io.ReadAll(io.LimitReader(flate.NewReader(&packed), maxPinFile+1))
	if err == nil && len(data) > maxPinFile {
		err = fmt.Errorf("larger than %d MiB", maxPinFile>>20)
	}
	return data, version, err
}

func (c *clusterPins) update(change func([]byte) ([]byte, error)) error {
	for {
		old, version, err := c.load()
		if err != nil {
			return err
		}
		data, err := change(old)
		if err != nil {
			return err
		}
		index, err := c.writeParts(data)
		if err != nil {
			return err
		}
		_, err = c.store.Set(background, pinIndex, []byte(index), version, pinTTL)
		if !errors.Is(err, cluster.ErrConflict) {
			return err
		}
	}
}

// writeParts stores the parts of a document and returns its index. Parts of
// earlier documents expire.
func (c *clusterPins) writeParts(data []byte) (index string, err error) {
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.BestSpeed)
	if err != nil {
		return "", err
	}
	if _, err := w.Write(data); err != nil {
		return "", err
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	var parts []string
	for part := range slices.Chunk(packed.Bytes(), pinPartLen) {
		digest := partDigest(part)
		if _, err := c.store.Set(background, pinPart+digest, part, cluster.AnyVersion, pinTTL); err != nil {
			return "", err
		}
		parts = append(parts, digest)
	}
	return strings.Join(parts, " "), nil
}

func partDigest(part []byte) string {
	sum := sha256.Sum256(part)
	return hex.EncodeToString(sum[:])
}
