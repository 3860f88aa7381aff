package effects

import (
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/starhost/starhost/internal/errtext"
)

// lazyRegexp returns a function that compiles a regular expression at its first call, because compiling all
// of them when the program starts would delay the start.
func lazyRegexp(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// maxURL is the most bytes of a URL.
const maxURL = 8 << 10

// A target is a URL in a normal form. Permissions are compared with this form only.
type target struct {
	scheme string     // "http" or "https"
	host   string     // in lower case; an IPv6 address in brackets
	addr   netip.Addr // set only if the host is an address
	port   int
	path   string // with as few escapes as possible, begins with "/"
	query  string // as the URL has it
}

// defaultPorts are the ports that a URL need not state.
var defaultPorts = map[string]int{"http": 80, "https": 443}

// parseTarget reads an absolute URL. It refuses forms that clients read in different ways, or that hide the
// destination: unusual forms of addresses, "..", and credentials.
func parseTarget(text string) (*target, error) {
	fail := func(format string, args ...any) (*target, error) {
		return nil, errorf("E0510", "URL %s: %s", errtext.Quote(text), errtext.Format(format, args...))
	}
	if len(text) > maxURL {
		return fail("got %d bytes, want at most %d", len(text), maxURL)
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || strings.Contains(text, `\`) || u.Opaque != "":
		return fail("want one as https://pager.internal/oncall")
	case defaultPorts[u.Scheme] == 0:
		return fail("got scheme %q, want https or http", u.Scheme)
	case u.User != nil:
		return errURLCredentials()
	}
	t := &target{scheme: u.Scheme, query: u.RawQuery}
	if t.host, t.addr, err = parseHost(u.Host[:len(u.Host)-len(portSuffix(u))]); err != nil {
		return fail("%v", err)
	}
	if t.port, err = portOf(u); err != nil {
		return fail("%v", err)
	}
	if t.path, err = normalPath(u.EscapedPath()); err != nil {
		return fail("%v", err)
	}
	return t, nil
}

// errURLCredentials returns the error for a URL with a user or password. The error does not show the URL,
// because it may contain a password.
func errURLCredentials() (*target, error) {
	return nil, errorf("E0510", "URL: got a user's name or password in it, want these in auth")
}

// portSuffix returns the colon and the port of a URL's host, or "".
func portSuffix(u *url.URL) string {
	if u.Port() == "" && !strings.HasSuffix(u.Host, ":") {
		return ""
	}
	return ":" + u.Port()
}

// portOf returns the port of a URL. If the URL states none, the port is the scheme's.
func portOf(u *url.URL) (int, error) {
	if u.Port() == "" {
		return defaultPorts[u.Scheme], nil
	}
	return parsePort(u.Port())
}

// numericLabel matches a host whose last label is a decimal, octal or hexadecimal number. No name of a host
// has such a label, so some programs would read the host as an address.
var numericLabel = lazyRegexp(`(^|\.)([0-9]+|0x[0-9a-f]*)$`)

// parseHost returns a host in lower case, and its address if it is one.
func parseHost(host string) (string, netip.Addr, error) {
	host = strings.ToLower(host)
	inner, bracketed := strings.CutPrefix(host, "[")
	addr, err := netip.ParseAddr(strings.TrimSuffix(inner, "]"))
	switch {
	case err == nil && bracketed && addr.Is6() && !addr.Is4In6() && addr.Zone() == "":
		return "[" + addr.String() + "]", addr, nil
	case err == nil && !bracketed && addr.Is4():
		return host, addr, nil
	case bracketed, numericLabel().MatchString(host), !hostName().MatchString(host), strings.Contains(host, "*"):
		return "", netip.Addr{}, errtext.Errorf("got host %q, want a name as pager.internal, or an address as 10.0.0.1 or [::1]", host)
	}
	return host, netip.Addr{}, nil
}

// normalPath returns an escaped path with only the escapes that it needs. A "." or ".." between
// slashes or backslashes is an error.
func normalPath(escaped string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(escaped); i++ {
		if escaped[i] != '%' {
			b.WriteByte(escaped[i])
			continue
		}
		c, err := strconv.ParseUint(escaped[i+1:min(i+3, len(escaped))], 16, 8)
		if err != nil || i+3 > len(escaped) {
			return "", errtext.Errorf("got path %q, want %% followed by two digits", escaped)
		}
		if unreserved(byte(c)) {
			b.WriteByte(byte(c))
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
		i += 2
	}
	normal := "/" + strings.TrimPrefix(b.String(), "/")
	plain, err := url.PathUnescape(normal)
	for name := range strings.SplitSeq(strings.ReplaceAll(plain, `\`, "/"), "/") {
		// Java servers drop the parameters behind a semicolon, so that "..;a" is ".." there.
		if name, _, _ = strings.Cut(name, ";"); name == "." || name == ".." || err != nil {
			return "", errtext.Errorf("got path %q, want one without a . or .. among its names", escaped)
		}
	}
	return normal, nil
}

// unreserved reports whether a character means the same with and without an escape.
func unreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

// authority returns host and port, without the scheme's default port.
func (t *target) authority() string {
	if t.port == defaultPorts[t.scheme] {
		return t.host
	}
	return t.host + ":" + strconv.Itoa(t.port)
}

// origin returns the scheme, the host and the port. If a redirect leads to another origin, starhost sends no
// secrets there.
func (t *target) origin() string { return t.scheme + "://" + t.authority() }

// base returns the URL without its query.
func (t *target) base() string { return t.origin() + t.path }

// url returns the whole URL.
func (t *target) url() string {
	if t.query == "" {
		return t.base()
	}
	return t.base() + "?" + t.query
}

// pattern returns the narrowest permission that allows a method on the target.
func (t *target) pattern(method string) string {
	var b strings.Builder
	if method != "GET" && method != "HEAD" {
		b.WriteString(method + " ")
	}
	if t.scheme == "http" {
		b.WriteString("http://")
	}
	return b.String() + t.authority()
}

// pathPattern returns the narrowest permission that allows a method on the target's path. If no permission
// can spell the path, the result is that of pattern, which allows the whole host.
func (t *target) pathPattern(method string) string {
	if !httpPath().MatchString(t.path) || strings.HasSuffix(t.path, "*") {
		return t.pattern(method)
	}
	return t.pattern(method) + t.path
}

// hasPathRule reports whether a permission allows a method on some paths of the target's host.
func (g Grants) hasPathRule(method string, t *target) bool {
	return slices.ContainsFunc(g, func(p Permission) bool {
		rule := parseHTTPRule(p.Pattern)
		limited := p.Kind == "http" && rule.path != ""
		rule.path = ""
		return limited && rule.allows(method, t)
	})
}

// withAddress returns a copy of the target whose host is an address.
func (t *target) withAddress(addr netip.Addr) *target {
	moved := *t
	moved.addr, moved.host = addr, addr.String()
	if addr.Is6() {
		moved.host = "[" + moved.host + "]"
	}
	return &moved
}

// An httpRule is the pattern of an http permission, read into its parts.
type httpRule struct {
	methods      []string
	scheme, host string
	port         int
	path         string // "" allows any path
}

// parseHTTPRule reads the canonical pattern of an http permission.
func parseHTTPRule(pattern string) httpRule {
	r := httpRule{methods: []string{"GET", "HEAD"}, scheme: "https"}
	if methods, rest, ok := strings.Cut(pattern, " "); ok {
		r.methods, pattern = strings.Split(methods, ","), rest
	}
	if rest, ok := strings.CutPrefix(pattern, "http://"); ok {
		r.scheme, pattern = "http", rest
	}
	if i := strings.IndexByte(pattern, '/'); i >= 0 {
		r.path, pattern = pattern[i:], pattern[:i]
	}
	host, port, _ := splitPort(pattern)
	r.host, r.port = host, defaultPorts[r.scheme]
	if port != "" {
		r.port, _ = strconv.Atoi(port[1:])
	}
	return r
}

// allows reports whether the rule allows a method on a target.
func (r httpRule) allows(method string, t *target) bool {
	return slices.Contains(r.methods, method) && r.scheme == t.scheme && r.port == t.port &&
		matchHost(r.host, t.host) && r.allowsPath(t.path)
}

// allowsPath reports whether the rule allows a path in its normal form. A rule that ends with "*" allows all
// paths with the part before; another rule allows one path.
func (r httpRule) allowsPath(p string) bool {
	if r.path == "" {
		return true
	}
	prefix, wild := strings.CutSuffix(r.path, "*")
	normal, err := normalPath(prefix)
	return err == nil && (normal == p || wild && strings.HasPrefix(p, normal))
}

var addressPattern = lazyRegexp(`^([0-9][0-9.*]*|\[.*\])$`)

// matchHost reports whether a pattern matches a host. "*" stands for any characters. A pattern
// of numbers matches only addresses and a pattern of names only names, so that a name such as
// 10.0.evil.example cannot pass for 10.0.*. A lone "*" matches both.
func matchHost(pattern, host string) bool {
	if pattern != "*" && addressPattern().MatchString(pattern) != addressPattern().MatchString(host) {
		return false
	}
	if strings.HasPrefix(pattern, "[") {
		return pattern == host
	}
	ok, err := path.Match(pattern, host)
	return ok && err == nil
}

var spelledAddress = lazyRegexp(`^([0-9]+\.[0-9.*]+|\[.*\])$`)

// allowsRequest returns a function that reports whether a permission allows a method on a target.
func allowsRequest(method string, t *target) func(Permission) bool {
	return func(p Permission) bool {
		return p.Kind == "http" && parseHTTPRule(p.Pattern).allows(method, t)
	}
}

// allowsAddress reports whether a permission allows a method on a target whose host is an address. Only
// permissions that spell the first number of the address count.
func (g Grants) allowsAddress(method string, t *target) bool {
	return slices.ContainsFunc(g, func(p Permission) bool {
		rule := parseHTTPRule(p.Pattern)
		return p.Kind == "http" && spelledAddress().MatchString(rule.host) && rule.allows(method, t)
	})
}

// specialNetworks are networks of special use. Plugins must not reach them without an explicit
// grant, because servers there trust callers from the inside, or because such an address is
// another address in disguise. The last line has addresses of public networks at which clouds
// (Azure, Equinix Metal) serve each machine its own configuration and credentials.
var specialNetworks = sync.OnceValue(func() []netip.Prefix {
	return parsePrefixes(
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
		"192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3",
		"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
		"168.63.129.16/32", "192.80.8.124/32",
	)
})

// global6 contains the public IPv6 addresses. Loopback, link-local, private, multicast, mapped,
// compatible and translated (NAT64) addresses are outside.
var global6 = netip.MustParsePrefix("2000::/3")

func parsePrefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, t := range texts {
		list[i] = netip.MustParsePrefix(t)
	}
	return list
}

func isPublic(addr netip.Addr) bool {
	special := slices.ContainsFunc(specialNetworks(), func(p netip.Prefix) bool { return p.Contains(addr) })
	return !special && (addr.Is4() || global6.Contains(addr)) && addr.Zone() == ""
}
