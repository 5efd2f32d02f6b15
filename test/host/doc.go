// Package host runs the whole host end to end: a model that is a script, and
// real servers over stdio, HTTP and in memory, of both eras; ours, those of the
// reference set from npm (installed by test/peers/install.sh), and some that
// misbehave.
package host
