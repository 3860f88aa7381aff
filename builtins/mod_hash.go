package builtins

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"

	"go.starlark.net/starlark"
)

// hashModule returns the members of the module hash: digests as hex.
func hashModule(rt Runtime) []Entry {
	return modEntries(rt, "hash", []modMember{
		{
			name: "sha256", params: "data",
			doc: `Returns the SHA-256 digest of a string or bytes, as 64 lower-case hex digits.
It is the digest that identifies fragments: hash.sha256(text) is a fragment's id,
and what the program sha256sum prints. No digest of this module is fit to store a
password.`,
			example: `assert_eq(hash.sha256("abc")[:16], "ba7816bf8f01cfea")
assert_eq(hash.sha256(b"abc"), hash.sha256("abc"))
assert_eq(len(hash.sha256("")), 64)`,
			fn: digest(func(data []byte) []byte { d := sha256.Sum256(data); return d[:] }),
		},
		{
			name: "sha512", params: "data",
			doc:     "Returns the SHA-512 digest of a string or bytes, as 128 lower-case hex digits.",
			example: `assert_eq(hash.sha512("abc")[:16], "ddaf35a193617aba")`,
			fn:      digest(func(data []byte) []byte { d := sha512.Sum512(data); return d[:] }),
		},
		{
			name: "sha1", params: "data",
			doc: `Returns the SHA-1 digest of a string or bytes, as 40 lower-case hex digits.
Two texts with one SHA-1 can be made on purpose. Use it only where another
program wants it; where you choose, choose hash.sha256.`,
			example: `assert_eq(hash.sha1("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d")`,
			fn:      digest(func(data []byte) []byte { d := sha1.Sum(data); return d[:] }),
		},
		{
			name: "md5", params: "data",
			doc: `Returns the MD5 digest of a string or bytes, as 32 lower-case hex digits.
Two texts with one MD5 are easily made on purpose. Use it only where another
program wants it; where you choose, choose hash.sha256.`,
			example: `assert_eq(hash.md5("abc"), "900150983cd24fb0d6963f7d28e17f72")`,
			fn:      digest(func(data []byte) []byte { d := md5.Sum(data); return d[:] }),
		},
	})
}

// digest makes a function of one argument from sum.
func digest(sum func([]byte) []byte) modFunc {
	return func(c modCall) (starlark.Value, error) {
		var data textOrBytes
		if err := c.bind("data", &data); err != nil {
			return nil, err
		}
		if err := c.pay(1+len(data)/8, len(data)+256); err != nil {
			return nil, err
		}
		return starlark.String(hex.EncodeToString(sum([]byte(data)))), nil
	}
}
