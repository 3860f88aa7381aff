// Package loopback tells the names of this machine from those of others.
package loopback

import (
	"net"
	"strings"
)

// Is reports whether a host of a URL is a loopback address or localhost, so that only programs of this machine
// are at the other end.
func Is(host string) bool {
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
