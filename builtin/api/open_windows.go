package api

// dontWait is zero: opening a file never waits on Windows.
const dontWait = 0
