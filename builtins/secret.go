package builtins

import (
	"fmt"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/internal/errtext"
)

// A secretValue is the value of ctx.secret(...), and of texts and secrets joined by +. It is
// immutable, equals only itself and has nothing that a plugin could read: it prints names
// instead of values.
type secretValue struct {
	s     effects.Secret
	parts int // how many parts were joined
	size  int // bytes of the texts among the parts
}

// Limits of a value that is joined by +, because joining copies the parts without a charge.
const (
	maxSecretParts = 64
	maxSecretSize  = 64 << 10
)

func (v *secretValue) String() string        { return v.s.String() }
func (v *secretValue) Type() string          { return "secret" }
func (v *secretValue) Freeze()               {}
func (v *secretValue) Truth() starlark.Bool  { return true }
func (v *secretValue) Hash() (uint32, error) { return unhashable("secret") }

// Parts returns the text that the value prints, so that the evaluator charges for it.
func (v *secretValue) Parts() []starlark.Value {
	return []starlark.Value{starlark.String(v.s.String())}
}

// Binary implements the operator + with strings and other secrets.
func (v *secretValue) Binary(op syntax.Token, y starlark.Value, side starlark.Side) (starlark.Value, error) {
	other, ok := y.(*secretValue)
	if text, isText := y.(starlark.String); isText {
		other, ok = &secretValue{effects.Plain(string(text)), 1, len(text)}, true
	}
	if op != syntax.PLUS || !ok {
		return nil, nil
	}
	first, second := v, other
	if side == starlark.Right {
		first, second = other, v
	}
	joined := &secretValue{effects.Join(first.s, second.s), first.parts + second.parts, first.size + second.size}
	if joined.parts > maxSecretParts || joined.size > maxSecretSize {
		return nil, call.Errorf("E0202", "got a secret in a text of %d parts and %d bytes, want at most %d and %d", joined.parts, joined.size, maxSecretParts, maxSecretSize)
	}
	return joined, nil
}

// toSecret converts a value for a place that accepts strings and secrets.
func toSecret(v starlark.Value) (effects.Secret, error) {
	switch v := v.(type) {
	case *secretValue:
		return v.s, nil
	case starlark.String:
		return effects.Plain(string(v)), nil
	case starlark.Int:
		return effects.Plain(v.String()), nil
	}
	return effects.Secret{}, fmt.Errorf("got %s, want a string, an int or a secret", v.Type())
}

// secretArg is an argument that is a string, bytes or a secret.
type secretArg effects.Secret

// Unpack implements starlark.Unpacker.
func (a *secretArg) Unpack(v starlark.Value) error {
	if data, ok := v.(starlark.Bytes); ok {
		*a = secretArg(effects.Plain(string(data)))
		return nil
	}
	s, err := toSecret(v)
	*a = secretArg(s)
	return err
}

// secretsArg is a dict whose values are strings or secrets.
type secretsArg map[string]effects.Secret

// Unpack implements starlark.Unpacker.
func (a *secretsArg) Unpack(v starlark.Value) error {
	m, ok := v.(starlark.IterableMapping)
	if !ok {
		return fmt.Errorf("got %s, want a dict", v.Type())
	}
	all := secretsArg{}
	for k, v := range starlark.Entries(m) {
		name, ok := starlark.AsString(k)
		if !ok {
			return fmt.Errorf("got a key that is %s, want string", k.Type())
		}
		s, err := toSecret(v)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if text, isText := v.(starlark.String); isText && strings.Contains(string(text), "<secret ") {
			return fmt.Errorf("%s: got %s, which is how a secret prints: join texts and secrets by +", name, errtext.Quote(string(text)))
		}
		all[name] = s
	}
	*a = all
	return nil
}

// authArg is an argument that is a pair of a user and a password.
type authArg struct{ *effects.Auth }

// Unpack implements starlark.Unpacker.
func (a *authArg) Unpack(v starlark.Value) error {
	pair, ok := v.(starlark.Indexable)
	if _, isText := v.(starlark.String); !ok || isText || pair.Len() != 2 {
		return fmt.Errorf("got %s, want a pair (user, password)", v.Type())
	}
	user, err := toSecret(pair.Index(0))
	if err != nil {
		return fmt.Errorf("user: %w", err)
	}
	password, err := toSecret(pair.Index(1))
	if err != nil {
		return fmt.Errorf("password: %w", err)
	}
	a.Auth = &effects.Auth{User: user, Password: password}
	return nil
}
