package cluster_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/cluster"
	"github.com/tenon-mcp/tenon/cluster/storetest"
)

func TestMemory(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Subject {
		m := cluster.NewMemory()
		return storetest.Subject{Open: func() cluster.Store { return m }, Advance: time.Sleep}
	}, synctest.Test)
}
