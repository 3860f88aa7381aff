package modules

import (
	"encoding/base64"
	"errors"
	"strings"

	"go.starlark.net/starlark"

	"github.com/starhost/starhost/builtins/call"
)

// base64Members are the members of the module base64 (RFC 4648).
var base64Members = []call.Member{
	{
		Name: "encode", Params: "data, url=False, pad=True", Type: "str | Bytes, bool, bool -> str",
		Doc: `Encodes a string or bytes as base64 text.
url=True uses "-" and "_" instead of "+" and "/"; pad=False omits the "=" at the end. The text has no line breaks.`,
		Example: `assert_eq(base64.encode("hi"), "aGk=")
assert_eq(base64.encode(b"\xfb\xff"), "+/8=")
assert_eq(base64.encode(b"\xfb\xff", url = True, pad = False), "-_8")`,
		Func: base64Encode,
	},
	{
		Name: "decode", Params: "text, url=False", Type: "str | Bytes, bool -> Bytes",
		Doc: `Decodes base64 text, a string or bytes, to bytes.
The "=" at the end may be missing, and line breaks do not count; any other character
outside the alphabet is an error. str(...) makes a string of UTF-8 bytes.`,
		Example: `assert_eq(base64.decode("aGk="), b"hi")
assert_eq(str(base64.decode("aGk")), "hi")
assert_eq(base64.decode("-_8", url = True), b"\xfb\xff")`,
		Func: base64Decode,
	},
}

// base64Encode implements base64.encode.
func base64Encode(c call.Call) (starlark.Value, error) {
	var (
		data call.TextOrBytes
		url  = false
		pad  = true
	)
	if err := c.Bind("data", &data, "url?", &url, "pad?", &pad); err != nil {
		return nil, err
	}
	enc := base64Encoding(url)
	if pad {
		enc = enc.WithPadding(base64.StdPadding)
	}
	if err := c.Pay(1+len(data)/32, len(data)+2*enc.EncodedLen(len(data))); err != nil {
		return nil, err
	}
	return starlark.String(enc.EncodeToString([]byte(data))), nil
}

// base64Decode implements base64.decode.
func base64Decode(c call.Call) (starlark.Value, error) {
	var (
		text call.TextOrBytes
		url  = false
	)
	if err := c.Bind("text", &text, "url?", &url); err != nil {
		return nil, err
	}
	if err := c.Pay(1+len(text)/16, 3*len(text)); err != nil {
		return nil, err
	}
	body := strings.TrimRight(string(text), "=\r\n")
	data, err := base64Encoding(url).DecodeString(body)
	if err == nil {
		return starlark.Bytes(data), nil
	}
	var at base64.CorruptInputError
	if !errors.As(err, &at) || int(at) >= len(body) || inBase64(body[at], url) {
		return nil, c.Fail("E0202", "text: got %d characters, want a multiple of 4 (the end is missing)", len(text))
	}
	return nil, c.Fail("E0202", "text: got %q at %d, want %s", body[at:at+1], at, base64Alphabet(body[at], url))
}

// base64Encoding returns the encoding without padding.
func base64Encoding(url bool) *base64.Encoding {
	if url {
		return base64.RawURLEncoding
	}
	return base64.RawStdEncoding
}

// inBase64 reports whether b belongs to the chosen alphabet.
func inBase64(b byte, url bool) bool {
	switch b {
	case '+', '/':
		return !url
	case '-', '_':
		return url
	}
	return '0' <= b && b <= '9' || 'A' <= b && b <= 'Z' || 'a' <= b && b <= 'z'
}

// base64Alphabet lists the accepted characters, and names the variant that would accept got.
func base64Alphabet(got byte, url bool) string {
	switch {
	case url && inBase64(got, false):
		return `letters, digits, "-" and "_" (this is the plain alphabet: leave out url=True)`
	case url:
		return `letters, digits, "-" and "_"`
	case inBase64(got, true):
		return `letters, digits, "+" and "/" (this is the URL alphabet: url=True)`
	}
	return `letters, digits, "+" and "/"`
}
