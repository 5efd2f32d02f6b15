package main

import (
	"net"
	"os"
)

// notifySystemd tells systemd about the state of the service (sd_notify), if it
// has started this process as a service of the type notify.
func notifySystemd(state string) {
	socket := os.Getenv("NOTIFY_SOCKET")
	if socket == "" {
		return
	}
	if socket[0] == '@' { // an abstract socket
		socket = "\x00" + socket[1:]
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		return // systemd restarts the service if it waits in vain
	}
	defer conn.Close()
	conn.Write([]byte(state))
}
