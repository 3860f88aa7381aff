package effects

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/near"
	"github.com/starhost/starhost/internal/shellwords"
)

// A Permission is one thing that a plugin declares or an operator grants. The zero value allows
// nothing.
type Permission struct {
	// Kind names the kind of effect: "fs.read".
	Kind string
	// Pattern says what the effect may touch, in a form that depends on the kind: "runbooks/**". It is "" for
	// a kind without a form.
	Pattern string
}

// A PermissionKind describes one row of the grammar of permissions.
type PermissionKind struct {
	// Name is the name of the kind: "fs.read".
	Name string `json:"kind"`
	// Form is a word for the form of the pattern: "GLOB". It is "" for a kind without a pattern.
	Form string `json:"form"`
	// Doc says in sentences what a permission of the kind allows.
	Doc string `json:"doc"`
	// Example is one permission: "fs.read:runbooks/**".
	Example string `json:"example"`
}

// PermissionKinds returns the grammar of permissions, in the order of the reference.
func PermissionKinds() []PermissionKind {
	kinds := make([]PermissionKind, len(permissionKinds))
	for i, k := range permissionKinds {
		kinds[i] = k.PermissionKind
	}
	return kinds
}

// A permissionKind is one row of the grammar, with its functions.
type permissionKind struct {
	PermissionKind
	// canonical returns the only spelling of the pattern, or an error.
	canonical func(pattern string) (string, error)
	// matcher returns a function that reports whether a valid pattern allows a name. It is nil for a kind
	// whose permissions allow more than names.
	matcher func(pattern string) func(arg string) bool
}

var permissionKinds = []permissionKind{
	{PermissionKind{
		"fs.read", "GLOB",
		"The plugin reads, lists and searches files of the workspace. The pattern is relative to the workspace: * matches within a folder, ** across folders. A name that begins with a dot matches only if the pattern has the dot.",
		"fs.read:runbooks/**",
	}, canonicalPaths, matchPaths},
	{PermissionKind{
		"fs.write", "GLOB",
		"The plugin writes files of the workspace.",
		"fs.write:reports/*.md",
	}, canonicalPaths, matchPaths},
	{PermissionKind{
		"http", "[METHODS ]HOST[:PORT][/PATH*]",
		"The plugin sends requests to a host. Without METHODS the permission allows GET and HEAD; without http:// in front, https; without PORT, the scheme's port; without PATH, every path. starhost checks redirects and resolved names again: the plugin reaches a loopback, private or link-local address only if the address is the HOST itself, or if a second permission spells it from its first number, as http:10.0.*.",
		"http:GET,POST pager.internal:8443/api/*",
	}, canonicalHTTP, nil},
	{PermissionKind{
		"exec", "ARGV",
		"The plugin runs a program, never through a shell. The first word is the program, which no * may stand for. Behind it, * stands for one argument, and ** at the end for all further ones. The program runs as starhost's user and reads what this user may read; on Linux it cannot read starhost's environment.",
		"exec:kubectl get **",
	}, canonicalArgv, nil},
	{PermissionKind{
		"env", "NAME",
		"The plugin reads an environment variable.",
		"env:CLUSTER_*",
	}, variableName.canonical, matchNames},
	{PermissionKind{
		"secret", "NAME[@HOST]",
		"The plugin uses a secret without seeing it: starhost puts the secret into a request to its host, or into the environment or input of a program.",
		"secret:PAGER_TOKEN@pager.internal",
	}, canonicalSecret, nil},
	{PermissionKind{
		"store", "",
		"The plugin stores its own values across sessions.",
		"store",
	}, nil, matchNames},
	{PermissionKind{
		"tool", "NAME",
		"The plugin calls a tool of another plugin.",
		"tool:memory_*",
	}, toolName.canonical, matchNames},
	{PermissionKind{
		"event", "NAME",
		"The plugin fires an event that it declares.",
		"event:app.deploys.*",
	}, eventName.canonical, matchNames},
	{PermissionKind{
		"fragment", "PREFIX",
		"The plugin resolves references of another plugin. The prefix sha256 stands for the texts in the store, also if an alias names them.",
		"fragment:runbook",
	}, prefixName.canonical, matchNames},
	{PermissionKind{
		"override", "NAME",
		"The plugin registers a tool of that name in place of another plugin's. With modify(tools = ...) it can also add another plugin's tool to one request, or describe it anew.",
		"override:web_search",
	}, toolName.canonical, matchNames},
	{PermissionKind{
		"respond", "TOOL",
		"A hook of the plugin answers calls of another plugin's tool.",
		"respond:web_*",
	}, toolName.canonical, matchNames},
}

// A nameRule is the form of a name with the wildcards "*" and "?".
type nameRule struct {
	valid func() *regexp.Regexp
	want  string // the form in words, for errors
}

var (
	variableName = nameRule{lazyRegexp(`^[A-Za-z_*?][A-Za-z0-9_*?]*$`), "a variable's name of A-Z a-z 0-9 _"}
	toolName     = nameRule{lazyRegexp(`^[A-Za-z0-9_*?-]+$`), "a name of A-Z a-z 0-9 _ -"}
	eventName    = nameRule{lazyRegexp(`^[a-z0-9_.*?-]+$`), "a name of a-z 0-9 _ . -"}
	prefixName   = nameRule{lazyRegexp(`^[a-z*?][a-z0-9_*?-]*$`), "a prefix of a-z 0-9 _ -"}
)

// canonical returns the pattern unchanged, if it follows the rule.
func (r nameRule) canonical(pattern string) (string, error) {
	if !r.valid().MatchString(pattern) {
		return "", errtext.Errorf("got name %q, want %s, with * and ? as wildcards", pattern, r.want)
	}
	return pattern, nil
}

var (
	hostName    = lazyRegexp(`^[a-z0-9_*-]+(\.[a-z0-9_*-]+)*$`)
	httpPath    = lazyRegexp(`^/[A-Za-z0-9._~!$&'()+,;=:@%/-]*\*?$`)
	httpMethods = lazyRegexp(`^[A-Z]+(,[A-Z]+)*$`)
)

func kindOf(name string) *permissionKind {
	i := slices.IndexFunc(permissionKinds, func(k permissionKind) bool { return k.Name == name })
	if i < 0 {
		return nil
	}
	return &permissionKinds[i]
}

// maxPermission is the most bytes of a permission.
const maxPermission = 4 << 10

// ParsePermission reads a permission as plugins and operators write it. It reads the text of
// [Permission.String] as the same Permission.
func ParsePermission(text string) (Permission, error) {
	fail := func(format string, args ...any) (Permission, error) {
		return Permission{}, errorf("E0502", "permission %q: %s", text, errtext.Format(format, args...))
	}
	name, pattern, hasPattern := strings.Cut(text, ":")
	k := kindOf(name)
	switch {
	case len(text) > maxPermission:
		return fail("got %d bytes, want at most %d", len(text), maxPermission)
	case k == nil:
		return fail("unknown kind %q%s", name, kindHint(name))
	case k.Form == "" && hasPattern:
		return fail("want %s alone", name)
	case k.Form == "":
		return Permission{Kind: name}, nil
	case pattern == "":
		return fail("want %s:%s", name, k.Form)
	}
	canonical, err := k.canonical(pattern)
	if err != nil {
		return fail("%v", err)
	}
	return Permission{Kind: name, Pattern: canonical}, nil
}

// kindHint suggests the kind that was probably meant, or lists all kinds.
func kindHint(name string) string {
	var names []string
	for _, k := range permissionKinds {
		names = append(names, k.Name)
	}
	slices.Sort(names)
	if hint := near.DidYouMean(name, names); hint != "" {
		return hint
	}
	return ", want one of " + strings.Join(names, ", ")
}

// String returns the permission as people write it: "fs.read:runbooks/**".
func (p Permission) String() string {
	if p.Pattern == "" {
		return p.Kind
	}
	return p.Kind + ":" + p.Pattern
}

// matcher returns a function that reports whether the permission allows a name.
func (p Permission) matcher() func(arg string) bool {
	if k := kindOf(p.Kind); k != nil && k.matcher != nil {
		return k.matcher(p.Pattern)
	}
	return func(string) bool { return false }
}

// Grants is a list of permissions. It allows whatever at least one of them allows. Nil allows nothing.
type Grants []Permission

// ParseGrants reads permissions. Its error is that of the first invalid text, and quotes the text.
func ParseGrants(texts []string) (Grants, error) {
	g := make(Grants, len(texts))
	for i, t := range texts {
		var err error
		if g[i], err = ParsePermission(t); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// Allows reports whether the permissions of a kind allow arg: for fs.read and fs.write a clean
// path with "/", for other kinds a name. It returns false for http, exec and secret, because
// these allow more than names: ask a [World].
func (g Grants) Allows(kind, arg string) bool { return slices.ContainsFunc(g, allowsName(kind, arg)) }

// allowsFunc returns the method Allows for one kind. It parses the patterns once, for callers that ask often.
func (g Grants) allowsFunc(kind string) func(arg string) bool {
	var matchers []func(string) bool
	for _, p := range g {
		if p.Kind == kind {
			matchers = append(matchers, p.matcher())
		}
	}
	return func(arg string) bool {
		return slices.ContainsFunc(matchers, func(m func(string) bool) bool { return m(arg) })
	}
}

// allowsName returns a function that reports whether a permission allows a clean path or a name.
func allowsName(kind, arg string) func(Permission) bool {
	return func(p Permission) bool { return p.Kind == kind && p.matcher()(arg) }
}

// allowsGlob returns a function that reports whether a permission can allow some path that a pattern of files
// matches.
func allowsGlob(kind string, pattern *glob) func(Permission) bool {
	return func(p Permission) bool {
		own, err := parseGlob(p.Pattern)
		return p.Kind == kind && err == nil && own.overlaps(pattern)
	}
}

func matchPaths(pattern string) func(string) bool {
	g, err := parseGlob(pattern)
	if err != nil { // ParsePermission did not make this Permission
		return func(string) bool { return false }
	}
	return g.match
}

func matchNames(pattern string) func(string) bool {
	return func(name string) bool {
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	}
}

func canonicalPaths(pattern string) (string, error) {
	if strings.HasSuffix(pattern, "/") {
		return "", errtext.Errorf("want %s** for all files of the folder", pattern)
	}
	if _, err := parseGlob(pattern); err != nil {
		return "", err
	}
	return cleanPath(pattern)
}

func canonicalSecret(pattern string) (string, error) {
	name, host, bound := strings.Cut(pattern, "@")
	if name, err := variableName.canonical(name); err != nil || !bound {
		return name, err
	}
	host, err := canonicalHost(host)
	return name + "@" + host, err
}

// canonicalArgv returns the words of a pattern of a command, with one blank between them. "*" stands for one
// argument, a final "**" for the rest. The program itself must be spelled out.
func canonicalArgv(pattern string) (string, error) {
	argv := strings.Fields(pattern)
	for i, arg := range argv {
		switch {
		case strings.ContainsFunc(arg, func(r rune) bool { return r < ' ' || r == 0x7f }):
			return "", errtext.Errorf("got a control character in %q", arg)
		case arg == "*" && i > 0, arg == "**" && i > 0 && i == len(argv)-1, !strings.Contains(arg, "*"):
		default:
			return "", errtext.Errorf("got %q as argument %d, want the program spelled, then words, * for one argument, and ** at the end for the rest", arg, i)
		}
	}
	if len(argv) == 0 {
		return "", errtext.Errorf("want a program")
	}
	return strings.Join(argv, " "), nil
}

// canonicalHTTP drops a leading https:// from a pattern, because https is the default, and sorts the methods.
func canonicalHTTP(pattern string) (string, error) {
	var methods, scheme string
	target := pattern
	if m, rest, ok := strings.Cut(pattern, " "); ok {
		methods, target = strings.ToUpper(m), rest
		if !httpMethods().MatchString(methods) {
			return "", errtext.Errorf("got methods %q, want names as GET,POST", m)
		}
		list := strings.Split(methods, ",")
		slices.Sort(list)
		methods = strings.Join(slices.Compact(list), ",") + " "
	}
	if rest, ok := strings.CutPrefix(target, "http://"); ok {
		scheme, target = "http://", rest
	}
	target = strings.TrimPrefix(target, "https://")
	place := ""
	if i := strings.IndexByte(target, '/'); i >= 0 {
		target, place = target[:i], target[i:]
		if !httpPath().MatchString(place) || hasDotDot(place) {
			return "", errtext.Errorf("got path %q, want one without .., ? and #, with * at its end only", place)
		}
		prefix, wild := strings.CutSuffix(place, "*")
		normal, err := normalPath(prefix)
		if err != nil {
			return "", err
		}
		if place = normal; wild {
			place += "*"
		}
	}
	host, port, err := splitPort(target)
	if err != nil {
		return "", err
	}
	host, err = canonicalHost(host)
	return methods + scheme + host + port + place, err
}

// splitPort splits HOST[:PORT]; the port keeps its colon.
func splitPort(target string) (host, port string, err error) {
	i := strings.LastIndexByte(target, ':')
	if i < 0 || strings.HasSuffix(target, "]") {
		return target, "", nil
	}
	n, err := parsePort(target[i+1:])
	if err != nil {
		return "", "", err
	}
	return target[:i], fmt.Sprintf(":%d", n), nil
}

// parsePort reads the number of a port, in a permission's pattern or a URL.
func parsePort(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		return 0, errtext.Errorf("got port %q, want 1 to 65535", text)
	}
	return int(n), nil
}

// canonicalHost returns a host's name, which may have the wildcard "*", or its address.
func canonicalHost(host string) (string, error) {
	lower := strings.ToLower(host)
	if inner, ok := strings.CutPrefix(lower, "["); ok {
		addr, err := netip.ParseAddr(strings.TrimSuffix(inner, "]"))
		if err == nil && addr.Is6() && addr.Zone() == "" && strings.HasSuffix(inner, "]") {
			return "[" + addr.String() + "]", nil
		}
	} else if hostName().MatchString(lower) {
		return lower, nil
	}
	return "", errtext.Errorf("got host %q, want a name as pager.internal or *.internal, or an address as 10.0.0.1 or [::1]", host)
}

// A PermissionError reports that a plugin may not do an effect, and says which permission to add where, so
// that it may.
type PermissionError struct {
	Plugin     string
	Permission string // the narrowest one that is enough: "fs.read:runbooks/a.md"
	Declared   bool   // the plugin declares Permission
	Granted    bool   // the operator grants Permission
	Grant      string // the declared permission to grant; "" if it is Permission
	Why        string // why the effect needs it, if that is not obvious; else ""
	// Lacking are further permissions that the plugin declares and the operator does not grant, so that the
	// message names all at once.
	Lacking []string
	HasList bool   // the operator grants the plugin other permissions
	Ignored string // which grant of Permission does not count, and why; or ""
}

// Code returns "E0501", which [Codes] explains.
func (e *PermissionError) Code() string { return "E0501" }

// Error says what is refused, and prints the lines to add to the plugin and to the config.
func (e *PermissionError) Error() string {
	var todo []string
	if !e.Declared {
		todo = append(todo, errtext.Format("add %q to plugin(permissions = [...])", e.Permission))
	}
	if grant := cmp.Or(e.Grant, e.Permission); !e.Granted {
		var quoted, flags []string
		for _, g := range append([]string{grant}, e.Lacking...) {
			quoted = append(quoted, errtext.Format("%q", g))
			// Quotes of a shell do not hide control characters from a terminal.
			if !strings.ContainsFunc(g, func(r rune) bool { return !strconv.IsPrint(r) }) {
				flags = append(flags, "--grant "+shellwords.Quote(e.Plugin+"="+errtext.Cut(g)))
			}
		}
		text := fmt.Sprintf("add to [grants] of your config: %s = [%s]", e.Plugin, strings.Join(quoted, ", "))
		if e.HasList {
			text = fmt.Sprintf("add to the list %s in [grants] of your config: %s", e.Plugin, strings.Join(quoted, ", "))
		}
		if len(flags) == len(quoted) {
			text += fmt.Sprintf(" (or %s)", strings.Join(flags, " "))
		}
		if e.Ignored != "" {
			text = e.Ignored + "; else " + text
		}
		todo = append(todo, text)
	}
	why := ""
	if e.Why != "" {
		why = " (" + e.Why + ")"
	}
	return fmt.Sprintf("plugin %s has no permission %s%s: %s", e.Plugin, errtext.Word(e.Permission), why, strings.Join(todo, "; "))
}

// refusal returns an error unless the plugin declares a permission that may accepts, and the operator grants
// one that may accepts. kind and pattern are the narrowest permission that would be enough.
func (w *World) refusal(kind, pattern string, may func(Permission) bool) error {
	declared, granted := slices.IndexFunc(w.Declared, may), slices.ContainsFunc(w.Granted, may)
	if declared >= 0 && granted {
		return nil
	}
	e := &PermissionError{
		Plugin: w.Plugin, Permission: Permission{kind, pattern}.String(), Declared: declared >= 0, Granted: granted,
	}
	if e.Declared {
		e.Grant = w.Declared[declared].String()
	}
	if e.Granted {
		return e
	}
	for _, p := range w.Declared {
		if text := p.String(); text != e.Grant && !slices.ContainsFunc(w.Granted, p.Overlaps) {
			e.Lacking = append(e.Lacking, text)
		}
	}
	e.HasList = len(w.Granted) > 0
	for _, why := range slices.Sorted(maps.Keys(w.Ignored)) {
		if e.Ignored == "" && (w.Ignored[why] == nil || slices.ContainsFunc(w.Ignored[why], may)) {
			e.Ignored = why
		}
	}
	return e
}

// mayName returns an error if the plugin has no permission for a name. kind is a kind whose patterns are
// names.
func (w *World) mayName(kind, name string) error {
	return w.refusal(kind, name, allowsName(kind, name))
}

func checkRead(w *World, clean string) error {
	return w.refusal("fs.read", quoteGlob(clean), allowsName("fs.read", clean))
}

// mayFetch returns an error if the plugin has no permission to send a request with the method to the target.
// If the plugin or the operator names paths of the host, the error proposes the path, too.
func (w *World) mayFetch(method string, t *target) error {
	pattern := t.pattern(method)
	if w.Declared.hasPathRule(method, t) || w.Granted.hasPathRule(method, t) {
		pattern = t.pathPattern(method)
	}
	return w.refusal("http", pattern, allowsRequest(method, t))
}

// mayDial returns an error for an address of the target's host that is not public, unless a grant spells the
// address.
func (w *World) mayDial(method string, t *target, addr netip.Addr) error {
	addr = addr.Unmap()
	moved := t.withAddress(addr)
	if isPublic(addr) || w.Granted.allowsAddress(method, moved) {
		return nil
	}
	return &PermissionError{
		Plugin: w.Plugin, Permission: "http:" + moved.pattern(method), Declared: true,
		Why: fmt.Sprintf("%s leads to an address that is not public", t.host),
	}
}

// maySend returns an error if the plugin has no permission of any method for the target. The error proposes
// POST if the plugin or the operator names POST only, else GET.
func maySend(w *World, t *target) error {
	get, post := w.mayFetch(http.MethodGet, t), w.mayFetch(http.MethodPost, t)
	if get == nil || post == nil {
		return nil
	}
	if half := new(PermissionError); errors.As(post, &half) && (half.Declared || half.Granted) {
		return post
	}
	return get
}

func (w *World) mayReveal(name, host string) error {
	pattern := name
	if host != thisMachine {
		pattern += "@" + host
	}
	return w.refusal("secret", pattern, allowsSecret(name, host))
}

// mayRevealAll returns an error if the plugin may not send the secrets in the list to a host. The host may be
// thisMachine, for programs.
func mayRevealAll(w *World, host string, list ...Secret) error {
	var names []string
	for _, s := range list {
		names = append(names, s.Names()...)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if err := w.mayReveal(name, host); err != nil {
			return err
		}
	}
	return nil
}

// mayRun returns an error if the plugin has no permission for a command, or for a secret in it.
func mayRun(w *World, c Command) error {
	if err := w.refusal("exec", argvPattern(c.Argv), allowsArgv(c.Argv)); err != nil {
		return err
	}
	return mayRevealAll(w, thisMachine, append(slices.Collect(maps.Values(c.Env)), c.Stdin)...)
}
