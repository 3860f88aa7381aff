package front

import "time"

// SetBodyTimeout changes the time for a body until the test calls restore.
func SetBodyTimeout(d time.Duration) (restore func()) {
	old := bodyTimeout
	bodyTimeout = d
	return func() { bodyTimeout = old }
}
