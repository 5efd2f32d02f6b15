package stdio

import "os"

// endingSignal returns nil: Windows ends processes without signals.
func endingSignal(*os.ProcessState) os.Signal { return nil }
