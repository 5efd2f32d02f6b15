package stdio

// strayOutsideGo does nothing: on Windows only what goes through package os is
// caught.
func strayOutsideGo() {}
