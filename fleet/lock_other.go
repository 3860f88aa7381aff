//go:build !unix

package fleet

// lock does nothing on a system without flock: the timer runs one round at a time.
func lock(string) (unlock func(), err error) { return func() {}, nil }
