package redis_test

import (
	"flag"
	"testing"

	"github.com/tenon-mcp/tenon/internal/leaktest"
)

// TestMain lets tests that mostly wait for the clock of a real server run at the
// same time.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	leaktest.Main(m)
}
