// Package fetch gets documents from URLs chosen by others.
//
// In OAuth an MCP server names its authorization server, which names its key
// set. Each of these URLs could make this process send requests into a network
// that only this process can reach (SSRF). A [Client] applies these rules to
// all
// of them:
//
//   - The address is checked when it is dialled, after the name is resolved, so
//     that neither an unusual spelling nor DNS rebinding gets around the check.
//     Loopback, private and other special ranges are refused unless [Options]
//     allows them; link-local, where clouds serve credentials, is always
//
// refused.
//   - https only. Plain http is for loopback, if it is allowed.
//   - A GET follows at most three redirects within the same origin.
//   - A body has at most 1 MiB, a header 16 KiB, and an exchange takes at most
//     10 seconds.
//   - No proxy is used unless [Options] sets one, since a proxy resolves names
//     itself. Only https requests to other machines use the proxy. Addresses,
//     unusual spellings of addresses and names of private networks are refused
//     as without a proxy; the proxy must check where a public name leads.
//
// Errors contain the scheme, host and path of a URL, never its query, and no
// data that was sent or received.
package fetch
