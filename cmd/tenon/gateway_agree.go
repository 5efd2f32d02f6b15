package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/auth/protect/clusterkeys"
)

// infoAuthorization is what a replica says about itself to the others: whether it
// requires authorization.
const (
	infoAuthorization     = "authorization"
	authorizationRequired = "required"
	authorizationNone     = "none"
)

// agreePoll is how often a replica that requires no authorization looks whether
// others do.
const agreePoll = 2 * time.Second

// errServesEverybody means that this replica requires no authorization and must
// not serve, because the others do.
var errServesEverybody = errors.New("this one would serve everybody: give it the same --auth-issuer or --auth-token, or API keys, and start it again")

// agree returns an error if this replica would serve everybody where others require
// authorization, as without the file of API keys that those have. If it is the
// other way round, it logs a warning.
func (c *gatewayCluster) agree(ctx context.Context, guarded bool, log *slog.Logger) error {
	if c == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	live, err := c.replica.Members(ctx)
	if err != nil {
		return err
	}
	for _, m := range live {
		switch says := m.Info[infoAuthorization]; {
		case m.ID == c.replica.ID():
		case says == authorizationRequired && !guarded:
			return usageError{fmt.Errorf("the replica at %s requires authorization, and %w", m.Addr, errServesEverybody)}
		case says == authorizationNone && guarded:
			log.Warn("another replica requires no authorization, and this one does", "replica", m.Addr)
		}
	}
	return nil
}

// whileAgreed returns a context that ends with errServesEverybody as its cause when
// others begin to require authorization and this replica does not, and a function
// that the caller calls at the end. An empty Redis says nothing about others: a
// replica may have started just after Redis lost its data.
func (c *gatewayCluster) whileAgreed(ctx context.Context, guarded bool, log *slog.Logger) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var wg sync.WaitGroup
	end := func() { cancel(nil); wg.Wait() }
	if c == nil || guarded {
		return ctx, end
	}
	wg.Go(func() {
		every := time.NewTicker(agreePoll)
		defer every.Stop()
		for {
			if err := c.disagreement(ctx, log); err != nil {
				cancel(err)
				return
			}
			select {
			case <-every.C:
			case <-ctx.Done():
				return
			}
		}
	})
	return ctx, end
}

// disagreement returns an error if other replicas require authorization, for a
// replica that does not; nil also if Redis does not answer.
func (c *gatewayCluster) disagreement(ctx context.Context, log *slog.Logger) error {
	if c.keyless {
		if _, err := clusterkeys.List(ctx, c.store, &clusterkeys.Options{Secret: c.secret}); err == nil {
			return fmt.Errorf("the replicas have API keys now, and %w", errServesEverybody)
		}
	}
	if err := c.agree(ctx, false, log); errors.Is(err, errServesEverybody) {
		return errors.Unwrap(err) // another start may help, unlike with a usage error
	}
	return nil
}
