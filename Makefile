# Everything that proves Tenon. "make test" is what CI runs.

GO      ?= go
COMMANDS := race-commands-a-f race-commands-g race-commands-rest
# The race detector's runtime sleeps for a second before a program ends, and the
# tests start hundreds of them.
export GORACE ?= atexit_sleep_ms=10
SUBMODS := test/peers test/login test/models test/page test/collector bench build/release

.PHONY: help test beside-peers beside-servers $(COMMANDS) race-packages lint vet servers npm browsers race stress flood gateway-isolation gateway-crossing lost-edits task-crashes models peers host login page api api-compare bench-api collector cluster cluster-demo bench bench-page bench-host bench-peers bench-check bench-cluster fuzz conformance captures build release release-check release-test stores faults soak soak-short clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  \1\t/' | expand -t 16

# The race detector and the stages with other programs wait much, most of all the
# tests of the commands, which are in three parts, so they run side by side with
# the browser.
test: lint servers npm browsers ## everything that proves us
	@$(MAKE) --no-print-directory -j5 race-packages beside-peers page beside-servers $(COMMANDS)
	@$(MAKE) --no-print-directory bench-check
	@echo "== $$(date +%T) make test: all green"

beside-peers: ## the first half of the stages of make test beside the race detector
	@$(MAKE) --no-print-directory -j1 stress flood models peers host

beside-servers: ## the second half
	@$(MAKE) --no-print-directory -j1 login api collector cluster stores faults soak-short release-test conformance FAULTS=-short

lint: vet ## vet for three systems, staticcheck, known vulnerabilities
	@echo "== $$(date +%T) staticcheck"
	@$(GO) tool staticcheck ./...
	@echo "== $$(date +%T) govulncheck"
	@out=$$($(GO) tool govulncheck ./... 2>&1); rc=$$?; \
	if [ $$rc -eq 0 ]; then echo "no known vulnerabilities"; \
	elif [ $$rc -eq 3 ]; then echo "$$out"; exit 1; \
	else echo "the vulnerability database cannot be reached from here; going on without it:"; echo "$$out" | tail -n 1; fi

vet:
	@echo "== $$(date +%T) go vet (linux, windows, darwin), gofmt"
	@bad=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$bad" ]; then echo "not formatted: $$bad"; exit 1; fi
	@$(GO) vet ./...
	@GOOS=windows $(GO) vet ./...
	@GOOS=darwin $(GO) vet ./...
	@for m in $(SUBMODS); do (cd $$m && $(GO) vet ./...) || exit 1; done

servers: ## what the tests run beside us (nginx, PostgreSQL, MariaDB, Redis, tmux, patch, zsh, fish, dbus-daemon, strace, systemd-analyze), installed where root can
	@want=""; \
	[ -x /usr/sbin/nginx ] || command -v nginx >/dev/null || want="$$want nginx-light"; \
	ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || want="$$want postgresql-15"; \
	[ -x /usr/sbin/mariadbd ] || command -v mariadbd >/dev/null || want="$$want mariadb-server-core mariadb-client-core"; \
	command -v redis-server >/dev/null || want="$$want redis-server"; \
	for tool in tmux patch zsh fish dbus-daemon strace; do command -v $$tool >/dev/null || want="$$want $$tool"; done; \
	command -v systemd-analyze >/dev/null || want="$$want systemd"; \
	if [ -z "$$want" ]; then exit 0; fi; \
	if [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then echo "missing:$$want (as root, make servers installs them)"; exit 1; fi; \
	echo "== installing$$want"; \
	export RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive; \
	apt-get install -y -q --no-install-recommends $$want >/dev/null 2>&1 || { apt-get update -q >/dev/null && apt-get install -y -q --no-install-recommends $$want >/dev/null; }

npm: ## other people's servers, into test/peers/*/node_modules
	@./test/peers/install.sh

# One after the other, before stages that need the same package begin together.
browsers: ## the browsers and npm packages of login, page, api and models
	@for stage in login page api models; do ./test/$$stage/install.sh || exit 1; done

race: race-packages $(COMMANDS) ## the tests, under the race detector

race-commands-a-f: servers npm
	@echo "== $$(date +%T) go test -race ./cmd/tenon (A to F)"
	@MUST_RUN=1 $(GO) test -race -timeout 40m -run '^Test[A-F]' ./cmd/tenon

race-commands-g: servers npm
	@echo "== $$(date +%T) go test -race ./cmd/tenon (G)"
	@MUST_RUN=1 $(GO) test -race -timeout 40m -run '^TestG' ./cmd/tenon

race-commands-rest: servers npm
	@echo "== $$(date +%T) go test -race ./cmd/tenon (the rest)"
	@MUST_RUN=1 $(GO) test -race -timeout 40m -skip '^Test[A-G]' ./cmd/tenon

race-packages: servers npm
	@[ -d ../shared/protocol/schema ] || echo "left out: what is held against the published schemas, which are not in ../shared/protocol"
	@[ -n "$$JSON_SCHEMA_TEST_SUITE" ] || echo "left out: the JSON Schema test suite (JSON_SCHEMA_TEST_SUITE does not say where it is)"
	@echo "== $$(date +%T) go test -race"
	@MUST_RUN=1 $(GO) test -race -timeout 40m $$($(GO) list ./... | grep -v -e /test/ -e cmd/tenon$$)

cluster: servers ## three gateways behind nginx with Redis: every revision, killed replicas, a failing Redis
	@echo "== $$(date +%T) cluster"
	@MUST_RUN=1 $(GO) test -count=1 -timeout 10m ./test/cluster

cluster-demo: servers build ## three gateways behind nginx with Redis, under load, one killed every 5 s, in a live table, until Ctrl-C or for DURATION
	@$(GO) run ./deploy/cluster -duration $${DURATION:-0}

faults: ## peers with faults between them: what the caller sees, and that nothing is left
	@echo "== $$(date +%T) faults"
	@$(GO) test -count=1 -timeout 20m $(FAULTS) ./test/faults

soak: ## gateways, servers and a host for LENGTH (30m) with a fault every second: nothing grows, crosses or is lost
	@echo "== $$(date +%T) soak"
	@SOAK=$${LENGTH:-30m} $(GO) test -count=1 -timeout 0 -v -run '^TestSoak$$' ./test/soak

soak-short: ## the same for 15 s, too short for trends
	@echo "== $$(date +%T) soak, short"
	@$(GO) test -count=1 -timeout 10m ./test/soak

stores: servers ## every store, with each call of the system that changes a file failing once, and killed once at each
	@echo "== $$(date +%T) stores"
	@MUST_RUN=1 $(GO) test -count=1 -timeout 15m ./test/stores

api: npm ## the packs against mocks of their APIs, with faults between them
	@echo "== $$(date +%T) wrapped APIs (the mocks go to test/api/node/node_modules, Node is that of make peers)"
	@./test/api/install.sh
	@MUST_RUN=1 $(GO) test -count=1 -timeout 10m ./test/api

api-compare: npm ## tenon api draft beside other programs that make servers of OpenAPI descriptions
	@./test/api/install.sh compare
	@TENON_API_COMPARE=1 $(GO) test -count=1 -timeout 10m -run '^TestCompare$$' -v ./test/api | grep '^|'

bench-api: ## a call of a wrapped API beside a tool written by hand for the same request: the ratio, at most 3
	@$(GO) test -run '^$$' -bench '^BenchmarkWrappedCall$$' -benchtime 3s -count 3 ./builtin/api

collector: ## the OpenTelemetry collector's receiver reads what the gateway exports
	@echo "== $$(date +%T) collector"
	@cd test/collector && $(GO) test ./...

stress: ## clients that come, go and resume while changes flow, for STRESS (60s), under the race detector
	@echo "== $$(date +%T) stress"
	@STRESS=$${STRESS:-60s} $(GO) test -race -count=1 -timeout 10m ./test/stress

flood: ## the largest tests, at full size without the race detector
	@echo "== $$(date +%T) floods"
	@$(GO) test -timeout 20m -run '^(TestSessionFlood|TestHostileSameIDs|TestF14KilledAtAnyMoment|TestZeroBytesFarAway|TestFilterOfManyNames|TestTokensOfManyUsersAreHidden|TestMayMatchMissesNothing|TestNoCrossedIdentity)$$' ./transport/streamable ./builtin/fs ./internal/redact ./auth/protect

gateway-isolation: ## p99 of calls through the gateway, alone and beside each kind of bad server, with the ratio
	@$(GO) test -run '^$$' -bench GatewayIsolation -benchtime 1x ./cmd/tenon | grep '^Bench'

gateway-crossing: ## two users with the same ids at the gateway, CALLS (100,000) calls: nothing reaches the other one
	@TENON_CALLS=$${CALLS:-100000} $(GO) test -count=1 -timeout 30m -run '^TestUsersDoNotCross$$' ./app/gateway

lost-edits: ## two and four processes on one folder, 10,000 changes of each kind: none is lost
	@echo "== $$(date +%T) lost edits"
	@WRITERS_CHANGES=10000 $(GO) test -timeout 60m -v -run '^TestProcesses' ./builtin/fs ./builtin/notes | grep -v '^=== '

task-crashes: ## servers with tasks in SQLite and in Redis, killed KILLS (500) times each at random: no acknowledged task is lost (about 8 min)
	@echo "== $$(date +%T) killed servers"
	@TENON_TASK_CRASHES=$${KILLS:-500} $(GO) test -count=1 -timeout 60m -v -run '^(TestKilledServersLoseNothing|TestStoppedProcessGoesOn)$$' ./app/store/taskstore ./cluster/redis/redistasks | grep -v '^=== '

models: ## the model wires beside the official SDKs for Go and JavaScript
	@./test/models/install.sh
	@echo "== $$(date +%T) model wires"
	@cd test/models && MUST_RUN=1 $(GO) test -timeout 5m ./...

peers: npm ## other implementations over stdio and HTTP, in both directions
	@echo "== $$(date +%T) real peers (their packages go to test/peers/*/node_modules)"
	@cd test/peers && MUST_RUN=1 $(GO) test -count=1 -timeout 40m ./...

host: npm ## the host end to end, with scripted models and real servers
	@echo "== $$(date +%T) host (the npm servers are those of make peers)"
	@MUST_RUN=1 $(GO) test -timeout 20m ./test/host

login: ## a login with a real authorization server in a real browser
	@echo "== $$(date +%T) login (the authorization server goes to test/login/node/node_modules, the browser is Debian's chromium)"
	@./test/login/install.sh
	@cd test/login && MUST_RUN=1 $(GO) test -count=1 -timeout 40m ./...

page: ## the page in a real browser
	@echo "== $$(date +%T) the page (npm packages go to test/page/{node,views}/node_modules, the browsers are Debian's chromium and firefox-esr)"
	@./test/page/install.sh
	@cd test/page && MUST_RUN=1 $(GO) test -count=1 -timeout 40m ./...

bench-host: ## the chat: a keystroke in a long answer and session, the first token on the screen, the memory of 1,000 turns
	@$(GO) test -run '^$$' -bench 'Keystroke' -benchtime 100x ./app/term | grep '^Bench'
	@$(GO) test -run '^$$' -bench 'FirstToken' -benchtime 60x ./app/term | grep '^Bench'
	@$(GO) test -run 'LongSessionsStaySmall' -v ./app/term | grep ' turns: '

bench-page: ## how quick the page is in a real browser: long tasks, floods, first paint
	@./test/page/install.sh
	@cd test/page && MUST_RUN=1 $(GO) test -count=1 -timeout 40m -bars -run '^(TestFlood|TestCrowd|TestFirstPaint|TestEndlessView|TestFloodsOfViews|TestAttacksOfViews)$$'

bench: ## what a call costs, beside the official SDK and mcp-go in one run
	@$(GO) test -run '^$$' -bench . -benchmem ./jsonrpc ./schema ./server ./era
	@mkdir -p bin && cd bench && $(GO) test -c -o ../bin/bench.test . && $(GO) build -o ../bin/ratios ./ratios
	@for round in 1 2 3 4 5; do ./bin/bench.test -test.run '^$$' -test.bench . -test.benchmem -test.benchtime 0.5s; done | ./bin/ratios
	@cd bench && $(GO) run ./httpcpu && $(GO) run ./httpmem
	@echo "== $$(date +%T) notes: 8,000 of them" && cd bench && $(GO) run ./notes
	@echo "== $$(date +%T) the host" && cd bench && $(GO) run ./host
	@echo "== $$(date +%T) the page" && cd bench && $(GO) run ./page
	@echo "== $$(date +%T) start of the binary beside an empty program" && cd bench && $(GO) run ./start

bench-peers: ## Tenon beside other SDKs and floors; writes docs/benchmarks.md (about 35 min; PEERS=-quick for a look)
	@./bench/peers/install.sh
	@cd bench && $(GO) run ./peers $(PEERS)

bench-check: ## what operations allocate, against what was recorded
	@echo "== $$(date +%T) allocations"
	@cd bench && $(GO) run ./check

bench-cluster: servers build ## gateways with Redis beside one without, forwarded calls, and LENGTH (10m) with a replica killed every 5 s
	@$(GO) run ./deploy/cluster -bench -duration $${LENGTH:-10m}

fuzz: ## every fuzz target for FUZZTIME (20s); FUZZ='-record docs/reliability.md' counts the executions
	@$(GO) run ./build/fuzz -time $${FUZZTIME:-20s} $(FUZZ)

conformance: ## the official conformance suite against one process at one endpoint
	@echo "== $$(date +%T) official conformance suite (it goes to .cache/conformance)"
	@./internal/conformance/run.sh

captures: ## the terminal captures in docs/cli.md, docs/host.md and docs/models.md, from the real commands
	@./docs/captures.sh
	@$(GO) test ./cmd/tenon -run 'Test(Chat|Models)InATerminal|TestReadmePicture' -captures -count=1

build: ## bin/tenon with its version stamped in
	@mkdir -p bin
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w -X github.com/tenon-mcp/tenon/internal/version.stamped=$$(git describe --tags --always --dirty)" -o bin/tenon ./cmd/tenon

release: ## everything of a release, for six platforms, into dist; built twice and compared
	@cd build/release && $(GO) run . -out ../../dist $(RELEASE)

release-test: ## a release for this platform, built twice: the same bytes, a valid SBOM, bundles that work
	@echo "== $$(date +%T) release"
	@cd build/release && $(GO) test -count=1 -timeout 20m ./...

release-check: ## install and remove dist's .deb in a clean Debian, look into its .rpm, and let others judge SBOM and bundles (as root, with the network)
	@./build/release/check.sh dist

clean:
	rm -rf bin dist .cache
