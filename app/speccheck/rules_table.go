package speccheck

var (
	always  = span{'A', 'E'}
	sinceB  = span{'B', 'E'}
	sinceC  = span{'C', 'E'}
	sinceD  = span{'D', 'E'}
	older   = span{'A', 'D'}
	newest  = span{'E', 'E'}
	onlyB   = span{'B', 'B'}
	session = span{'B', 'D'}
)

const (
	pageBasic     = "basic"
	pageLifecycle = "basic/lifecycle"
	pageLegacyTP  = "basic/transports"
	pageStdio     = "basic/transports/stdio"
	pageHTTP      = "basic/transports/streamable-http"
	pageInput     = "basic/patterns/mrtr"
	pageTools     = "server/tools"
	pageSchema    = "schema"
)

var rules = []Rule{
	{ruleStdout, "A server writes nothing but messages to its standard output; other text belongs on standard error.", Broken, always, pageLegacyTP, pageStdio},
	{ruleMessage, "Every frame is one JSON-RPC 2.0 message in UTF-8: a request, a notification, or an answer with exactly one of result and error.", Broken, always, pageBasic, pageBasic},
	{ruleReused, "A request has an id that its sender has not used before in this session (older revisions) or that is not in flight (newest).", Broken, always, pageBasic, pageBasic},
	{ruleUnknownResponse, "An answer has the id of a request that the other side has sent.", Broken, always, pageBasic, pageBasic},
	{ruleTwice, "A request is answered once.", Broken, always, pageBasic, pageBasic},
	{ruleNoteID, "A notification has no id.", Broken, always, pageBasic, pageBasic},
	{ruleNoID, "A request has an id, or it cannot be answered.", Broken, always, pageBasic, pageBasic},
	{ruleBatch, "Only one older revision knows batches; everywhere else a frame is a single message.", Broken, always, pageBasic, pageBasic},
	{ruleBatchInit, "initialize does not stand in a batch, because nothing may be sent before its answer.", Broken, onlyB, pageLifecycle, ""},

	{ruleFirst, "The first thing that passes is initialize; before its answer there is at most a ping.", Broken, older, pageLifecycle, ""},
	{ruleInitTwice, "A session is initialized once.", Broken, older, pageLifecycle, ""},
	{ruleInitialized, "The client says notifications/initialized before it asks for anything but a ping, and the server asks nothing before it.", Doubtful, older, pageLifecycle, ""},
	{ruleVersion, "The server answers initialize with a revision of the protocol that exists.", Broken, older, pageLifecycle, ""},
	{ruleCapability, "Only what the other side has declared as a capability is used.", Broken, older, pageLifecycle, ""},
	{ruleMethod, "A method is used only in revisions that have it.", Broken, always, pageSchema, pageSchema},
	{ruleDirection, "A method is sent only by the side that it belongs to.", Broken, always, pageSchema, pageSchema},

	{ruleServerAsks, "A server of the newest revision sends no requests; it ends the call with input_required instead.", Broken, newest, "", pageBasic},
	{ruleClientSays, "A client of the newest revision sends no answers.", Broken, newest, "", pageBasic},
	{ruleEnvelope, "Every request says in _meta which revision it speaks and what its client can do.", Broken, newest, "", pageBasic},
	{ruleResultType, "Every result has a resultType: complete, input_required, or one that an extension defines.", Broken, newest, "", pageBasic},
	{ruleCache, "Results of lists, reads and discovery say with ttlMs and cacheScope how long and for whom they hold.", Broken, newest, "", "server/utilities/caching"},
	{ruleInputWhere, "input_required answers only tools/call, prompts/get and resources/read.", Broken, newest, "", pageInput},
	{ruleInputEmpty, "An input_required result has inputRequests, requestState or both.", Broken, newest, "", pageInput},
	{ruleInputKind, "A server may ask for elicitation, sampling and roots, and for nothing else.", Broken, newest, "", pageInput},
	{ruleInputCap, "A server asks only for what the client declared on this very request.", Broken, newest, "", pageInput},
	{ruleState, "A retry returns requestState exactly as the server gave it.", Broken, newest, "", pageInput},

	{ruleToken, "Progress names the token of a request that is in flight.", Broken, always, "basic/utilities/progress", "basic/patterns/progress"},
	{ruleTokenReused, "A progress token is unique among the requests in flight.", Broken, always, "basic/utilities/progress", "basic/patterns/progress"},
	{ruleProgress, "Progress increases with every notification.", Broken, always, "basic/utilities/progress", "basic/patterns/progress"},
	{ruleCancelWhat, "Only a request that was sent in the same direction can be cancelled.", Broken, always, "basic/utilities/cancellation", "basic/patterns/cancellation"},
	{ruleCancelInit, "A client does not cancel initialize.", Broken, older, "basic/utilities/cancellation", ""},
	{ruleCancelAnswered, "Nothing more is sent for a request that was cancelled.", Doubtful, always, "basic/utilities/cancellation", "basic/patterns/cancellation"},
	{ruleSubscription, "News names the subscription it belongs to, one that is open.", Broken, newest, "", "basic/patterns/subscriptions"},
	{ruleAck, "The first thing sent for a subscription is its acknowledgement.", Broken, newest, "", "basic/patterns/subscriptions"},
	{ruleNotAsked, "A subscription brings only the news it asked for.", Broken, newest, "", "basic/patterns/subscriptions"},
	{ruleLog, "Log lines are sent only for a request that asked for them with a log level.", Broken, newest, "", "server/utilities/logging"},

	{ruleCode, "An error has a code that means something in this revision; codes from -32020 to -32099 are the protocol's own.", Broken, newest, "", pageBasic},
	{ruleCodeTool, "A tool that does not exist is told with -32602; -32601 says that the method itself is unknown.", Doubtful, always, pageTools, pageTools},
	{ruleCodeArgs, "Arguments that a known tool cannot use are told in a result with isError, so that a model can see and mend them.", Doubtful, sinceD, pageTools, pageTools},
	{ruleRequired, "Members that the schema requires are there.", Broken, always, pageSchema, pageSchema},
	{ruleType, "Members have the type that the schema gives them.", Broken, always, pageSchema, pageSchema},
	{ruleMember, "A member is used only in revisions that have it.", Doubtful, always, pageSchema, pageSchema},
	{ruleMetaKey, "A key of _meta is an optional prefix of dotted labels, a slash, and a name; prefixes of the protocol are for the protocol.", Doubtful, sinceC, pageBasic, pageBasic},
	{ruleToolName, "A tool's name has 1 to 128 letters, digits, underscores, hyphens and dots.", Doubtful, sinceD, pageTools, pageTools},
	{ruleToolTwice, "No two tools of a server have the same name.", Doubtful, sinceD, pageTools, pageTools},
	{ruleToolSchema, "A tool's input schema describes an object.", Broken, always, pageTools, pageTools},
	{ruleOutput, "A tool with an output schema returns structured content, unless it fails.", Broken, sinceC, pageTools, pageTools},
	{ruleBase64, "Binary content is base64.", Broken, always, pageSchema, pageSchema},
	{ruleCompletion, "A completion has at most 100 values.", Broken, always, "server/utilities/completion", "server/utilities/completion"},
	{ruleForm, "A form that a person is asked to fill in is flat and made of simple fields.", Broken, sinceC, "client/elicitation", "client/elicitation"},
	{ruleIcon, "Icons come from https or data addresses.", Doubtful, sinceD, pageBasic, pageBasic},
	{ruleRoot, "A root is a file:// address.", Broken, always, "client/roots", "client/roots"},
	{ruleSampling, "Tool results in sampling stand alone in a user's message and answer what was wished for just before.", Broken, sinceD, "client/sampling", "client/sampling"},

	{ruleHTTPVersion, "Requests after initialize name the revision in the header MCP-Protocol-Version; in the newest all do, and it agrees with the body.", Broken, sinceC, pageLegacyTP, pageHTTP},
	{ruleHTTPMirror, "The headers Mcp-Method and Mcp-Name repeat what the body says.", Broken, newest, "", pageHTTP},
	{ruleHTTPSession, "When the server gave a session id, every later request carries it.", Broken, session, pageLegacyTP, ""},
	{ruleHTTPNoSess, "The newest revision has no sessions: nobody gives out a session id.", Doubtful, newest, "", pageHTTP},
	{ruleHTTPAccept, "A POST accepts both application/json and text/event-stream.", Broken, sinceB, pageLegacyTP, pageHTTP},
	{ruleHTTPStatus, "Errors of the protocol have their HTTP status: 404 for an unknown method, 400 for a request that cannot be served as it is.", Broken, newest, "", pageHTTP},
	{ruleHTTPType, "What answers a request is application/json or text/event-stream.", Broken, sinceB, pageLegacyTP, pageHTTP},
}
