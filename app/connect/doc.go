// Package connect turns an entry of the configuration into a live server: a
// program that is started, an address that is called, or a builtin server in
// this process.
//
//	one := connect.New(entry, nil)      // returns at once
//	defer one.Close()
//	tools, err := client.All(one.Client().Tools(ctx))
//
// A [Server] looks after one of them. It starts in the background, so that a
// server that is slow, dead or hostile holds up nobody but its own callers; it
// is started again when it ends; and every change of its [State] is told. A
// [Fleet] holds many that know nothing of each other.
//
// The way from an entry to a Handler:
//
//	entry      config.Server                               app/config
//	link       process, endpoint or pipe in memory         program.go, web.go, memory.go
//	era        which revision does it speak?               era.Dial
//	keeper     start, start again, give up                 stdio.Restarter
//	Server     state, latency, last words                  server.go, state.go
//	Client     typed calls, questions to the person        package client
package connect
