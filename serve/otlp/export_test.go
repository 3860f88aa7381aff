package otlp

import "time"

// SetBatchTime changes the time that a span waits until the test calls restore.
func SetBatchTime(d time.Duration) (restore func()) {
	old := batchTime
	batchTime = d
	return func() { batchTime = old }
}
