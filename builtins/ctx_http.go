package builtins

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"go.starlark.net/starlark"

	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/effects"
)

// These are the parameters of ctx.http, for requests without a body and with one, and the types of those that
// all requests have.
const (
	httpParams     = "url, params={}, headers={}, auth=None, timeout=None"
	httpTypes      = "dict[str, str | int | Secret], dict[str, str | int | Secret], tuple[str | Secret, str | Secret] | None, float | None -> Response"
	httpBodyParams = "url, body=None, json=None, params={}, headers={}, auth=None, timeout=None"
)

// sendRequest returns the function of a member of ctx.http, whose first argument is the method
// if method is "":
//
//	ctx.http.get(url, params={}, headers={}, auth=None, timeout=None)
//	ctx.http.post(url, body=None, json=None, params={}, headers={}, auth=None, timeout=None)
//	ctx.http.request(method, url, body=None, json=None, params={}, headers={}, auth=None,
//	                 timeout=None)
func sendRequest(method string) func(call.Call, *handlerCall) (starlark.Value, error) {
	return func(c call.Call, h *handlerCall) (starlark.Value, error) {
		var (
			r               = effects.Request{Method: method}
			params, headers secretsArg
			auth            authArg
			body            call.TextOrBytes
			data            starlark.Value
			timeout         seconds
		)
		pairs := []any{"url", &r.URL}
		if method == "" {
			pairs = []any{"method", &r.Method, "url", &r.URL}
		}
		if method != "GET" {
			pairs = append(pairs, "body??", &body, "json??", &data)
		}
		if err := c.Bind(append(pairs, "params??", &params, "headers??", &headers, "auth??", &auth, "timeout??", &timeout)...); err != nil {
			return nil, err
		}
		r.Params, r.Headers, r.Auth = params, headers, auth.Auth
		r.Body, r.Timeout = string(body), time.Duration(timeout)
		if data != nil {
			var err error
			if r.JSON, err = encodeJSON(c, "json", data); err != nil {
				return nil, err
			}
		}
		if err := c.Pay(20+len(r.Body)/64, len(r.Body)); err != nil {
			return nil, err
		}
		reply, err := runEffect(c, func(ctx context.Context) (effects.Response, error) {
			return h.rec.world.Fetch(ctx, r)
		})
		if err != nil {
			return nil, err
		}
		v := &responseValue{rt: c.Runtime, r: reply, text: asText(reply.Body)}
		return v, c.Pay(4+len(reply.Body)/32, 512+2*len(reply.Body))
	}
}

// asText returns s with U+FFFD in place of bytes that are not UTF-8.
func asText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\ufffd")
}

// A responseValue is the response to a request. It is immutable.
type responseValue struct {
	rt   call.Runtime
	r    effects.Response
	text string
}

var responseFields = []field[responseValue]{
	{"status", func(v *responseValue) starlark.Value { return starlark.MakeInt(v.r.Status) }},
	{"headers", func(v *responseValue) starlark.Value { return textDict(v.r.Headers) }},
	{"text", func(v *responseValue) starlark.Value { return starlark.String(v.text) }},
	{"body", func(v *responseValue) starlark.Value { return starlark.Bytes(v.r.Body) }},
}

// String omits the body, because nobody reads megabytes of it.
func (v *responseValue) String() string {
	return fmt.Sprintf("<response %d %d B>", v.r.Status, len(v.r.Body))
}
func (v *responseValue) Type() string          { return "response" }
func (v *responseValue) Freeze()               {}
func (v *responseValue) Truth() starlark.Bool  { return true }
func (v *responseValue) Hash() (uint32, error) { return unhashable("response") }
func (v *responseValue) AttrNames() []string {
	return []string{"body", "headers", "json", "status", "text"}
}

func (v *responseValue) Attr(name string) (starlark.Value, error) {
	if name != "json" {
		return fieldOf(responseFields, v, name), nil
	}
	return call.NewBuiltin(v.rt, "response.json", func(c call.Call) (starlark.Value, error) {
		if err := c.Bind(); err != nil {
			return nil, err
		}
		x, err := decodeJSON(c, []byte(v.r.Body))
		if err != nil && !isCoded(err) {
			err = c.Fail("E0202", "got status %d and a body that is no JSON: %v", v.r.Status, err)
		}
		return x, err
	}).BindReceiver(v), nil
}
