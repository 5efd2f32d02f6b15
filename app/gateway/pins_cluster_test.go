package gateway

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/cluster"
	"github.com/tenon-mcp/tenon/cluster/storetest"
)

// sharedPins opens pins in a cluster, as a replica does.
func sharedPins(t *testing.T, store cluster.Store, o PinOptions) *Pins {
	t.Helper()
	o.Cluster, o.Log = store, quiet
	p, err := OpenPins(&o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func all(Pin) bool { return true }

// pinTurn is longer than it takes until a change counts for another replica.
const pinTurn = 3 * pinPoll

// What one replica sees or approves counts for the other.
func TestReplicasSharePins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := cluster.NewMemory()
		one, two := sharedPins(t, store, PinOptions{}), sharedPins(t, store, PinOptions{})
		if seeTool(one, "add", "Adds.") {
			t.Error("a new definition is held back")
		}
		time.Sleep(pinTurn)
		if !seeTool(two, "add", "Adds, and reads your mail.") {
			t.Error("a definition that another replica has seen otherwise is not held back")
		}
		time.Sleep(pinTurn)
		if list := one.List(); len(list) != 1 || list[0].Held == nil {
			t.Errorf("one replica has the pins %v", list)
		}
		if changed, err := one.Approve(all); len(changed) != 1 || err != nil {
			t.Errorf("approve: %v, %v", changed, err)
		}
		time.Sleep(pinTurn)
		if seeTool(two, "add", "Adds, and reads your mail.") {
			t.Error("an approval at another replica does not count")
		}
		later := sharedPins(t, store, PinOptions{})
		if !seeTool(later, "add", "Adds.") {
			t.Error("a replica that starts later does not have the pins")
		}
	})
}

// Replicas that see many definitions at once lose none, whatever their size.
func TestReplicasLoseNoPins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := cluster.NewMemory()
		var wg sync.WaitGroup
		const each = 10
		for replica := range 4 {
			p := sharedPins(t, store, PinOptions{})
			wg.Go(func() {
				random := rand.New(rand.NewPCG(1, uint64(replica)))
				for i := range each {
					text := new(strings.Builder) // that cannot be compressed much
					for range 1500 {
						fmt.Fprintf(text, "%x", random.Uint64())
					}
					seeTool(p, fmt.Sprintf("r%d-%d", replica, i), text.String())
					time.Sleep(time.Duration(random.IntN(100)) * time.Millisecond)
				}
			})
		}
		wg.Wait()
		time.Sleep(10 * time.Second)
		if list := sharedPins(t, store, PinOptions{}).List(); len(list) != 4*each {
			t.Errorf("%d pins, want %d", len(list), 4*each)
		}
	})
}

// While the store is away the last pins count. If it has lost its data, a replica
// that runs writes them again.
func TestPinsWhileTheStoreIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := cluster.NewMemory()
		store := &storetest.Switch{Store: memory}
		p := sharedPins(t, store, PinOptions{})
		seeTool(p, "add", "Adds.")
		time.Sleep(pinTurn)
		store.Turn(false)
		time.Sleep(pinTurn)
		if !seeTool(p, "add", "Adds more.") || seeTool(p, "sub", "Subtracts.") {
			t.Error("the last pins do not count")
		}
		if _, err := p.Approve(all); err == nil {
			t.Error("an approval that cannot be stored is no error")
		}
		if _, err := OpenPins(&PinOptions{Cluster: store, Log: quiet}); err == nil {
			t.Error("pins that cannot be read are no error")
		}
		if err := memory.Delete(t.Context(), pinIndex); err != nil {
			t.Fatal(err)
		}
		store.Turn(true)
		time.Sleep(2 * pinRetry)
		if list := sharedPins(t, store, PinOptions{}).List(); len(list) != 2 || list[0].Held == nil {
			t.Errorf("the pins %v, want those of the replica that runs", list)
		}
	})
}

// Pins outlive any pause between two approvals, since a running gateway extends
// their time to live.
func TestPinsDoNotExpireWhileTheyAreUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := cluster.NewMemory()
		c := &clusterPins{store: store}
		if err := c.update(func([]byte) ([]byte, error) { return []byte("document"), nil }); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			time.Sleep(pinTTL - time.Hour)
			c.changed(true)
		}
		if data, err := c.read(); string(data) != "document" || err != nil {
			t.Errorf("%q, %v", data, err)
		}
	})
}
