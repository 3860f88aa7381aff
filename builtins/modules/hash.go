package modules

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"

	"go.starlark.net/starlark"

	"github.com/starhost/starhost/builtins/call"
)

// hashMembers are the members of the module hash: digests as hex.
var hashMembers = []call.Member{
	{
		Name: "sha256", Params: "data", Type: "str | Bytes -> str",
		Doc: `Returns the SHA-256 digest of a string or bytes, as 64 lower-case hex digits.
It identifies fragments: the id of a fragment is hash.sha256(text), the digest that the
program sha256sum prints. No digest of this module is fit to store a password.`,
		Example: `assert_eq(hash.sha256("abc")[:16], "ba7816bf8f01cfea")
assert_eq(hash.sha256(b"abc"), hash.sha256("abc"))
assert_eq(len(hash.sha256("")), 64)`,
		Func: digest(func(data []byte) []byte { d := sha256.Sum256(data); return d[:] }),
	},
	{
		Name: "sha512", Params: "data", Type: "str | Bytes -> str",
		Doc:     "Returns the SHA-512 digest of a string or bytes, as 128 lower-case hex digits.",
		Example: `assert_eq(hash.sha512("abc")[:16], "ddaf35a193617aba")`,
		Func:    digest(func(data []byte) []byte { d := sha512.Sum512(data); return d[:] }),
	},
	{
		Name: "sha1", Params: "data", Type: "str | Bytes -> str",
		Doc: `Returns the SHA-1 digest of a string or bytes, as 40 lower-case hex digits.
Two texts with one SHA-1 can be made on purpose. Use it only if another program needs it;
else use hash.sha256.`,
		Example: `assert_eq(hash.sha1("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d")`,
		Func:    digest(func(data []byte) []byte { d := sha1.Sum(data); return d[:] }),
	},
	{
		Name: "md5", Params: "data", Type: "str | Bytes -> str",
		Doc: `Returns the MD5 digest of a string or bytes, as 32 lower-case hex digits.
Two texts with one MD5 are easily made on purpose. Use it only if another program needs it;
else use hash.sha256.`,
		Example: `assert_eq(hash.md5("abc"), "900150983cd24fb0d6963f7d28e17f72")`,
		Func:    digest(func(data []byte) []byte { d := md5.Sum(data); return d[:] }),
	},
}

// digest returns the function of a member that applies sum to its argument.
func digest(sum func([]byte) []byte) call.Func {
	return func(c call.Call) (starlark.Value, error) {
		var data call.TextOrBytes
		if err := c.Bind("data", &data); err != nil {
			return nil, err
		}
		if err := c.Pay(1+len(data)/8, len(data)+256); err != nil {
			return nil, err
		}
		return starlark.String(hex.EncodeToString(sum([]byte(data)))), nil
	}
}
