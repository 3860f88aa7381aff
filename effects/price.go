package effects

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// payKey is the key of the function that pays for effects, in a context.
type payKey struct{}

// WithPay returns a context in which effects call pay before they work. A step of the price stands
// for at most 0.5 µs of work. An error of pay ends the effect.
func WithPay(ctx context.Context, pay func(steps, bytes int) error) context.Context {
	return context.WithValue(ctx, payKey{}, pay)
}

// withoutPay returns a context for the handlers and loaders that an effect calls: they have their
// own budget.
func withoutPay(ctx context.Context) context.Context { return context.WithValue(ctx, payKey{}, nil) }

// pay charges the caller of an effect, if [WithPay] named a function for that.
func pay(ctx context.Context, steps, bytes int) error {
	if f, ok := ctx.Value(payKey{}).(func(steps, bytes int) error); ok {
		return f(steps, bytes)
	}
	return nil
}

// Prices in steps.
const (
	effectSteps = 8 // for each effect
	folderSteps = 24
	entrySteps  = 4    // for a name in a folder
	nameSteps   = 8    // for a call of the system on one path
	writeSteps  = 1600 // for a file that is written, renamed and described
	levelSteps  = 12   // for each folder above that path, because the system walks through all of them
)

// recordBytes is the memory of a byte of a request in a journal, in which it may take six bytes.
const recordBytes = 16

// payFor charges for the check of an argument of size bytes against the plugin's permissions of
// a kind, and for its record in the journal. It runs before both.
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

// pathSteps is the price of a description of each folder on a path of n names.
func pathSteps(n int) int { return n*nameSteps + n*n/2*levelSteps }

// matchSteps is the price of a comparison of all permissions of a kind with a name of size bytes.
func (g Grants) matchSteps(kind string, size int) int {
	steps := len(g) / 8
	for _, p := range g {
		if p.Kind == kind {
			steps += 8 + alternativesOf(p.Pattern)*len(p.Pattern)*(size+16)/64
		}
	}
	return steps
}

// alternativesOf returns an upper bound of the alternatives that a pattern with braces stands for.
func alternativesOf(pattern string) int {
	return min(maxAlternatives, 1<<min(6, strings.Count(pattern, ",")))
}

// A meter charges the caller of an effect for work that depends on more than the request. A nil
// meter charges nobody.
type meter struct {
	ctx   context.Context
	steps int // all that it charged, which a journal records because a replay does not do the work

	failure error // the error of the last call of pay
}

// pay charges before the work. It also ends an effect whose context has ended.
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

// payForKey charges for an effect on a value by its key.
func payForKey(ctx context.Context, key string, value json.RawMessage) error {
	return pay(ctx, len(key)/16+len(value)/32, recordBytes*len(key)+4*len(value))
}

// payForCommand charges for a command whose size was checked.
func (w *World) payForCommand(ctx context.Context, c Command) error {
	size := 0
	for _, arg := range c.Argv {
		size += 16 + len(arg)
	}
	for name := range c.Env {
		size += 16 + len(name)
	}
	return w.payForSecrets(ctx, "exec", size, append(slices.Collect(maps.Values(c.Env)), c.Stdin))
}

// payForRequest charges for a request whose form was checked.
func (w *World) payForRequest(ctx context.Context, s *httpExchange) error {
	secrets := slices.Concat(slices.Collect(maps.Values(s.params)), slices.Collect(maps.Values(s.headers)))
	if s.auth != nil {
		secrets = append(secrets, s.auth.User, s.auth.Password)
	}
	size := len(s.method) + len(s.target.host) + len(s.target.path) + len(s.target.query)
	if err := pay(ctx, len(s.body)/16, 4*len(s.body)); err != nil {
		return err
	}
	return w.payForSecrets(ctx, "http", size, secrets)
}

// payForSecrets charges for an effect with an argument of size bytes and with secrets.
func (w *World) payForSecrets(ctx context.Context, kind string, size int, secrets []Secret) error {
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

// err returns the error of the last pay, if that ended the effect.
func (m *meter) err() error {
	if m == nil {
		return nil
	}
	return m.failure
}
