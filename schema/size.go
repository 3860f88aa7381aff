package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/starhost/starhost/internal/errtext"
)

// A validation must end soon, whatever schema a plugin registers. The library follows references
// without a limit, so checkSize measures a schema as if every reference in it were written out. It
// refuses recursion and schemas that are too large. This bounds the work of a validation by the
// schema's size times the arguments' size.
const (
	maxSchemaBytes = 256 << 10
	maxSchemaDepth = 64     // nested { and [
	maxSchemaSize  = 50_000 // values, references written out
)

// checkText refuses a schema that would take too long to decode. It counts brackets and does not
// parse, because the library parses the text afterwards.
func checkText(raw json.RawMessage) error {
	if len(raw) > maxSchemaBytes {
		return errtext.Errorf("%d bytes, limit %d", len(raw), maxSchemaBytes)
	}
	depth, quoted := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{', c == '[':
			if depth++; depth > maxSchemaDepth {
				return errtext.Errorf("nested deeper than %d", maxSchemaDepth)
			}
		case c == '}', c == ']':
			depth--
		}
	}
	return nil
}

// checkSize refuses a schema that is recursive or too large. It does not measure most texts,
// because a schema has at most one value for each byte, and $ref and $id contain a "$".
func checkSize(raw json.RawMessage, root *jsonschema.Schema) error {
	if len(raw) <= maxSchemaSize && !bytes.ContainsAny(raw, `$\\`) {
		return nil
	}
	canonical, err := json.Marshal(root) // the library reads keywords in any letter case
	if err != nil {
		return err
	}
	var all map[string]any
	if err := json.Unmarshal(canonical, &all); err != nil {
		return err
	}
	delete(all, "$id") // the schema's own name does no harm
	m := measure{root: all, sizes: map[string]int{}}
	_, err = m.ref("#")
	return err
}

// A measure counts the values of a schema with its references written out.
type measure struct {
	root  any
	sizes map[string]int // sizes of the references' targets; open while count measures the target
}

// open marks a reference whose target is being measured.
const open = -1

// ref returns the size of a reference's target.
func (m *measure) ref(ref string) (int, error) {
	size, measured := m.sizes[ref]
	if size == open {
		return 0, errtext.Errorf("$ref %q leads back to itself: arguments of tools cannot be recursive", ref)
	}
	if measured {
		return size, nil
	}
	target, err := m.find(ref)
	if err != nil {
		return 0, err
	}
	m.sizes[ref] = open
	size, err = m.count(target)
	m.sizes[ref] = size
	return size, err
}

// count returns the size of a part of the schema.
func (m *measure) count(part any) (int, error) {
	size := 1
	add := func(n int, err error) error {
		if size += n; err == nil && size > maxSchemaSize {
			err = errtext.Errorf("more than %d values with references written out", maxSchemaSize)
		}
		return err
	}
	switch part := part.(type) {
	case []any:
		for _, item := range part {
			if err := add(m.count(item)); err != nil {
				return 0, err
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(part)) {
			if err := add(m.member(key, part[key])); err != nil {
				return 0, err
			}
		}
	}
	return size, nil
}

// member returns the size of one member of an object.
func (m *measure) member(key string, value any) (int, error) {
	text, ok := value.(string)
	switch {
	case ok && key == "$ref":
		return m.ref(text)
	case ok && (key == "$dynamicRef" || key == "$id"):
		return 0, errtext.Errorf("%s is not supported: write $ref with a \"#/...\" path", key)
	}
	return m.count(value)
}

// find returns the target of a reference of the form "#" or "#/path".
func (m *measure) find(ref string) (any, error) {
	bad := errtext.Errorf("$ref: got %q, want \"#/\" and the path of a part of this schema", ref)
	path, err := url.PathUnescape(strings.TrimPrefix(ref, "#"))
	if err != nil || !strings.HasPrefix(ref, "#") {
		return nil, bad
	}
	at := m.root
	for i, step := range strings.Split(path, "/") {
		if i == 0 {
			if step != "" {
				return nil, bad
			}
			continue
		}
		if at, err = descend(at, strings.NewReplacer("~1", "/", "~0", "~").Replace(step)); err != nil {
			return nil, bad
		}
	}
	return at, nil
}

var errNoMember = errors.New("no such member")

// descend returns a member of an object or of a list.
func descend(at any, step string) (any, error) {
	switch at := at.(type) {
	case map[string]any:
		if v, ok := at[step]; ok {
			return v, nil
		}
	case []any:
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(at) {
			return at[i], nil
		}
	}
	return nil, errNoMember
}
