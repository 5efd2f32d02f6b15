// Package stdio carries messages over the standard input and output of
// processes, one message on each line. Package socket does the same over
// sockets.
//
// A server calls [Serve], which keeps stray output away from the messages (see
// [Standard]). A host describes a server program with a [Command] and calls
// [Dial], which starts it as a [Child] and connects to the server in it;
// [Supervise] also restarts it when it ends.
//
// # What a server process gets
//
// No shell reads its command line. It gets a short list of environment
// variables and those that the Command adds, descriptors 0, 1 and 2, and a
// process group of its own (on Windows a job object). Files that Go opens are
// not inherited. Where this process itself inherited other descriptors, its
// servers inherit them too, unless its main function calls [CloseOnExec].
//
// # How a server process ends
//
// [Child.Close] closes its input, waits, asks it to terminate, waits, and kills
// it, always with all that it started. When a server ends by itself, what it
// left running is killed.
//
// When this process ends without Close, even by SIGKILL, nothing stays either:
//
//	Unix     A guard, a tiny /bin/sh process for each server, sees the end of
//	         this process, asks the server's process group to terminate and
//	         kills it a second later. Where there is no /bin/sh, Linux kills
//	         the server itself, but not what it started; elsewhere the server
//	         sees the end of its input and should end.
//	Windows  The system ends all processes of the job object at once.
//
// On Unix a process that leaves the group on purpose (setsid, a daemon)
// escapes, and so does one that runs under another user than this process. The
// guard is there against accidents and not against a server that means harm:
// such a server could kill its guard. Run that in a sandbox.
package stdio
