// Command reverse passes the requests at its address on to an upstream, with the reverse
// proxy of Go's standard library. bench compares starhost's proxy with it.
package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
)

func main() {
	to, err := url.Parse(os.Args[1])
	if err != nil {
		panic(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(os.Stderr, "standing in for endpoints at http://%s\n", l.Addr())
	panic(http.Serve(l, &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(to) }, FlushInterval: -1,
	}))
}
