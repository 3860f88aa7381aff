package effects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/afero"

	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/near"
)

// Bounds of secrets.
const (
	maxSecret     = 64 << 10 // bytes of a value
	secretTimeout = 30 * time.Second
)

// A Secret is a text that may contain values of secrets. No plugin can read the values: a
// Secret that is printed, formatted or written as JSON has names in their places, as in "Bearer
// <secret TOKEN>". Only headers, parameters and auth of a [Request], and stdin and env of a
// [Command], get the values, each after a check of its permissions. The zero value is "".
type Secret struct{ parts []secretPart }

// A secretPart is a text, or the value of a secret. The value is behind a pointer, so that
// printing a struct with a Secret in it cannot show it.
type secretPart struct {
	text   string
	secret *secretValue
}

// Plain returns a text without secrets.
func Plain(text string) Secret { return Secret{[]secretPart{{text: text}}} }

// Join concatenates texts.
func Join(list ...Secret) Secret {
	var joined Secret
	for _, s := range list {
		joined.parts = append(joined.parts, s.parts...)
	}
	return joined
}

// Names returns the names of the secrets in the text, in order.
func (s Secret) Names() []string {
	var names []string
	for _, p := range s.parts {
		if p.secret != nil {
			names = append(names, p.secret.name)
		}
	}
	return names
}

// String returns the text with names in place of secrets.
func (s Secret) String() string {
	text, _ := s.render(func(p *secretValue) (string, error) { return placeholder(p.name), nil })
	return text
}

// size returns the length of String in bytes, without building the text.
func (s Secret) size() int {
	size := 0
	for _, p := range s.parts {
		if size += len(p.text); p.secret != nil {
			size += len(placeholder(p.secret.name))
		}
	}
	return size
}

// GoString returns the text with names in place of secrets, so that %#v cannot show a value.
func (s Secret) GoString() string { return s.String() }

// Format writes the text with names in place of secrets, for every verb.
func (s Secret) Format(f fmt.State, _ rune) { io.WriteString(f, s.String()) }

// MarshalJSON writes the text with names in place of secrets.
func (s Secret) MarshalJSON() ([]byte, error) { return jsontext.Text(s.String()).MarshalJSON() }

// render returns the text with the result of show in place of each secret.
func (s Secret) render(show func(*secretValue) (string, error)) (string, error) {
	var b strings.Builder
	for _, p := range s.parts {
		text := p.text
		if p.secret != nil {
			var err error
			if text, err = show(p.secret); err != nil {
				return "", err
			}
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

func placeholder(name string) string { return "<secret " + name + ">" }

// secretTexts returns the text with names of each Secret in a map, or nil for an empty map.
func secretTexts(m map[string]Secret) map[string]string {
	if len(m) == 0 {
		return nil
	}
	texts := make(map[string]string, len(m))
	for name, s := range m {
		texts[name] = s.String()
	}
	return texts
}

// A SecretSource says where the value of a secret is. Either File or Command is set.
type SecretSource struct {
	File    string   // the path of a file with the value
	Command []string // a program with arguments, which prints the value
	Dir     string   // the folder that Command runs in, "" for the current one
}

// SecretOptions say where the values of secrets are. The zero value has no secrets.
type SecretOptions struct {
	// Sources are the places of secrets by name. The value of any other secret is in the
	// environment variable of its name, or in the file that NAME_FILE names.
	Sources map[string]SecretSource
	// LookupEnv returns environment variables; nil means that none is set.
	LookupEnv func(string) (string, bool)
	// Patterns match texts that starhost removes in the same way as the values of secrets.
	Patterns []*regexp.Regexp
}

// Secrets read the value of each secret once, at its first use. They also remove the values from texts, as a
// second net; see [Secrets.Redact]. A nil *Secrets has no secrets. Secrets are safe for concurrent use.
type Secrets struct {
	o        SecretOptions
	mu       sync.Mutex
	values   map[string]*secretValue
	loaded   []loadedSecret // sorted by name
	replacer atomic.Pointer[strings.Replacer]
	// replacers remove some of the loaded secrets from texts. A key has the names of the secrets that its
	// replacer removes.
	replacers map[string]*strings.Replacer
}

// A secretValue is a secret whose value is read at its first use.
type secretValue struct {
	name string
	read func() (string, error) // returns the value; in a replay, an error
}

// NewSecrets returns the secrets of o.
func NewSecrets(o SecretOptions) *Secrets {
	if o.LookupEnv == nil {
		o.LookupEnv = func(string) (string, bool) { return "", false }
	}
	return &Secrets{o: o, values: map[string]*secretValue{}}
}

// Watch reads the named secrets now, so that [Secrets.Redact] removes them from texts before a plugin asks
// for them. Watch skips a secret that a command prints, and a secret that does not exist.
func (s *Secrets) Watch(names ...string) {
	for _, name := range names {
		if s.o.Sources[name].Command == nil {
			_, _ = s.get(name).read()
		}
	}
}

// get returns a secret. It does not read the value.
func (s *Secrets) get(name string) *secretValue {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.values[name]
	if v == nil {
		v = &secretValue{name: name}
		v.read = sync.OnceValues(func() (string, error) { return s.load(name) })
		s.values[name] = v
	}
	return v
}

// Value returns the value of a secret for the host's own use, such as the key of a model.
// Plugins have [World.Secret].
func (s *Secrets) Value(name string) (string, error) { return s.get(name).read() }

// load reads the value of a secret from its source.
func (s *Secrets) load(name string) (string, error) {
	raw, err := s.readRaw(name)
	if err == nil && len(raw) > maxSecret {
		err = errtext.Errorf("got more than %d bytes, want at most that", maxSecret)
	}
	value := strings.TrimSuffix(strings.TrimSuffix(raw, "\n"), "\r")
	if err == nil && value == "" {
		err = errors.New("got an empty value")
	}
	if err != nil {
		return "", errorf("E0513", "secret %q: %v", name, err)
	}
	s.addLoaded(name, value)
	return value, nil
}

func (s *Secrets) readRaw(name string) (string, error) {
	source := s.o.Sources[name]
	if source.Command != nil {
		return runSecretCommand(source.Command, source.Dir)
	}
	what := "its file in [secrets] of the config"
	if source.File == "" {
		if value, ok := s.o.LookupEnv(name); ok {
			return value, nil
		}
		source.File, _ = s.o.LookupEnv(name + "_FILE")
		what = "its file, which " + name + "_FILE names"
	}
	if source.File == "" {
		return "", errtext.Errorf("there is none: set the environment variable %[1]s or %[1]s_FILE, or name its place in [secrets] of the config%s",
			errtext.Word(name), near.DidYouMean(name, slices.Sorted(maps.Keys(s.o.Sources))))
	}
	// A plugin may read the message, so the message says which setting has the path, and not the path.
	b, err := readRegular(afero.NewOsFs(), source.File, "", maxSecret)
	if err != nil {
		err = errtext.Errorf("%s: %s", what, strings.TrimPrefix(err.Error(), `file "": `))
	}
	return string(b), err
}

// runSecretCommand runs an operator's command in the folder dir, and returns the output.
func runSecretCommand(argv []string, dir string) (string, error) {
	if len(argv) == 0 {
		return "", errors.New("got no command")
	}
	ctx, cancel := context.WithTimeout(context.Background(), secretTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	out := &boundedWriter{max: maxSecret + 1, onExceed: cancel}
	cmd.Stdout, cmd.Dir = out, dir
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	exited := (*exec.ExitError)(nil)
	switch {
	case out.exceeded:
		return string(out.content), nil // load reports an output over the limit
	case ctx.Err() != nil:
		return "", errtext.Errorf("its command took more than %s", secretTimeout)
	case errors.As(err, &exited):
		return "", errtext.Errorf("its command ended with code %d", exited.ExitCode())
	case err != nil:
		return "", errors.New("its command did not start")
	}
	return string(out.content), nil
}

// A boundedWriter stores up to a number of bytes. Writing more is an error.
type boundedWriter struct {
	content  []byte // not an embedded bytes.Buffer, whose ReadFrom has no bound
	max      int
	exceeded bool
	onExceed func() // called when a caller writes more; may be nil
}

func (b *boundedWriter) Write(p []byte) (int, error) {
	room := b.max - len(b.content)
	if len(p) <= room {
		b.content = append(b.content, p...)
		return len(p), nil
	}
	b.content = append(b.content, p[:room]...)
	b.exceeded = true
	if b.onExceed != nil {
		b.onExceed()
	}
	return room, io.ErrShortWrite
}

// Secret returns a secret, which must exist, without its value.
func (w *World) Secret(ctx context.Context, name string) (Secret, error) {
	type request struct {
		Name string `json:"name"`
	}
	if err := checkLength("secret: name", name, maxName); err != nil {
		return Secret{}, err
	}
	if err := w.payFor(ctx, "secret", len(name)); err != nil {
		return Secret{}, err
	}
	// This checks only that the plugin may use the secret for something. The check for a host or a program
	// comes when the value is used.
	c := effectCall{kind: "secret", request: request{name}, subject: name, refusal: w.refusal("secret", name, allowsSecret(name, anyHost))}
	_, err := do(ctx, w, c, func(context.Context) (none struct{}, err error) {
		if w.Secrets == nil {
			return none, errorf("E0513", "secret %q: there are no secrets here", name)
		}
		_, err = w.Secrets.get(name).read()
		return none, err
	})
	if err != nil {
		return Secret{}, err
	}
	return Secret{[]secretPart{{secret: w.secretValue(name)}}}, nil
}

// secretValue returns a secret. If the world has no secrets, reading the value is an error.
func (w *World) secretValue(name string) *secretValue {
	if w.Secrets == nil {
		return &secretValue{name, func() (string, error) { return "", errorf("E0513", "secret %q: there are no secrets here", name) }}
	}
	return w.Secrets.get(name)
}

// anyHost and thisMachine stand for the host that gets a secret: at least one host, and a program of this
// machine.
const (
	anyHost     = "*"
	thisMachine = ""
)

// allowsSecret returns a function that reports whether a permission lets a plugin use a secret for a host,
// anyHost or thisMachine.
func allowsSecret(name, host string) func(Permission) bool {
	return func(p Permission) bool {
		if p.Kind != "secret" {
			return false
		}
		pattern, at, bound := strings.Cut(p.Pattern, "@")
		return matchNames(pattern)(name) && (!bound || host == anyHost || host != thisMachine && matchHost(at, host))
	}
}

// reveal returns a text with the values of its secrets, if the plugin may use all of them for the host.
func (w *World) reveal(s Secret, host string) (string, error) {
	return s.render(func(v *secretValue) (string, error) {
		if err := w.mayReveal(v.name, host); err != nil {
			return "", err
		}
		return v.read()
	})
}

// environment returns NAME=VALUE for each variable, sorted by name.
func environment(values map[string]string) []string {
	var env []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		env = append(env, name+"="+values[name])
	}
	return env
}
