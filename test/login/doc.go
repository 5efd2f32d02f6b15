// Package login logs Tenon in at an authorization server that nobody here
// wrote, with a browser that nobody here wrote: everything is in its tests. The
// README says what they show.
package login
