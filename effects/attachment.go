package effects

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"image"
	_ "image/gif" // DecodeConfig of each format
	_ "image/jpeg"
	_ "image/png"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/afero"
	_ "golang.org/x/image/bmp"
	_ "golang.org/x/image/tiff"
	_ "golang.org/x/image/webp"

	"github.com/starhost/starhost/fragments"
)

// maxAttachment is the most bytes of an attachment that starhost reads. It is above every limit of prompts,
// so that an error names the limit that the operator set.
const maxAttachment = 64 << 20

// NewAttachment returns content as an attachment. An empty typ means that the bytes determine
// the MIME type, without parameters. A picture's size comes from its header, because decoding
// pixels of a hostile picture could take all memory. If the header is broken, the size is 0.
func NewAttachment(content []byte, name, typ string) fragments.Attachment {
	a := fragments.Attachment{Content: string(content), Name: name, Type: cmp.Or(typ, sniff(content))}
	a.Width, a.Height = dimensions(content)
	return a
}

// signatures are what content begins with and has, of types that http.DetectContentType does
// not know. A document of an office is a ZIP archive, in which names of files are readable.
var signatures = [...]struct{ start, has, typ string }{
	{"II*\x00", "", "image/tiff"},
	{"MM\x00*", "", "image/tiff"},
	{"\xff\xfb", "", "audio/mpeg"},
	{"\xff\xf3", "", "audio/mpeg"},
	{"\xff\xf2", "", "audio/mpeg"},
	{"<svg", "", "image/svg+xml"},
	{"<?xml", "<svg", "image/svg+xml"},
	{"{", "", "application/json"},
	{"[", "", "application/json"},
	{"PK\x03\x04", "word/document.xml", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
	{"PK\x03\x04", "xl/workbook.xml", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
	{"PK\x03\x04", "ppt/presentation.xml", "application/vnd.openxmlformats-officedocument.presentationml.presentation"},
}

// sniff returns the type of content, without parameters.
func sniff(content []byte) string {
	core := bytes.TrimSpace(content)
	for _, s := range signatures {
		if bytes.HasPrefix(core, []byte(s.start)) && bytes.Contains(core, []byte(s.has)) && (s.typ != "application/json" || isJSON(core)) {
			return s.typ
		}
	}
	bare, _, _ := strings.Cut(http.DetectContentType(content), ";")
	return strings.Replace(bare, "audio/wave", "audio/wav", 1) // which models want
}

// isJSON reports whether a text looks like one value of JSON. It reads no more than http.DetectContentType
// does, because nobody pays for it: a longer text must only begin and end as an object or an array.
func isJSON(text []byte) bool {
	const sniffed = 512
	if len(text) <= sniffed {
		return json.Valid(text)
	}
	d := json.NewDecoder(bytes.NewReader(text[:sniffed]))
	for depth := 0; ; {
		token, err := d.Token()
		if err != nil {
			return (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) && bytes.IndexByte([]byte("]}"), text[len(text)-1]) >= 0
		}
		switch token {
		case json.Delim('['), json.Delim('{'):
			depth++
		case json.Delim(']'), json.Delim('}'):
			depth--
		}
		if depth == 0 { // and text behind it
			return false
		}
	}
}

func dimensions(content []byte) (width, height int) {
	c, _, err := image.DecodeConfig(bytes.NewReader(content))
	if err != nil || c.Width < 1 || c.Height < 1 {
		return 0, 0
	}
	return c.Width, c.Height
}

// ReadAttachment returns the attachment that a user typed as REF[;type=TYPE]. REF is a path,
// relative to dir, or an http or https URL, which the model fetches. A URL has the type "" if
// the user states none.
func ReadAttachment(dir, ref string) (fragments.Attachment, error) {
	target, typ, err := cutType(ref)
	if err != nil {
		return fragments.Attachment{}, err
	}
	if strings.HasPrefix(target, "http://") || strings.HasPrefix(target, "https://") {
		return urlAttachment(target, typ)
	}
	place := target
	if !filepath.IsAbs(place) {
		place = filepath.Join(dir, place)
	}
	if target == "" {
		return fragments.Attachment{}, errorf("E0507", "attachment %q: want a path or a URL", ref)
	}
	b, err := readRegular(afero.NewOsFs(), place, target, maxAttachment)
	if err != nil {
		return fragments.Attachment{}, err
	}
	a := NewAttachment(b, path.Base(sourceName(target)), typ)
	a.Source = sourceName(target)
	return a, nil
}

// cutType splits REF;type=TYPE.
func cutType(ref string) (target, typ string, err error) {
	i := strings.LastIndex(ref, ";type=")
	if i < 0 {
		return ref, "", nil
	}
	value := ref[i+len(";type="):]
	typ, _, err = mime.ParseMediaType(value)
	if err != nil || !strings.Contains(typ, "/") {
		return "", "", errorf("E0507", "attachment %q: type: got %q, want a MIME type as image/png", ref, value)
	}
	return ref[:i], typ, nil
}

func urlAttachment(target, typ string) (fragments.Attachment, error) {
	u, err := url.Parse(target)
	if err != nil || u.Host == "" {
		return fragments.Attachment{}, errorf("E0507", "attachment %q: want a URL as https://example.com/a.png", target)
	}
	a := fragments.Attachment{URL: target, Type: typ, Source: target}
	if name := path.Base(u.Path); name != "." && name != "/" {
		a.Name = name
	}
	return a, nil
}
