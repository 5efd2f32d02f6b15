// Package connect turns an entry of the configuration into a live server: a
// process, a URL, or a builtin server in this process.
//
//	one := connect.New(entry, nil)      // returns at once
//	defer one.Close()
//	tools, err := client.All(one.Client().Tools(ctx))
//
// A [Server] manages one of them. It starts in the background, so that a slow or
// failing server delays only its own callers; it restarts after a failure; and it
// reports every change of its [State]. A [Fleet] is a set of independent servers.
//
// The layers from an entry to a client:
//
//	entry      config.Server                               app/config
//	link       process, endpoint or pipe in memory         program.go, web.go, memory.go
//	era        detects the protocol revision               era.Dial
//	keeper     starts, restarts, gives up                  internal/restart
//	Server     state, latency, last lines of stderr        server.go, state.go
//	tasks      waits for calls that run as tasks           ext/tasks
//	Client     typed calls, questions to the user          package client
package connect
