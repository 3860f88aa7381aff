package builtins

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"go.starlark.net/starlark"

	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/near"
)

// Limits of requires_env.
const (
	maxEnvVars = 256
	maxEnvText = 1000 // the most bytes of a name, a description or a URL
)

// An EnvVar is an environment variable without which a plugin is unavailable.
type EnvVar struct {
	Name string
	// Description and URL tell a user what the variable is for, and where to get a value. A plugin may leave
	// them "". URL begins with http:// or https://.
	Description, URL string
	// Secret is true if the value is a secret, which starhost removes from texts. The value of a secret may
	// also come from the sources of [effects.Secrets].
	Secret bool
}

// String returns the variable's name with its description and URL, as in "TOKEN (of the pager,
// https://pager.example)".
func (v EnvVar) String() string {
	line, _, _ := strings.Cut(v.Description, "\n")
	about := strings.TrimSuffix(line, ".")
	if v.URL != "" {
		about = strings.TrimPrefix(about+", "+v.URL, ", ")
	}
	if about == "" {
		return errtext.Word(v.Name)
	}
	return errtext.Word(v.Name) + " (" + errtext.Cut(about) + ")"
}

// setEnv reads requires_env, which is a list of names, and of dicts that describe a variable.
func setEnv(m *Manifest, v starlark.Value) error {
	list, ok := v.(*starlark.List)
	if !ok {
		return fmt.Errorf("got %s, want a list of strings and dicts", v.Type())
	}
	if list.Len() > maxEnvVars {
		return fmt.Errorf("got %d variables, want at most %d", list.Len(), maxEnvVars)
	}
	for i := range list.Len() {
		env, err := envVarOf(list.Index(i))
		if err != nil {
			return fmt.Errorf("[%d]: %w", i, err)
		}
		m.RequiresEnv = append(m.RequiresEnv, env)
	}
	return nil
}

// envVarOf reads one element of requires_env.
func envVarOf(v starlark.Value) (env EnvVar, err error) {
	switch v := v.(type) {
	case starlark.String:
		env.Name = string(v)
	case *starlark.Dict:
		for k, x := range v.Entries() {
			if err := env.set(k, x); err != nil {
				return env, err
			}
		}
	default:
		return env, fmt.Errorf("got %s, want string, or a dict with name, description, url and secret", v.Type())
	}
	if env.Name == "" || strings.ContainsAny(env.Name, "=\x00") {
		return env, errtext.Errorf("name: got %q, want the name of an environment variable", env.Name)
	}
	return env, nil
}

// envKeys are the keys of a dict in requires_env.
var envKeys = []string{"name", "description", "url", "secret"}

// set reads one key of a dict in requires_env.
func (v *EnvVar) set(k, x starlark.Value) error {
	key, _ := starlark.AsString(k)
	var err error
	switch key {
	case "name":
		err = setShort(&v.Name, x)
	case "description":
		err = setShort(&v.Description, x)
	case "url":
		if err = setShort(&v.URL, x); err == nil {
			err = checkWebAddress(v.URL)
		}
	case "secret":
		secret, ok := x.(starlark.Bool)
		if !ok {
			err = fmt.Errorf("got %s, want bool", x.Type())
		}
		v.Secret = bool(secret)
	default:
		return errtext.Errorf("unexpected key %s%s, want %s", errtext.Cut(k.String()), near.DidYouMean(key, envKeys), strings.Join(envKeys, ", "))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

// setShort reads a text of at most maxEnvText bytes.
func setShort(p *string, v starlark.Value) error {
	if err := setText(p, v); err != nil {
		return err
	}
	if len(*p) > maxEnvText {
		return fmt.Errorf("got %d bytes, want at most %d", len(*p), maxEnvText)
	}
	return nil
}

// checkWebAddress returns an error unless a browser can open the text as an address.
func checkWebAddress(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return errtext.Errorf("got %q, want https://HOST/...", text)
	}
	if u.User != nil {
		return errors.New("got a user in the address, want none")
	}
	return nil
}
