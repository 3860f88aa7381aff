package process

import "time"

// SetTimes shortens the pauses and the end of programs, and returns a function that resets them.
func SetTimes(pause, end time.Duration) (reset func()) {
	least, most, delay := minPause, maxPause, endDelay
	minPause, maxPause, endDelay = pause, pause, end
	return func() { minPause, maxPause, endDelay = least, most, delay }
}
