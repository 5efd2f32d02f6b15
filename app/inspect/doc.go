// Package inspect writes down what passes between clients and servers, explains
// it, judges it, and plays it again.
//
// A [Log] holds what passed, bounded in number and in bytes. Each connection
// writes to it through a [Wire] of its own, which reads every frame once: what
// kind of message it is, which request it belongs to, which revision it speaks,
// and which rules of the specification it breaks. Readers pull from the log
// ([Log.Since], [Log.Filter]) and are woken by [Log.Watch]; a slow reader holds
// up nobody and finds a gap instead.
//
// What is kept shows no secrets of HTTP headers. Bodies are kept as they came;
// a [Recording] written to a file has secrets in bodies taken out as well.
package inspect
