// Package api has tests only: the builtin packs against mocks of their APIs, with
// faults between them.
package api
