// Package spec reads the files that describe an HTTP API as an MCP server, for
// package api.
//
// A file is YAML or JSON. [Load] reports all mistakes at once, each with its line
// and column; [Schema] returns the JSON Schema of the format for editors.
package spec

import (
	"encoding/json"
	"time"
)

// Version is the value of the member tenon.
const Version = "api/1"

// A File describes an API as a server.
type File struct {
	Tenon        string `json:"tenon" doc:"The version of the format" schema:"const=api/1"`
	Schema       string `json:"$schema,omitzero" doc:"The JSON Schema of this file, for editors"`
	Name         string `json:"name" doc:"The name of the server" schema:"maxLength=64,pattern=^[a-z][a-z0-9_-]*$"`
	Title        string `json:"title,omitzero" doc:"The name for display"`
	Version      string `json:"version,omitzero" doc:"The version of the file; 1.0.0 if absent"`
	Description  string `json:"description,omitzero" doc:"What the server is for"`
	Instructions string `json:"instructions,omitzero" doc:"Advice for the model on how to use the server"`

	API         API                        `json:"api" doc:"How the API is reached"`
	Auth        []Auth                     `json:"auth,omitzero" doc:"The credential, or several: the first one whose references are all set is used"`
	Params      map[string]json.RawMessage `json:"params,omitzero" doc:"Parameters that tools share; a tool names one as $name"`
	Tools       map[string]Tool            `json:"tools,omitzero" doc:"The tools by name"`
	Resources   []Resource                 `json:"resources,omitzero" doc:"Resources and resource templates"`
	Prompts     map[string]Prompt          `json:"prompts,omitzero" doc:"The prompts by name"`
	Completions map[string]Completion      `json:"completions,omitzero" doc:"Sources of completions, which prompts and resources name"`
	Toolsets    map[string][]string        `json:"toolsets,omitzero" doc:"Names for selections of tools; default is the selection without a setting"`
	Profiles    map[string]Profile         `json:"profiles,omitzero" doc:"Names for settings of the server"`
	Tests       []Test                     `json:"tests,omitzero" doc:"Cases for tenon api test"`

	source *source
}

// API says how the API is reached.
type API struct {
	Base          string            `json:"base" doc:"The base URL of all requests; it may use ${env:NAME:-default}"`
	Hosts         []string          `json:"hosts,omitzero" doc:"Further origins that requests, redirects and paging links may use"`
	CredentialsTo []string          `json:"credentials_to,omitzero" doc:"Which of hosts get the credential, too"`
	Private       bool              `json:"private,omitzero" doc:"Allow loopback and private networks"`
	Timeout       time.Duration     `json:"timeout,omitzero" doc:"The time for one request; 30s if absent"`
	Headers       map[string]string `json:"headers,omitzero" doc:"Headers of every request"`
	ResponseLimit Size              `json:"response_limit,omitzero" doc:"The maximum size of a response body; 8MiB if absent"`
	Concurrency   int               `json:"concurrency,omitzero" doc:"The maximum number of requests at once; 8 if absent" schema:"minimum=1,maximum=256"`
	Retry         *Retry            `json:"retry,omitzero"`
	Error         []ErrorRule       `json:"error,omitzero" doc:"Rules for failed calls; the first that matches is used"`
	Cache         *Cache            `json:"cache,omitzero"`
}

// Auth is a credential. Its values refer to secrets: ${env:NAME}, ${keyring:name}
// or ${file:path}.
type Auth struct {
	Kind           string            `json:"kind" doc:"The kind of credential" schema:"enum=none|bearer|basic|header|query|oauth2|github_app"`
	Token          string            `json:"token,omitzero" doc:"bearer: the token"`
	User           string            `json:"user,omitzero" doc:"basic: the user name"`
	Password       string            `json:"password,omitzero" doc:"basic: the password"`
	Name           string            `json:"name,omitzero" doc:"header, query: the name"`
	Value          string            `json:"value,omitzero" doc:"header, query: the value"`
	Grant          string            `json:"grant,omitzero" doc:"oauth2: how a token is obtained" schema:"enum=client_credentials|code|device|exchange"`
	TokenURL       string            `json:"token_url,omitzero" doc:"oauth2: the token endpoint"`
	AuthorizeURL   string            `json:"authorize_url,omitzero" doc:"oauth2 code: the authorization endpoint"`
	DeviceURL      string            `json:"device_url,omitzero" doc:"oauth2 device: the device authorization endpoint"`
	RedirectURL    string            `json:"redirect_url,omitzero" doc:"oauth2 code: the registered redirect URL on this machine; a free port if absent"`
	ClientID       string            `json:"client_id,omitzero" doc:"oauth2: the client"`
	ClientSecret   string            `json:"client_secret,omitzero" doc:"oauth2: the secret of the client"`
	ClientAuth     string            `json:"client_auth,omitzero" doc:"oauth2: where the secret is sent; body if absent" schema:"enum=basic|body"`
	Scopes         []string          `json:"scopes,omitzero" doc:"oauth2: the scopes"`
	Params         map[string]string `json:"params,omitzero" doc:"oauth2: further fields of requests for a login and for tokens, such as audience"`
	Account        string            `json:"account,omitzero" doc:"oauth2: whose account: one for the server, or one for each caller" schema:"enum=server|caller"`
	AppID          string            `json:"app_id,omitzero" doc:"github_app: the id of the app"`
	InstallationID string            `json:"installation_id,omitzero" doc:"github_app: the id of the installation"`
	PrivateKey     string            `json:"private_key,omitzero" doc:"github_app: the private key (PEM)"`
}

// A Tool is a tool that sends requests.
type Tool struct {
	Title       string                     `json:"title,omitzero" doc:"The name for display"`
	Description string                     `json:"description" doc:"What the tool does, for the model" schema:"minLength=1"`
	Params      map[string]json.RawMessage `json:"params,omitzero" doc:"The parameters: a JSON Schema each, with required: true if it is required"`
	ReadOnly    *bool                      `json:"readonly,omitzero" doc:"Whether the tool only reads; by default if its method is GET or HEAD"`
	Lookup      *Lookup                    `json:"lookup,omitzero" doc:"A read before everything else, whose result is $lookup"`
	Confirm     *Confirm                   `json:"confirm,omitzero" doc:"Ask the user before the request"`
	Idempotency *Idempotency               `json:"idempotency,omitzero" doc:"Send a key, so that repeating the request is safe"`
	Files       map[string]FileSource      `json:"files,omitzero" doc:"Files that the tool uploads, by name; $files.NAME has the name, size and type of one"`
	Request     Request                    `json:"request"`
	Then        []Then                     `json:"then,omitzero" doc:"At most three follow-up requests" schema:"maxItems=3"`
	Paginate    *Paginate                  `json:"paginate,omitzero"`
	Batch       *Batch                     `json:"batch,omitzero" doc:"Send a request for each item of a parameter"`
	Retry       *Retry                     `json:"retry,omitzero"`
	Error       []ErrorRule                `json:"error,omitzero" doc:"Rules for failed calls, before those of api"`
	Output      *Output                    `json:"output,omitzero"`
	Cache       *Cache                     `json:"cache,omitzero"`
	Task        *Task                      `json:"task,omitzero" doc:"Long work: poll until it is done"`
	Timeout     time.Duration              `json:"timeout,omitzero" doc:"The time for one request"`
	Annotations *Annotations               `json:"annotations,omitzero" doc:"Hints for clients; by default from the method"`
}

// Annotations are the hints of the protocol.
type Annotations struct {
	ReadOnlyHint    *bool `json:"readOnlyHint,omitzero"`
	DestructiveHint *bool `json:"destructiveHint,omitzero"`
	IdempotentHint  *bool `json:"idempotentHint,omitzero"`
	OpenWorldHint   *bool `json:"openWorldHint,omitzero"`
}

// A Request is an HTTP request.
type Request struct {
	Method    string                     `json:"method,omitzero" doc:"The method; GET if absent" schema:"enum=GET|HEAD|POST|PUT|PATCH|DELETE"`
	Path      string                     `json:"path,omitzero" doc:"The path below the base URL, an RFC 6570 template of the arguments"`
	URL       string                     `json:"url,omitzero" doc:"Instead of path: an absolute URL, or a template of one, at base or hosts"`
	Query     map[string]json.RawMessage `json:"query,omitzero" doc:"Query parameters; null is left out, an array repeats the name"`
	Headers   map[string]string          `json:"headers,omitzero"`
	Body      json.RawMessage            `json:"body,omitzero" doc:"A JSON body with templates in it"`
	Form      map[string]json.RawMessage `json:"form,omitzero" doc:"A body of application/x-www-form-urlencoded"`
	Multipart map[string]Part            `json:"multipart,omitzero" doc:"A body of multipart/form-data"`
	Raw       *Part                      `json:"raw,omitzero" doc:"A body of any type"`
}

// A FileSource says which file a tool uploads.
type FileSource struct {
	From string `json:"from" doc:"A template of a path or a file: URI below the folder of the setting files or a root of the client, or of the URI of a resource of this server; null means no file, an array several" schema:"minLength=1"`
	Max  Size   `json:"max,omitzero" doc:"The maximum size of all files of this name; 64MiB if absent"`
}

// A Part is a body or a part of one: text, base64 or the content of a file.
type Part struct {
	Text   string `json:"text,omitzero" doc:"A template of the text"`
	Base64 string `json:"base64,omitzero" doc:"A template of the content in base64"`
	Path   string `json:"path,omitzero" doc:"A template of the path of a file below the folder of the setting files or a root of the client"`
	File   string `json:"file,omitzero" doc:"The name of one of the files of the tool"`
	Name   string `json:"name,omitzero" doc:"A template of the file name; that of the file if absent"`
	Type   string `json:"type,omitzero" doc:"A template of the content type; that of the resource if absent"`
}

// A Lookup is a request that only reads.
type Lookup struct {
	When     string      `json:"when,omitzero" doc:"jq on the arguments: whether to send it"`
	Request  Request     `json:"request"`
	ReadOnly bool        `json:"readonly,omitzero" doc:"The request only reads, although its method is not GET"`
	Paginate *Paginate   `json:"paginate,omitzero"`
	JQ       string      `json:"jq,omitzero" doc:"jq on the body; its first result is $lookup"`
	Error    []ErrorRule `json:"error,omitzero"`
	Cache    *Cache      `json:"cache,omitzero"`
}

// Confirm asks the user before a request.
type Confirm struct {
	When    string `json:"when,omitzero" doc:"jq on the arguments: whether to ask; always if absent"`
	Message string `json:"message" doc:"A template of the question" schema:"minLength=1"`
	Without string `json:"without,omitzero" doc:"What to do if the client cannot ask; refuse if absent" schema:"enum=refuse|proceed"`
}

// Idempotency sends a key with a request.
type Idempotency struct {
	Header string `json:"header,omitzero" doc:"The header with the key; templates have it as $key"`
	Key    string `json:"key,omitzero" doc:"call (one for each call, the default), args (one for equal arguments of a caller), or a template"`
}

// Then is a follow-up request.
type Then struct {
	When    string  `json:"when,omitzero" doc:"jq on the arguments: whether to send it; $prev is the previous body"`
	Request Request `json:"request"`
}

// Paginate says how further pages are requested.
type Paginate struct {
	Kind         string    `json:"kind" schema:"enum=link|cursor|page|offset|odata"`
	Items        string    `json:"items,omitzero" doc:"jq on a body: the array of items"`
	Cursor       string    `json:"cursor,omitzero" doc:"cursor: jq on a body: the next cursor"`
	More         string    `json:"more,omitzero" doc:"jq on a body: whether there are more pages"`
	Param        string    `json:"param,omitzero" doc:"cursor, page, offset: the parameter of the request"`
	In           string    `json:"in,omitzero" doc:"Where the parameters are; query if absent" schema:"enum=query|form|body"`
	Start        int       `json:"start,omitzero" doc:"page: the number of the first page; 1 if absent"`
	Size         *PageSize `json:"size,omitzero"`
	MaxItems     int       `json:"max_items,omitzero" doc:"The maximum of the parameter limit; 100 if absent" schema:"minimum=1,maximum=10000"`
	DefaultItems int       `json:"default_items,omitzero" doc:"The default of the parameter limit; 30 if absent" schema:"minimum=1"`
	MaxPages     int       `json:"max_pages,omitzero" doc:"The maximum number of requests of one call; 10 if absent" schema:"minimum=1,maximum=100"`
}

// PageSize is the parameter for the number of items of a page.
type PageSize struct {
	Param string `json:"param"`
	Max   int    `json:"max,omitzero" doc:"The maximum that the API allows; 100 if absent" schema:"minimum=1"`
}

// Batch sends a request for each item of a parameter.
type Batch struct {
	Over        string `json:"over" doc:"The parameter with the items, an array"`
	As          string `json:"as" doc:"The name of one item in templates"`
	Concurrency int    `json:"concurrency,omitzero" doc:"Requests at once; 4 if absent" schema:"minimum=1,maximum=32"`
}

// Retry says when a request is repeated.
type Retry struct {
	Max     *int          `json:"max,omitzero" doc:"How often; 3 if absent" schema:"minimum=0,maximum=10"`
	On      []int         `json:"on,omitzero" doc:"The status codes; 429, 502, 503 and 504 if absent"`
	MaxWait time.Duration `json:"max_wait,omitzero" doc:"The maximum wait before one repetition; 30s if absent"`
	Safe    *bool         `json:"safe,omitzero" doc:"Whether the request may be repeated; by its method if absent. Only for tools"`
}

// An ErrorRule turns a response into a failed call.
type ErrorRule struct {
	When    string `json:"when,omitzero" doc:"jq on the body"`
	Status  []int  `json:"status,omitzero" doc:"Status codes"`
	Message string `json:"message" doc:"A template of the text for the model" schema:"minLength=1"`
}

// Output says how a response becomes a result.
type Output struct {
	As       string          `json:"as,omitzero" doc:"How the body is read; by its content type if absent" schema:"enum=json|text|file"`
	JQ       string          `json:"jq,omitzero" doc:"jq on the body, or on the items of all pages"`
	Schema   json.RawMessage `json:"schema,omitzero" doc:"The JSON Schema of the result of jq"`
	Text     string          `json:"text,omitzero" doc:"A template of the text for the model; the JSON if absent"`
	Budget   Size            `json:"budget,omitzero" doc:"The maximum size of the result; 32KiB if absent. What does not fit is behind a link"`
	Name     string          `json:"name,omitzero" doc:"file: a template of the file name"`
	MIMEType string          `json:"mime,omitzero" doc:"file: the MIME type; that of the response if absent"`
}

// Cache says how long responses are reused.
type Cache struct {
	TTL   time.Duration `json:"ttl,omitzero" doc:"How long a response is used again without a request; clients are told so of resources"`
	Scope string        `json:"scope,omitzero" doc:"private: for the account that requested it, the default; public: for every caller, because the response is the same for all" schema:"enum=private|public"`
	ETag  *bool         `json:"etag,omitzero" doc:"Ask whether a response has changed (ETag); true if absent"`
}

// Task polls for the result of long work.
type Task struct {
	When     string        `json:"when,omitzero" doc:"jq on the body: whether there is something to wait for; $status == 202 if absent"`
	URL      string        `json:"url,omitzero" doc:"A template of the URL to poll; the header Location if absent. . is the body"`
	Every    time.Duration `json:"every,omitzero" doc:"The interval; 2s if absent. Retry-After has precedence"`
	Timeout  time.Duration `json:"timeout,omitzero" doc:"The maximum time; 10m if absent"`
	Done     string        `json:"done,omitzero" doc:"jq on the polled body; $status != 202 if absent"`
	Failed   string        `json:"failed,omitzero" doc:"jq on the polled body: whether the work has failed"`
	Message  string        `json:"message,omitzero" doc:"A template of the text if it has failed"`
	Result   string        `json:"result,omitzero" doc:"A template of the URL of the result; the polled body if absent"`
	Progress *Progress     `json:"progress,omitzero"`
}

// Progress says how far the work is. Its members are jq on the polled body.
type Progress struct {
	Done    string `json:"done"`
	Total   string `json:"total,omitzero"`
	Message string `json:"message,omitzero"`
}

// A Resource is a resource or a resource template.
type Resource struct {
	URI         string            `json:"uri" doc:"The URI, or a template of it" schema:"minLength=1"`
	Name        string            `json:"name" schema:"minLength=1"`
	Title       string            `json:"title,omitzero"`
	Description string            `json:"description,omitzero"`
	MIMEType    string            `json:"mime,omitzero"`
	Request     Request           `json:"request"`
	Paginate    *Paginate         `json:"paginate,omitzero"`
	ReadOnly    bool              `json:"readonly,omitzero" doc:"The request only reads, although its method is not GET"`
	Error       []ErrorRule       `json:"error,omitzero"`
	Output      *Output           `json:"output,omitzero"`
	Cache       *Cache            `json:"cache,omitzero"`
	Subscribe   time.Duration     `json:"subscribe,omitzero" doc:"How often a resource that clients subscribed to is requested"`
	Complete    map[string]string `json:"complete,omitzero" doc:"Variables, and the completions for them"`
}

// A Prompt is a prompt with arguments.
type Prompt struct {
	Title       string              `json:"title,omitzero"`
	Description string              `json:"description,omitzero"`
	Arguments   map[string]Argument `json:"arguments,omitzero"`
	Lookup      *Lookup             `json:"lookup,omitzero"`
	Messages    []Message           `json:"messages" schema:"minItems=1"`
}

// An Argument is an argument of a prompt.
type Argument struct {
	Title       string   `json:"title,omitzero"`
	Description string   `json:"description,omitzero"`
	Required    bool     `json:"required,omitzero"`
	Enum        []string `json:"enum,omitzero" doc:"The possible values"`
	Complete    string   `json:"complete,omitzero" doc:"The completion for it"`
}

// A Message is a message of a prompt.
type Message struct {
	Role string `json:"role,omitzero" doc:"user if absent" schema:"enum=user|assistant"`
	Text string `json:"text" doc:"A template" schema:"minLength=1"`
}

// A Completion suggests values: fixed ones, or those of a request.
type Completion struct {
	Values   []string `json:"values,omitzero"`
	Request  *Request `json:"request,omitzero"`
	ReadOnly bool     `json:"readonly,omitzero" doc:"The request only reads, although its method is not GET"`
	JQ       string   `json:"jq,omitzero" doc:"jq on the body: strings"`
	Cache    *Cache   `json:"cache,omitzero"`
}

// A Profile is a name for settings of the server.
type Profile struct {
	Description string   `json:"description,omitzero"`
	Base        string   `json:"base,omitzero"`
	Auth        []Auth   `json:"auth,omitzero"`
	Toolsets    []string `json:"toolsets,omitzero"`
	ReadOnly    bool     `json:"readonly,omitzero" doc:"Only tools that only read"`
}

// A Test is a case of tenon api test.
type Test struct {
	Name     string            `json:"name" schema:"minLength=1"`
	Tool     string            `json:"tool,omitzero"`
	Resource string            `json:"resource,omitzero" doc:"The URI of a resource"`
	Prompt   string            `json:"prompt,omitzero"`
	Complete *CompleteTest     `json:"complete,omitzero"`
	Args     json.RawMessage   `json:"args,omitzero" doc:"The arguments, an object"`
	Answers  []Answer          `json:"answers,omitzero" doc:"What the API answers, in this order"`
	Files    map[string]string `json:"files,omitzero" doc:"Files in a folder that is a root of the client: their contents by name"`
	Confirm  string            `json:"confirm,omitzero" doc:"What the user answers; accept if absent" schema:"enum=accept|decline|none"`
	Expect   Expect            `json:"expect"`
	Live     *bool             `json:"live,omitzero" doc:"Whether the case runs with --base; true if absent"`
}

// A CompleteTest completes an argument.
type CompleteTest struct {
	Prompt   string            `json:"prompt,omitzero"`
	Resource string            `json:"resource,omitzero" doc:"A URI template"`
	Argument string            `json:"argument"`
	Value    string            `json:"value,omitzero"`
	Others   map[string]string `json:"others,omitzero"`
}

// An Answer is what the API answers to a request.
type Answer struct {
	Request string            `json:"request" doc:"The method, path and query that must be requested"`
	Headers map[string]string `json:"headers,omitzero" doc:"Headers that must be sent"`
	Sent    json.RawMessage   `json:"sent,omitzero" doc:"The body that must be sent; of multipart/form-data an object with the fields"`
	Status  int               `json:"status,omitzero" doc:"200 if absent" schema:"minimum=100,maximum=599"`
	Reply   map[string]string `json:"reply,omitzero" doc:"Headers of the answer"`
	Body    json.RawMessage   `json:"body,omitzero" doc:"JSON, or a text"`
}

// Expect is what a case must result in.
type Expect struct {
	Result   json.RawMessage `json:"result,omitzero" doc:"The structured content"`
	Text     string          `json:"text,omitzero" doc:"The text"`
	Contains []string        `json:"contains,omitzero" doc:"Parts of the text"`
	Check    string          `json:"check,omitzero" doc:"jq on the structured content that must be true"`
	Error    string          `json:"error,omitzero" doc:"A part of the text of a failed call"`
	Asked    string          `json:"asked,omitzero" doc:"A part of the question to the user"`
	Requests int             `json:"requests,omitzero" doc:"The number of requests"`
}
