// Package redact takes secrets out of what is logged, recorded or shown.
//
// It knows a secret in two ways. By position: a value whose name tells that it
// is one ("password", "GITHUB_TOKEN", "?api_key=", "Authorization:"), in JSON,
// URLs, DSNs, headers, command lines and free text. And by value: a [Values]
// holds the secrets of the configuration, of logins and of forms, and finds
// them anywhere, also URL-encoded, base64-encoded or JSON-escaped.
//
// A value that only refers to a secret, such as "Bearer ${TOKEN}", is shown.
package redact

// Mark stands where a secret was.
const Mark = "[redacted]"
