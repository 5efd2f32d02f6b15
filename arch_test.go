package tenon_test

import (
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/tenon-mcp/tenon/"

// An importRule says what a package may import besides the standard library and
// the helpers that every package may import (internal/rawjson,
// internal/textclip), and why no more.
type importRule struct {
	on     []string // packages of this module; a trailing /* means all below
	extern []string // other modules
	why    string
}

const (
	jsonv2    = "github.com/go-json-experiment/json"
	validator = "github.com/santhosh-tekuri/jsonschema/v6"
	jose      = "github.com/go-jose/go-jose/v4"
	keyring   = "github.com/zalando/go-keyring"
	yaml      = "github.com/goccy/go-yaml"
)

// importRules lists the rules bottom-up. Every package needs one.
var importRules = map[string]importRule{
	"internal/rawjson":     {why: "it parses bytes; every other package may use it"},
	"internal/textclip":    {why: "every package shortens text in the same way"},
	"internal/toolname":    {why: "a name is text; the host and the gateway must agree on it"},
	"internal/rulematch":   {why: "a pattern is text; a rule means the same to the host and the gateway"},
	"internal/uritemplate": {why: "a URI template is an RFC of its own and knows no protocol"},

	"internal/credheader":  {why: "what verifies credentials and what forwards requests must not know each other"},
	"internal/gcfloor":     {why: "it tunes the garbage collector of a process, whatever that does"},
	"internal/tcpalive":    {why: "it knows TCP and nothing that is sent over it"},
	"internal/softclose":   {on: []string{"internal/tcpalive"}, extern: []string{"golang.org/x/sys"}, why: "it knows TCP and nothing that is sent over it"},
	"internal/stack":       {why: "a goroutine is a goroutine, whatever it serves"},
	"internal/notifyqueue": {why: "what waits for a slow receiver is the same for messages, eras and transports, and knows none of them"},

	"internal/sealring": {why: "a sealed record is sealed alike, whatever it holds: states of calls and ids of sessions"},

	"sse":     {why: "a stream of events is a format of its own and knows no message"},
	"jsonrpc": {on: []string{"internal/notifyqueue", "internal/stack"}, why: "messages know no content: JSON-RPC would be the same without MCP"},
	"mcp":     {extern: []string{jsonv2}, why: "the vocabulary has no goroutine and no I/O, and is the same in every revision and over every transport"},

	"internal/protocol": {on: []string{"mcp"}, why: "rules of the protocol that several packages need and users of package mcp do not"},

	"schema/internal/*": {on: []string{"schema/internal/*"}, why: "words, formats and keywords of JSON Schema, and the validator that package schema shows to the world"},
	"schema":            {on: []string{"schema/internal/*", "internal/typo"}, extern: []string{jsonv2}, why: "JSON Schema is useful without MCP"},

	"auth/tokens":              {on: []string{"internal/safefile"}, why: "a place for secrets knows neither what they are nor where they come from"},
	"auth/tokens/sealed":       {on: []string{"auth/tokens", "cluster", "internal/safefile"}, why: "a place for secrets knows neither what they are nor where they come from"},
	"auth/tokens/keyring":      {on: []string{"auth/tokens"}, extern: []string{keyring}, why: "only who asks for the keyring carries the libraries that talk to it"},
	"auth/fetch":               {extern: []string{jsonv2}, why: "every fetch from an address that a peer chose uses it"},
	"auth/protect":             {on: []string{"auth/fetch", "internal/credheader", "mcp"}, extern: []string{jsonv2, jose}, why: "it wraps any http.Handler; of mcp it needs the type Principal alone, because that is what transports pass on"},
	"auth/protect/clusterkeys": {on: []string{"auth/protect", "cluster"}, why: "who protects one process with API keys links no cluster"},
	"auth/login":               {on: []string{"auth/fetch", "auth/tokens", "internal/loginpage", "internal/timeoutpause"}, extern: []string{jsonv2, jose}, why: "a login is useful to any HTTP client; of MCP it knows the metadata documents and no type"},

	"internal/eraconn/internal/clientcall": {on: []string{"internal/notifyqueue", "internal/protocol", "mcp", "jsonrpc"}, why: "what the codecs of both eras share; it imports neither"},
	"internal/eraconn/internal/modern":     {on: []string{"internal/notifyqueue", "internal/sealring", "internal/protocol", "mcp", "jsonrpc", "internal/eraconn/internal/clientcall"}, why: "the codecs never import each other, so that one can be removed"},
	"internal/eraconn/internal/legacy":     {on: []string{"internal/protocol", "mcp", "jsonrpc", "internal/eraconn/internal/clientcall"}, why: "the codecs never import each other, so that one can be removed"},
	"internal/eraconn":                     {on: []string{"mcp", "jsonrpc", "internal/eraconn/internal/*", "internal/timeoutpause"}, why: "only this package distinguishes eras"},
	"era":                                  {on: []string{"mcp", "jsonrpc", "internal/eraconn"}, why: "it exports what other modules need of internal/eraconn"},

	"server": {on: []string{"internal/notifyqueue", "internal/protocol", "mcp", "schema"}, why: "features know Handlers, not messages, eras or transports"},
	"client": {on: []string{"internal/notifyqueue", "internal/protocol", "mcp", "schema", "internal/timeoutpause"}, why: "a client knows Handlers, so a server in memory and one far away are the same to it"},

	"ext/tasks":           {on: []string{"mcp", "server", "client"}, why: "an extension uses what any user could use: Handlers, features and clients, no message, era or transport"},
	"ext/skills":          {on: []string{"mcp", "server", "client"}, extern: []string{yaml}, why: "an extension uses what any user could use; only who serves or loads skills carries the YAML parser"},
	"ext/apps":            {on: []string{"mcp", "server", "client"}, why: "an extension uses what any user could use; how a host shows a view is the host's affair"},
	"ext/tasks/storetest": {on: []string{"mcp", "server", "ext/tasks"}, why: "test support for stores of tasks, also those of others"},

	"ext/servercard": {on: []string{"mcp"}, why: "a card is a document: anybody may read or publish one, with any transport"},

	"cluster":                    {on: []string{"cluster/internal/mailbox", "internal/credheader"}, why: "what replicas share is an interface: a program that has one process links no database"},
	"cluster/internal/mailbox":   {why: "it delivers bytes to one receiver and does not know who publishes them"},
	"cluster/redis":              {on: []string{"cluster", "cluster/internal/mailbox", "cluster/redis/internal/raw"}, extern: []string{"github.com/redis/rueidis"}, why: "the only package that links Redis"},
	"cluster/redis/internal/raw": {extern: []string{"github.com/redis/rueidis"}, why: "the connection of a store for the packages beside it"},
	"cluster/redis/redistasks":   {on: []string{"mcp", "ext/tasks", "cluster", "cluster/redis", "cluster/redis/internal/raw"}, extern: []string{"github.com/redis/rueidis"}, why: "tasks on Redis: a server with sessions on Redis need not have tasks, and one with tasks need not link Redis"},
	"cluster/storetest":          {on: []string{"cluster"}, why: "test support for stores of a cluster, also those of others"},

	"transport/internal/httpguard":  {on: []string{"mcp"}, why: "requests are checked before a message is decoded"},
	"transport/httpsse":             {on: []string{"mcp", "jsonrpc", "era", "internal/eraconn", "sse", "transport/internal/*"}, why: "deprecated: only cmd/tenon and app/connect import it, so that it can be removed"},
	"transport/internal/httpheader": {on: []string{"mcp"}, why: "the HTTP transports use the same header names and compare origins in the same way"},
	"transport/streamable":          {on: []string{"cluster", "internal/notifyqueue", "internal/tcpalive", "internal/sealring", "internal/stack", "internal/protocol", "mcp", "jsonrpc", "era", "internal/eraconn", "sse", "transport/internal/*"}, why: "a transport never sees features, and the server never imports the client"},
	"transport/streamclient":        {on: []string{"internal/protocol", "internal/tcpalive", "mcp", "jsonrpc", "era", "internal/eraconn", "sse", "schema", "transport/internal/httpheader"}, why: "a transport never sees features; x-mcp-header is a rule of HTTP inside a tool's inputSchema, so the client needs package schema"},
	"transport/stdio":               {on: []string{"mcp", "jsonrpc", "era", "internal/eraconn", "internal/restart"}, why: "a transport never sees features"},
	"transport/socket":              {on: []string{"internal/tcpalive", "jsonrpc"}, why: "it provides streams and does not know what they carry"},

	"mcptest": {on: []string{"mcp", "jsonrpc", "era"}, why: "it tests any Handler, not only ours"},

	"internal/conformance/*": {on: []string{"*"}, why: "programs for the official conformance suite, in nobody's binary"},

	"internal/loginpage":    {why: "the pages of a login look the same wherever they are served, and know no login"},
	"internal/restart":      {why: "restarting is the same for processes and connections, and knows neither"},
	"internal/linediff":     {why: "comparing lines is the same for a server that edits files and a host that shows what an edit would do"},
	"internal/visible":      {why: "what a person is shown knows neither where it comes from nor where it is shown"},
	"internal/definition":   {on: []string{"internal/visible"}, why: "the host and the gateway compare definitions and find suspicious ones in the same way; it knows JSON and no type of the protocol"},
	"internal/timeoutpause": {why: "the code that asks a user and the code that has a timeout must not know each other"},
	"internal/edittest":     {extern: []string{"golang.org/x/sys"}, why: "test support: processes that change the same files"},
	"internal/racetest":     {why: "test support that every package may use"},
	"internal/logtest":      {why: "test support that every package may use"},
	"internal/settings":     {why: "the settings of builtin servers are read alike"},
	"internal/leaktest":     {why: "test support that every package may use"},
	"internal/needtest":     {why: "test support that every package may use"},
	"internal/ptytest":      {on: []string{"internal/needtest"}, extern: []string{"golang.org/x/sys"}, why: "test support that every package may use"},
	"internal/linktest":     {why: "test support: a network with faults; it knows no other package"},
	"internal/freeport":     {why: "it finds an address, whoever listens there: tests, demonstrations, benchmarks"},
	"internal/redistest":    {on: []string{"internal/freeport", "internal/needtest"}, why: "test support: real Redis servers"},
	"internal/spectest":     {on: []string{"internal/protocol", "mcp", "internal/uritemplate"}, extern: []string{validator, "golang.org/x/text"}, why: "test support: the published schemas judge what leaves"},
	"internal/tasktest":     {on: []string{"mcp", "server", "ext/tasks", "transport/streamable"}, why: "test support: processes with tasks that are killed"},
	"internal/talktest":     {on: []string{"mcp"}, why: "test support: conversations written as text"},
	"internal/redact":       {why: "what is secret is the same wherever it is written or shown"},
	"internal/outcome":      {on: []string{"mcp"}, why: "how a call ended is said in the same words everywhere"},
	"internal/version":      {why: "one string"},
	"internal/typo":         {why: "counting mistakes between words knows no language"},
	"internal/bm25":         {on: []string{"internal/typo"}, extern: []string{"golang.org/x/text"}, why: "finding documents by words is useful to servers and hosts alike, and knows neither"},
	"internal/toolsearch":   {on: []string{"internal/bm25"}, why: "the host and the gateway find the same tools; it knows a tool as texts"},
	"internal/safefile":     {extern: []string{"golang.org/x/sys"}, why: "a file is written whole or not at all, whatever is in it"},

	"internal/typeahead": {extern: []string{"golang.org/x/sys"}, why: "it discards input typed before a question and does not know the question"},

	"app/config":    {on: []string{"internal/redact", "internal/rulematch", "internal/safefile", "internal/toolname", "internal/typo", "internal/visible"}, extern: []string{yaml, "github.com/BurntSushi/toml"}, why: "a list of servers is read and approved before anything is opened, so it knows no protocol"},
	"app/discovery": {on: []string{"mcp", "ext/servercard", "auth/fetch", "app/config", "internal/visible"}, extern: []string{"golang.org/x/text"}, why: "it turns files that others wrote into entries of the configuration, and starts and connects to nothing"},
	"app/speccheck": {on: []string{"internal/protocol", "mcp", "jsonrpc", "internal/eraconn", "internal/visible"}, why: "it checks messages of any connection, so it knows messages and eras, and neither features nor transports"},
	"app/wirelog":   {on: []string{"internal/protocol", "mcp", "jsonrpc", "app/speccheck", "internal/redact", "internal/visible"}, why: "it logs the messages of any connection, so it knows neither features nor transports"},
	"app/recording": {on: []string{"mcp", "jsonrpc", "app/speccheck", "app/wirelog", "internal/redact", "internal/visible"}, why: "it writes and replays frames, so it knows neither features nor transports"},

	"app/show":               {on: []string{"mcp", "ext/skills", "internal/visible"}, extern: []string{jsonv2}, why: "it turns values of the protocol into text and reaches no server"},
	"app/args":               {on: []string{"mcp"}, why: "it turns words into arguments by a schema, wherever they come from"},
	"app/form":               {on: []string{"mcp", "internal/typeahead", "internal/visible"}, extern: []string{"golang.org/x/term"}, why: "a form on lines of text knows neither who asks nor where the lines are"},
	"app/doctor":             {on: []string{"internal/protocol", "mcp", "schema", "client", "app/*", "internal/visible"}, why: "it judges a server by what was seen of it"},
	"app/connect":            {on: []string{"mcp", "jsonrpc", "era", "internal/eraconn", "client", "ext/tasks", "transport/*", "auth/*", "app/config", "internal/outcome", "internal/tcpalive", "internal/restart", "internal/timeoutpause", "internal/redact", "internal/visible"}, why: "the only place of the host that knows how a server is reached"},
	"app/permit":             {on: []string{"mcp", "app/config", "internal/definition", "internal/redact", "internal/rulematch", "internal/visible", "internal/safefile"}, why: "what may be called is decided without knowing how"},
	"app/editdiff":           {on: []string{"mcp", "internal/linediff", "internal/visible"}, why: "what a call would change in a file is read from its arguments and the disk, without knowing the server"},
	"app/tasklist":           {on: []string{"mcp", "internal/safefile"}, why: "a list of tasks in a file knows neither the host nor the command line, which share it"},
	"app/audit":              {on: []string{"internal/safefile"}, extern: []string{"golang.org/x/sys"}, why: "a file that only grows knows nothing of what is written in it"},
	"app/host":               {on: []string{"mcp", "client", "ext/tasks", "ext/skills", "ext/apps", "app/args", "app/editdiff", "app/llm", "app/permit", "app/config", "app/tasklist", "internal/redact", "internal/toolname", "internal/toolsearch", "internal/visible", "internal/version"}, why: "the agent knows Handlers, a model and a person; no message, era or transport, and no screen"},
	"app/gateway":            {on: []string{"cluster", "internal/definition", "internal/notifyqueue", "internal/outcome", "internal/protocol", "internal/redact", "internal/rulematch", "internal/safefile", "internal/visible", "mcp", "schema", "internal/toolname", "internal/toolsearch"}, why: "a gateway is a Handler over Handlers: it knows no message, era or transport"},
	"app/telemetry":          {on: []string{"internal/outcome", "internal/redact", "mcp"}, why: "it observes calls of any Handler and sends what it measured; it knows no gateway"},
	"app/weblogin":           {on: []string{"mcp", "auth/login", "auth/tokens", "cluster", "app/gateway", "internal/loginpage"}, why: "logins of a gateway's users are pages in a browser: it knows neither servers nor connections"},
	"app/store":              {on: []string{"app/host", "app/llm", "app/store/internal/sqlitefile"}, why: "the only place that knows where sessions are kept"},
	"app/workspace":          {on: []string{"mcp", "auth/tokens", "app/*", "internal/redact", "internal/safefile"}, why: "it puts the host together and moves its files, and adds nothing to it"},
	"app/sample":             {extern: []string{"modernc.org/sqlite"}, why: "something to look at, for those who have nothing yet"},
	"app/orders":             {on: []string{"app/sample"}, extern: []string{jsonv2, "modernc.org/sqlite"}, why: "an API to wrap, for examples and tests; it knows HTTP and no MCP"},
	"app/repl":               {on: []string{"mcp", "client", "app/args", "app/form", "app/speccheck", "app/wirelog", "internal/redact", "internal/safefile", "internal/typeahead", "internal/visible"}, extern: []string{"golang.org/x/term"}, why: "a prompt for one server; the commands that it runs are given to it"},
	"app/term":               {on: []string{"mcp", "client", "app/*", "internal/redact", "internal/safefile", "internal/typeahead", "internal/visible"}, extern: []string{"charm.land/bubbletea/v2", "charm.land/lipgloss/v2", "github.com/charmbracelet/colorprofile", "github.com/charmbracelet/ultraviolet", "github.com/charmbracelet/x/ansi", "golang.org/x/term"}, why: "a user interface over events; it does not know the other one"},
	"app/term/internal/draw": {extern: []string{"github.com/charmbracelet/x/ansi"}, why: "drawing knows lines and a terminal, and not what they say"},
	"app/web":                {on: []string{"mcp", "client", "schema", "ext/skills", "ext/apps", "app/*", "internal/definition", "internal/visible", "internal/version"}, why: "a user interface over events; it does not know the other one"},

	"app/lesson": {on: []string{"mcp", "jsonrpc", "era", "client", "server", "transport/streamable", "transport/streamclient", "builtin/calc", "builtin/demo", "app/config", "app/connect", "app/wirelog"}, why: "it shows one call over every transport, against servers of its own"},

	"app/store/internal/sqlitefile": {extern: []string{"modernc.org/sqlite"}, why: "it opens a file and does not know what is in it"},
	"app/store/taskstore":           {on: []string{"mcp", "ext/tasks", "app/store/internal/sqlitefile", "internal/safefile"}, why: "a server that keeps its tasks links no host"},

	"app/llm":                     {why: "a conversation with a model knows neither MCP nor any provider"},
	"app/llm/internal/toolschema": {extern: []string{jsonv2}, why: "it changes a schema into what a provider takes, and knows no provider"},
	"app/llm/internal/wire":       {on: []string{"app/llm", "app/llm/internal/toolschema", "sse", "internal/redact"}, extern: []string{jsonv2}, why: "what all providers have in common, and no provider"},
	"app/llm/anthropic":           {on: []string{"app/llm", "app/llm/internal/*", "sse"}, extern: []string{jsonv2}, why: "a provider's wire knows its provider only; the vendors' SDKs are oracles in test/models and nowhere else"},
	"app/llm/openai":              {on: []string{"app/llm", "app/llm/internal/*", "sse"}, extern: []string{jsonv2}, why: "a provider's wire knows its provider only; the vendors' SDKs are oracles in test/models and nowhere else"},
	"app/llm/script":              {on: []string{"app/llm"}, extern: []string{jsonv2}, why: "a model that is a file needs no network"},
	"app/llm/choose":              {on: []string{"app/llm", "app/llm/anthropic", "app/llm/internal/wire", "app/llm/openai", "app/llm/script"}, extern: []string{jsonv2}, why: "the only place that knows all providers"},
	"app/llm/keyword":             {on: []string{"app/llm", "mcp", "internal/bm25"}, extern: []string{jsonv2}, why: "what answers without a model needs nothing but words"},
	"app/llm/llmtest":             {on: []string{"app/llm", "sse"}, extern: []string{jsonv2}, why: "test support: a provider that knows the wires from their documentation, not from our code"},

	"cmd/tenon":            {on: []string{"*"}, extern: []string{"*"}, why: "flags and wiring: the only package that may import everything"},
	"builtin":              {on: []string{"server", "ext/tasks", "auth/tokens", "builtin/*", "internal/typo"}, why: "the list of them, for programs that have all"},
	"builtin/notes":        {on: []string{"mcp", "server", "schema", "ext/skills", "ext/apps", "internal/bm25", "internal/safefile", "internal/settings"}, extern: []string{"github.com/fsnotify/fsnotify", "golang.org/x/text"}, why: "a builtin server that searches, writes and watches files"},
	"builtin/fs":           {on: []string{"mcp", "server", "internal/linediff", "internal/safefile", "internal/settings"}, extern: []string{"github.com/fsnotify/fsnotify", "golang.org/x/text", "golang.org/x/sys"}, why: "a builtin server that watches files, compares names in every Unicode form, and renames without replacing"},
	"builtin/sql":          {on: []string{"mcp", "server", "ext/skills", "ext/apps", "builtin/sql/engine", "internal/settings"}, why: "the server knows no engine, so that a program carries only the drivers that it imports"},
	"builtin/sql/engine":   {on: []string{"internal/redact"}, why: "what a database is asked for, without MCP and without a driver"},
	"builtin/sql/sqlite":   {on: []string{"builtin/sql/engine"}, extern: []string{"modernc.org/sqlite", "modernc.org/libc"}, why: "an engine knows its driver only; the library is used below database/sql because its authorizer is not reachable from there"},
	"builtin/sql/postgres": {on: []string{"builtin/sql/engine"}, extern: []string{"github.com/jackc/pgx/v5"}, why: "an engine knows its driver only"},
	"builtin/sql/mysql":    {on: []string{"builtin/sql/engine"}, extern: []string{"github.com/go-sql-driver/mysql"}, why: "an engine knows its driver only"},
	"builtin/api/spec":     {on: []string{"mcp", "schema", "internal/typo"}, extern: []string{yaml}, why: "the format of files that describe an API: it sends nothing and runs nothing"},
	"builtin/api/draft":    {extern: []string{jsonv2, yaml}, why: "it turns one text into another: no server runs it, and the format's reader judges its result in tests only"},
	"builtin/api/packs":    {why: "a pack is a file: if it needs code, the format is not finished"},
	"builtin/api/expr":     {extern: []string{jsonv2, "github.com/itchyny/gojq", "github.com/JohannesKaufmann/html-to-markdown/v2"}, why: "jq and templates, bounded; the only package that links them"},

	"builtin/api":            {on: []string{"mcp", "server", "schema", "ext/tasks", "auth/fetch", "auth/tokens", "builtin/api/*", "internal/redact", "internal/typo", "internal/uritemplate", "internal/settings"}, extern: []string{"github.com/fsnotify/fsnotify"}, why: "a server from a file: it knows Handlers and HTTP, no message, era or transport"},
	"builtin/api/upstream":   {on: []string{"mcp", "auth/fetch", "builtin/api/credential", "internal/version"}, why: "requests to one API, with bounds; it does not know what they are for"},
	"builtin/api/credential": {on: []string{"mcp", "server", "auth/protect", "auth/tokens", "builtin/api/spec"}, extern: []string{jose, keyring}, why: "the only package that sees the secrets of an API"},
	"builtin/api/golden":     {on: []string{"mcp", "client", "auth/tokens", "builtin/api/*", "builtin/api", "internal/redact"}, why: "it runs the cases of a file against a server in memory, and shows no secrets of the user"},

	"builtin/demo":      {on: []string{"mcp", "server", "ext/tasks"}, why: "a builtin server that shows what others have no use for, such as tasks"},
	"builtin/*":         {on: []string{"mcp", "server", "schema"}, why: "a builtin server is what any user could write"},
	"internal/wrapping": {why: "every Handler behind a wrapper: it has tests and nothing else"},
	"test/stress":       {why: "clients and servers of every kind at once: it has tests and nothing else"},
	"test/cluster":      {why: "it runs the programs, and knows the packages of clients and servers"},
	"deploy/cluster":    {on: []string{"internal/freeport", "mcp", "server", "client", "era", "transport/*"}, why: "a demonstration and a benchmark: it runs the programs, and is in nobody's binary"},
	"test/api":          {why: "end to end: it has tests and nothing else"},
	"internal/model":    {why: "models of state machines: it has tests, and what they share"},
	"test/faults":       {why: "peers with faults between them: it has tests and nothing else"},
	"test/soak":         {why: "it runs the programs for long, with faults: it has tests and nothing else"},
	"test/stores":       {why: "every store, with faults of the system under it: it has tests and nothing else"},
	"build/fuzz":        {why: "it runs the fuzz targets and counts; it knows them by their names"},
	"test/host":         {why: "end to end: it has tests and nothing else"},
	"examples/*":        {on: []string{"mcp", "server", "client", "ext/*", "transport/*", "mcptest"}, why: "examples use what users use"},
}

// testSupport may be imported by any test, and by nothing else.
var testSupport = []string{"internal/edittest", "internal/leaktest", "internal/linktest", "internal/needtest", "internal/ptytest", "internal/racetest", "internal/redistest", "internal/spectest", "internal/talktest", "internal/tasktest", "mcptest", "app/llm/llmtest", "ext/tasks/storetest", "cluster/storetest"}

type listed struct {
	ImportPath string
	Imports    []string
	Standard   bool
}

func packages(t *testing.T) []listed {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// Packages import only what their rule allows.
func TestImports(t *testing.T) {
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		if name+"/" == module {
			continue // this file
		}
		r, ok := findRule(name)
		if !ok {
			t.Errorf("%s has no rule: add one to importRules, with what it may import and why", name)
			continue
		}
		for _, imp := range p.Imports {
			own, ours := strings.CutPrefix(imp, module)
			switch {
			case ours && !allowed(r.on, own) && own != "internal/rawjson" && own != "internal/textclip" && !(own == "internal/uritemplate" && name == "server"):
				t.Errorf("%s may not import %s: %s", name, own, r.why)
			case !ours && strings.Contains(strings.SplitN(imp, "/", 2)[0], ".") && !allowedModule(r.extern, imp):
				t.Errorf("%s may not import %s: %s", name, imp, r.why)
			}
		}
	}
}

func findRule(name string) (importRule, bool) {
	if r, ok := importRules[name]; ok {
		return r, true
	}
	for pattern, r := range importRules {
		if ok, _ := path.Match(pattern, name); ok {
			return r, true
		}
		if below, ok := strings.CutSuffix(pattern, "/*"); ok && strings.HasPrefix(name, below+"/") {
			return r, true
		}
	}
	return importRule{}, false
}

func allowed(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		below, all := strings.CutSuffix(p, "*")
		return p == name || all && strings.HasPrefix(name, below)
	})
}

func allowedModule(modules []string, imp string) bool {
	return slices.ContainsFunc(modules, func(m string) bool { return m == "*" || imp == m || strings.HasPrefix(imp, m+"/") })
}

// Only the codecs distinguish revisions: a date in any other package would be a
// second place to change when there is a new one.
func TestOnlyCodecsNameRevisions(t *testing.T) {
	date := regexp.MustCompile(`"(2024-11-05|2025-03-26|2025-06-18|2025-11-25|2026-07-28)"|\bRev20\d{6}\b`)
	eachSource(t, func(name, text string) {
		if strings.HasPrefix(name, "internal/eraconn/") || strings.HasPrefix(name, "mcptest/") || name == "mcp/method.go" ||
			name == "app/lesson/batch.go" || // only one revision has batches
			strings.HasPrefix(name, "deploy/") || // its clients are of both eras
			strings.HasPrefix(name, "ext/") { // an extension knows which revisions have it in another form
			return
		}
		for i, line := range strings.Split(text, "\n") {
			if date.MatchString(line) && !strings.HasPrefix(strings.TrimSpace(line), "//") {
				t.Errorf("%s:%d names a revision: leave that to internal/eraconn", name, i+1)
			}
		}
	})
}

// encoding/json matches names whatever their case, which lets two readers of
// one message see two different calls. Foreign JSON is read by mcp.Unmarshal.
func TestForeignJSONIsReadStrictly(t *testing.T) {
	loose := regexp.MustCompile(`\bjson\.(Unmarshal|NewDecoder)\(`)
	fine := map[string]string{
		"internal/eraconn/internal/modern/seal.go": "it reads what it has sealed itself",
		"cluster/replica.go":                       "it reads what another replica has written",
		"cluster/ring.go":                          "it reads what another replica has written",
		"server/once.go":                           "it reads what it has written itself, and the codec has sealed",
		"app/audit/head.go":                        "it reads what it has written itself",
		"app/audit/lines.go":                       "it reads what it has written itself, and checks it by its hash",
		"app/audit/record.go":                      "it reads what it has written itself a moment before",
		"app/store/store.go":                       "it reads what it has written itself",
		"app/recording/relay.go":                   "it reads what another Tenon of the same user has written",
		"app/host/schema.go":                       "it was read strictly before; it only changes texts in it",
		"app/config/import_formats.go":             "it was read strictly before, and a map keeps the case of names",
		"internal/definition/definition.go":        "both definitions were read strictly before; it only compares them",
	}
	eachSource(t, func(name, text string) {
		for i, line := range strings.Split(text, "\n") {
			if fine[name] == "" && !strings.HasPrefix(name, "internal/conformance/") && loose.MatchString(line) && strings.Contains(text, `"encoding/json"`) && !strings.Contains(text, `json "`+jsonv2+`"`) {
				t.Errorf("%s:%d reads JSON with encoding/json: use mcp.Unmarshal", name, i+1)
			}
		}
	})
}

// eachSource calls visit with every Go file of the module that is not a test.
func eachSource(t *testing.T, visit func(name, text string)) {
	t.Helper()
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || d.Name() == "testdata") {
				return filepath.SkipDir
			}
			if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil && name != "." {
				return filepath.SkipDir // a module of its own
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		visit(filepath.ToSlash(name), string(text))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A server or a client over stdio links the standard library and at most three
// small modules.
func TestServersHaveFewDependencies(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if .Module}}{{.Module.Path}}{{end}}", "./server", "./client", "./transport/stdio").Output()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, m := range strings.Fields(string(out)) {
		if m+"/" != module {
			found[m] = true
		}
	}
	var names []string
	for m := range found {
		names = append(names, m)
	}
	slices.Sort(names)
	t.Log("modules:", names)
	if found[validator] {
		t.Errorf("server, client or transport/stdio pulls in %s, which reads all meta-schemas at every start: it is for tests", validator)
	}
	if len(names) > 3 {
		t.Errorf("server, client and transport/stdio pull in %d modules: %v", len(names), names)
	}
}

// A server over stdio does not link the network, which takes a fifth of its
// start, and the C library where there is a compiler for it.
func TestServersOverStdioHaveNoNetwork(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "./server", "./transport/stdio").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range strings.Fields(string(out)) {
		if p == "net" || p == "net/http" || p == "os/user" || p == "runtime/cgo" {
			t.Errorf("server or transport/stdio pulls in %s", p)
		}
	}
}

// Only a program that imports cluster/redis links Redis.
func TestRedisIsLinkedWhereItIsImported(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "./server", "./client", "./transport/...", "./auth/...", "./ext/...", "./app/gateway", "./cluster").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range strings.Fields(string(out)) {
		if p == module+"cluster/redis" || strings.HasPrefix(p, "github.com/redis/") {
			t.Errorf("a program that does not import cluster/redis links %s", p)
		}
	}
}

// A program that imports no extension links none.
func TestExtensionsAreLinkedWhereTheyAreImported(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "./server", "./client", "./transport/...", "./mcptest", "./examples/calculator", "./examples/client", "./examples/gateway").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range strings.Fields(string(out)) {
		if strings.HasPrefix(p, module+"ext/") {
			t.Errorf("a program without extensions links %s", p)
		}
	}
}

// Test support stays in tests.
func TestTestSupportStaysInTests(t *testing.T) {
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		for _, imp := range p.Imports {
			own, ours := strings.CutPrefix(imp, module)
			if ours && slices.Contains(testSupport, own) && !slices.Contains(testSupport, name) && !strings.HasPrefix(name, "examples/") {
				t.Errorf("%s imports %s outside its tests", name, own)
			}
		}
	}
}

// TestUnusedMethodsAreNotLinked checks that no package of the program calls methods
// by names that it computes, as text/template does: the linker keeps the methods of
// all types then, which makes the program half as large again.
func TestUnusedMethodsAreNotLinked(t *testing.T) {
	if testing.Short() {
		t.Skip("links the program")
	}
	cmd := exec.Command("go", "build", "-ldflags=-dumpdep", "-o", filepath.Join(t.TempDir(), "tenon"), "./cmd/tenon")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "<ReflectMethod>") {
			t.Errorf("this function makes the linker keep all methods: %s", line)
		}
	}
}
