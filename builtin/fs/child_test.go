package fs

// children are what the test binary does when it is started as a child.
var children = map[string]func(){}
