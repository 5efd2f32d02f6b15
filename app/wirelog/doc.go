// Package wirelog keeps a log of the messages between clients and servers.
//
// A [Log] holds the latest messages, bounded in number and in bytes. Each
// connection writes to it through its own [Wire], which parses every frame once:
// the kind of message, the request it belongs to, its revision, and the rules of
// the specification that it breaks (see package speccheck). Readers pull messages
// with [Log.Since] and [Log.Filter] and are woken by [Log.Watch]; a slow reader
// blocks nobody and finds a gap instead. A [Tracer] prints messages as they pass.
//
// Secrets in HTTP headers are never kept. Secrets in frames are removed when a
// message is read, if [LogOptions] names them.
package wirelog
