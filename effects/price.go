package effects

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// payKey is the key under which a context has the function that pays for effects.
type payKey struct{}

// WithPay returns a context in which effects call pay before they work. One step stands for at most 0.5 µs
// of work. If pay returns an error, the effect ends with it.
func WithPay(ctx context.Context, pay func(steps, bytes int) error) context.Context {
	return context.WithValue(ctx, payKey{}, pay)
}

// withoutPay returns a context for the handlers and loaders that an effect calls. They pay from budgets of
// their own.
func withoutPay(ctx context.Context) context.Context { return context.WithValue(ctx, payKey{}, nil) }

// pay charges the caller of an effect, if [WithPay] put a function for that into ctx.
func pay(ctx context.Context, steps, bytes int) error {
	if f, ok := ctx.Value(payKey{}).(func(steps, bytes int) error); ok {
		return f(steps, bytes)
	}
	return nil
}

// Prices of work, in interpreter steps.
const (
	effectSteps = 8 // for each effect, whatever it does
	folderSteps = 24
	entrySteps  = 4    // for each name in a folder
	nameSteps   = 8    // for a call of the system on one path
	writeSteps  = 1600 // for writing, renaming and describing a file
	levelSteps  = 12   // for each folder above that path, because the system walks through all of them
)

// recordBytes is the memory that a plugin pays for each byte of a request, because a journal may need six
// bytes for it.
const recordBytes = 16

// payFor charges for an argument of size bytes before two pieces of work: the check of the plugin's
// permissions of a kind, and the record in the journal.
func (w *World) payFor(ctx context.Context, kind string, size int) error {
	steps := size/16 + w.Declared.matchSteps(kind, size) + w.Granted.matchSteps(kind, size)
	return pay(ctx, steps, recordBytes*(16+size))
}

// payForPath charges for a path or a pattern of files.
func (w *World) payForPath(ctx context.Context, kind, name string) error {
	// A path over the limit is refused at once.
	n := min(maxPathDepth, 1+strings.Count(name[:min(len(name), maxPath)], "/"))
	if err := pay(ctx, pathSteps(n), 0); err != nil {
		return err
	}
	return w.payFor(ctx, kind, min(len(name), maxPath))
}

// pathSteps is the price of asking the system about each folder on a path of n names.
func pathSteps(n int) int { return n*nameSteps + n*n/2*levelSteps }

// matchSteps is the price of comparing a name of size bytes with all permissions of a kind.
func (g Grants) matchSteps(kind string, size int) int {
	steps := len(g) / 8
	for _, p := range g {
		if p.Kind == kind {
			steps += 8 + alternativesOf(p.Pattern)*len(p.Pattern)*(size+16)/64
		}
	}
	return steps
}

// alternativesOf returns an upper bound of the number of patterns that a pattern with braces stands for.
func alternativesOf(pattern string) int {
	return min(maxAlternatives, 1<<min(6, strings.Count(pattern, ",")))
}

// A meter charges the caller of an effect for work whose amount the request does not tell, such as walking
// through folders. A nil meter charges nobody.
type meter struct {
	ctx   context.Context
	steps int // all steps that it charged; a journal records them, because a replay does not do the work

	failure error // the error of the last call of pay
}

// pay charges before the work. It also returns an error if the effect's context has ended.
func (m *meter) pay(steps int) error {
	if m == nil {
		return nil
	}
	if m.failure = m.ctx.Err(); m.failure == nil {
		m.steps += steps
		m.failure = pay(m.ctx, steps, 0)
	}
	return m.failure
}

// spent returns the steps that m charged.
func (m *meter) spent() int {
	if m == nil {
		return 0
	}
	return m.steps
}

// payForKey charges for an effect on one key of the plugin's values.
func payForKey(ctx context.Context, key string, value json.RawMessage) error {
	return pay(ctx, len(key)/16+len(value)/32, recordBytes*len(key)+4*len(value))
}

// payForCommand charges for a command whose size checkSize has checked.
func payForCommand(ctx context.Context, w *World, c Command) error {
	size := 0
	for _, arg := range c.Argv {
		size += 16 + len(arg)
	}
	for name := range c.Env {
		size += 16 + len(name)
	}
	return payForSecrets(ctx, w, "exec", size, append(slices.Collect(maps.Values(c.Env)), c.Stdin))
}

// payForRequest charges for a request whose form newHTTPExchange has checked.
func (w *World) payForRequest(ctx context.Context, s *httpExchange) error {
	secrets := slices.Concat(slices.Collect(maps.Values(s.params)), slices.Collect(maps.Values(s.headers)))
	if s.auth != nil {
		secrets = append(secrets, s.auth.User, s.auth.Password)
	}
	size := len(s.method) + len(s.target.host) + len(s.target.path) + len(s.target.query)
	if err := pay(ctx, len(s.body)/16, 4*len(s.body)); err != nil {
		return err
	}
	return payForSecrets(ctx, w, "http", size, secrets)
}

// payForSecrets charges for an effect with an argument of size bytes, and for the check of each of its
// secrets.
func payForSecrets(ctx context.Context, w *World, kind string, size int, secrets []Secret) error {
	parts, bytes := 0, 0
	for _, s := range secrets {
		parts += len(s.parts)
		bytes += s.size()
	}
	steps := parts + bytes/16 + w.Declared.matchSteps("secret", maxName) + w.Granted.matchSteps("secret", maxName)
	if err := pay(ctx, steps, 4*bytes); err != nil {
		return err
	}
	return w.payFor(ctx, kind, size)
}

// err returns the error of the last call of pay, which ended the effect, or nil.
func (m *meter) err() error {
	if m == nil {
		return nil
	}
	return m.failure
}
