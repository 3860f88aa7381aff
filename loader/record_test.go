package loader_test

import (
	"context"
	"strings"
	"testing"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/loader"
)

// gossip is a model whose answer contains a secret.
type gossip string

func (g gossip) Complete(context.Context, *host.Prompt) (starhost.Reply, error) {
	return starhost.Reply{Content: "The token is " + string(g) + "."}, nil
}

// The record has the text of the model without the values of secrets and what the config's patterns
// match.
func TestRecordHasNoSecret(t *testing.T) {
	const secret = `s3cret "quoted" value`
	dir := tree(t, "-- a.star --\nplugin(permissions = [\"secret:TOKEN\"])\n-- b.star --\nplugin(requires_env = [{\"name\": \"PIN\", \"secret\": True}])\n")
	o := loader.Options{Dir: dir, Args: []string{"a.star", "b.star"}, Grants: []string{"a=secret:TOKEN"}}
	o.LookupEnv = func(name string) (string, bool) {
		if name == "PIN" {
			return "pin-4711", true
		}
		return secret, name == "TOKEN"
	}
	var lines []string
	o.Host.Record = func(e host.Entry) { lines = append(lines, string(e.Line)) }
	c, _, err := loader.ParseConfig("config.toml", dir, []byte("redact.patterns = [\"cust-[0-9]+\"]"))
	if err != nil {
		t.Fatal(err)
	}
	o.Config = c
	set, err := loader.Load(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if set.Err() != nil {
		t.Fatal(set.Err())
	}
	defer set.Close()
	session := set.Host.NewSession(host.SessionConfig{})
	if _, err := session.Turn(t.Context(), host.Request{Text: "?"}, gossip(secret+" cust-7 pin-4711")); err != nil {
		t.Fatal(err)
	}
	if len(lines) != 1 || !strings.Contains(lines[0], `"content":"The token is <secret TOKEN> <masked> <secret PIN>."`) {
		t.Errorf("got %q, want the name of the secret", lines)
	}
}
