package neko

import (
	"fmt"
	"net"
	"syscall"
)

// checkLoopback refuses a connection to another machine, whatever a host name resolved to.
func checkLoopback(_, address string, _ syscall.RawConn) error {
	host, _, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("%s is not this machine", address)
	}
	return nil
}
