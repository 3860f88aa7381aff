package model

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"syscall"
	"time"
)

const (
	maxRetries = 4
	// firstPause is the pause before the second try; each further pause is twice as long.
	firstPause = 500 * time.Millisecond
	// maxPause is the most time that starhost waits because an endpoint asks for it.
	maxPause = time.Minute
)

// pauseOf returns the pause that an endpoint asks for, or -1.
func pauseOf(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms >= 0 {
		return seconds(ms / 1000)
	}
	after := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(after, 64); err == nil && s >= 0 {
		return seconds(s)
	}
	if at, err := http.ParseTime(after); err == nil {
		return max(0, time.Until(at))
	}
	return -1
}

// seconds returns a duration of at most a day, because a larger number could overflow.
func seconds(s float64) time.Duration {
	return time.Duration(min(s, 24*60*60) * float64(time.Second))
}

// pauseAfter returns the pause before the next try after an error. again is false if no further try
// makes sense.
func pauseAfter(err error, try int) (pause time.Duration, again bool) {
	backoff := firstPause << try
	backoff += rand.N(backoff / 2) //nolint:gosec // jitter
	refused, isRefusal := errors.AsType[*Error](err)
	switch {
	case try >= maxRetries:
		return 0, false
	case errors.Is(err, syscall.ECONNREFUSED):
		return backoff, true
	case !isRefusal || !refused.isTransient() || refused.pause > maxPause:
		return 0, false
	case refused.pause >= 0:
		return refused.pause, true
	}
	return backoff, true
}

// sleep waits, unless ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
