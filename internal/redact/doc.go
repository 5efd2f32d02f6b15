// Package redact removes secrets from logs, recordings and displayed text.
//
// It finds a secret by its name ("password", "GITHUB_TOKEN", "?api_key=",
// "Authorization:") in JSON, URLs, DSNs, headers, command lines and free text. It
// also finds the values in a [Values], such as the secrets of the configuration,
// of logins and of forms, anywhere, also URL-encoded, base64-encoded or
// JSON-escaped.
//
// A value that only refers to a secret, such as "Bearer ${TOKEN}", is kept.
package redact

// Mark replaces a secret.
const Mark = "[redacted]"
