package bundle

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"aead.dev/minisign"

	"github.com/starhost/starhost/internal/codes"
	"github.com/starhost/starhost/internal/errtext"
)

// SignatureSuffix is what the name of an archive's signature has behind that of the archive.
const SignatureSuffix = ".minisig"

// MaxSignature is the most bytes of a signature.
const MaxSignature = 4 << 10

// ParseKey parses a public key: the line of minisign's file that begins with RW, or the whole file.
func ParseKey(text string) (key minisign.PublicKey, err error) {
	if err := key.UnmarshalText([]byte(strings.TrimSpace(text))); err != nil {
		return key, codes.Errorf(codeSignature, "got %s, want a public key of minisign, as RWQ...", errtext.Brief(text))
	}
	return key, nil
}

// KeyID returns the id of a public key as minisign shows it.
func KeyID(key minisign.PublicKey) string { return fmt.Sprintf("%016X", key.ID()) }

// Sign returns the signature of an archive by a secret key, which is the contents of minisign's file. The
// password is for a key that is encrypted.
func Sign(archive, secret []byte, password string) ([]byte, error) {
	var key minisign.PrivateKey
	var err error
	if minisign.IsEncrypted(secret) {
		key, err = minisign.DecryptKey(password, secret)
	} else {
		err = key.UnmarshalText(secret)
	}
	if err != nil {
		hint := "want a secret key of minisign (minisign -G makes one)"
		if minisign.IsEncrypted(secret) {
			hint = "want the password of the key (--password FILE)"
		}
		return nil, codes.Errorf(codeSignature, "the key cannot be used: %s", hint)
	}
	m, digest, err := Read(archive, nil)
	if err != nil {
		return nil, err
	}
	comment := fmt.Sprintf("starhost bundle %s %d %s", m.Name, m.Sequence, digest)
	hashed := minisign.NewReader(bytes.NewReader(archive)) // minisign's own form, which later versions demand
	if _, err := io.Copy(io.Discard, hashed); err != nil {
		return nil, err
	}
	return hashed.SignWithComments(key, comment, "signature of a starhost bundle"), nil
}

// Verify checks the signature of an archive, and returns the id of the key that made it. One of the keys must
// have made it over exactly these bytes.
func Verify(archive, signature []byte, keys []string) (id string, err error) {
	var known []string
	spoiled := false
	var s minisign.Signature
	if err := s.UnmarshalText(signature); err != nil || len(signature) > MaxSignature {
		return "", codes.Errorf(codeSignature, "got no signature of minisign, want that of the archive in the file %s beside it", SignatureSuffix)
	}
	for _, text := range keys {
		key, err := ParseKey(text)
		if err != nil {
			return "", err
		}
		if minisign.Verify(key, archive, signature) {
			return KeyID(key), nil
		}
		spoiled = spoiled || key.ID() == s.KeyID
		known = append(known, KeyID(key))
	}
	if spoiled {
		return "", codes.Errorf(codeSignature, "the signature of key %016X is not for these bytes: the archive or the signature was changed", s.KeyID)
	}
	return "", codes.Errorf(codeSignature, "got a signature of key %016X, want one of %s", s.KeyID, strings.Join(known, ", "))
}
