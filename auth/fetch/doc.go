// Package fetch gets documents from addresses that somebody else chose.
//
// In OAuth a server names its authorization server, that names its key set, and
// each of these names is a way to make this process knock at a door that only
// this process can reach. So one client is used for all of them, and it keeps
// these rules:
//
//   - The address is judged when it is dialled, after the name was resolved, so
//     neither a clever spelling nor a name that changes its mind gets around it.
//     Loopback, private and every other special range is refused unless
//     [Options] says otherwise; link-local (where clouds keep their credentials)
//     always is.
//   - https only. Plain http is for loopback, when that is allowed at all.
//   - A redirect is followed for GET, within the same origin, three times.
//   - A body has at most 1 MiB, a header 16 KiB, and everything 10 seconds.
//   - No proxy is used unless [Options] says so, since it is the proxy that
//     resolves names then. Through a proxy go https requests to other machines
//     only. Addresses, unusual spellings of addresses and names of private
//     networks are refused as without one; where a public name leads is for the
//     proxy to judge.
//
// Errors name scheme, host and path of the URL, never its query, and nothing of
// what was sent or received.
package fetch
