package effects_test

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"

	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/fragments"
)

// pixelGIF is a picture of one pixel.
const pixelGIF = "GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"

// lossyWebP is the header of a picture of 16 by 9 pixels.
const lossyWebP = "RIFF\x1e\x00\x00\x00WEBPVP8 \x12\x00\x00\x00\x10\x00\x00\x9d\x01\x2a\x10\x00\x09\x00\x00\x00\x00\x00\x00\x00\x00\x00"

// picture encodes a picture of 3 by 2 pixels.
func picture(t *testing.T, encode func(*bytes.Buffer, image.Image) error) []byte {
	t.Helper()
	m := image.NewPaletted(image.Rect(0, 0, 3, 2), color.Palette{color.Black, color.White})
	var b bytes.Buffer
	if err := encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestNewAttachment(t *testing.T) {
	pngBytes := picture(t, func(b *bytes.Buffer, m image.Image) error { return png.Encode(b, m) })
	tests := []struct {
		name    string
		content []byte
		typ     string
		want    fragments.Attachment
	}{
		{"png", pngBytes, "", fragments.Attachment{Type: "image/png", Width: 3, Height: 2}},
		{"jpeg", picture(t, func(b *bytes.Buffer, m image.Image) error { return jpeg.Encode(b, m, nil) }), "", fragments.Attachment{Type: "image/jpeg", Width: 3, Height: 2}},
		{"bmp", picture(t, func(b *bytes.Buffer, m image.Image) error { return bmp.Encode(b, m) }), "", fragments.Attachment{Type: "image/bmp", Width: 3, Height: 2}},
		{"tiff", picture(t, func(b *bytes.Buffer, m image.Image) error { return tiff.Encode(b, m, nil) }), "", fragments.Attachment{Type: "image/tiff", Width: 3, Height: 2}},
		{"gif", []byte(pixelGIF), "", fragments.Attachment{Type: "image/gif", Width: 1, Height: 1}},
		{"webp", []byte(lossyWebP), "", fragments.Attachment{Type: "image/webp", Width: 16, Height: 9}},
		{"a header cut short", pngBytes[:20], "", fragments.Attachment{Type: "image/png"}},
		{"the given type wins", pngBytes, "application/x-dash", fragments.Attachment{Type: "application/x-dash", Width: 3, Height: 2}},
		{"text without its charset", []byte("hello"), "", fragments.Attachment{Type: "text/plain"}},
		{"pdf", []byte("%PDF-1.7\n"), "", fragments.Attachment{Type: "application/pdf"}},
		{"json", []byte(" {\"a\": 1}\n"), "", fragments.Attachment{Type: "application/json"}},
		{"text that begins as json", []byte("[draft] hello"), "", fragments.Attachment{Type: "text/plain"}},
		{"long json", []byte("[" + strings.Repeat("{\"é\": [1, null]}, ", 100) + "{}]"), "", fragments.Attachment{Type: "application/json"}},
		{"long json lines", []byte(strings.Repeat("{\"a\": 1}\n", 100)), "", fragments.Attachment{Type: "text/plain"}},
		{"a long text in brackets", []byte("[1] " + strings.Repeat("see [2] ", 100) + "[3]"), "", fragments.Attachment{Type: "text/plain"}},
		{"json without its end", []byte("[" + strings.Repeat("1, ", 400)), "", fragments.Attachment{Type: "text/plain"}},
		{"text in brackets", []byte("[draft] see [1]"), "", fragments.Attachment{Type: "text/plain"}},
		{"a template", []byte("{{name}} is {{age}}"), "", fragments.Attachment{Type: "text/plain"}},
		{"svg", []byte("<svg xmlns=\"http://www.w3.org/2000/svg\"/>"), "", fragments.Attachment{Type: "image/svg+xml"}},
		{"svg behind its prolog", []byte("<?xml version=\"1.0\"?>\n<svg/>"), "", fragments.Attachment{Type: "image/svg+xml"}},
		{"xml", []byte("<?xml version=\"1.0\"?>\n<a/>"), "", fragments.Attachment{Type: "text/xml"}},
		{"docx", []byte("PK\x03\x04..[Content_Types].xml..word/document.xml.."), "", fragments.Attachment{Type: "application/vnd.openxmlformats-officedocument.wordprocessingml.document"}},
		{"zip", []byte("PK\x03\x04..a.txt.."), "", fragments.Attachment{Type: "application/zip"}},
		{"html", []byte("<!DOCTYPE html><p>"), "", fragments.Attachment{Type: "text/html"}},
		{"wav", []byte("RIFF\x24\x00\x00\x00WAVEfmt "), "", fragments.Attachment{Type: "audio/wav"}},
		{"mp3", []byte("ID3\x04\x00"), "", fragments.Attachment{Type: "audio/mpeg"}},
		{"mp3 without a header", []byte("\xff\xfb\x90\x64"), "", fragments.Attachment{Type: "audio/mpeg"}},
		{"bytes", []byte{0, 1, 2}, "", fragments.Attachment{Type: "application/octet-stream"}},
		{"nothing", nil, "", fragments.Attachment{Type: "text/plain"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.want.Content, tt.want.Name = string(tt.content), "n"
			if diff := cmp.Diff(tt.want, effects.NewAttachment(tt.content, "n", tt.typ)); diff != "" {
				t.Errorf("NewAttachment (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzNewAttachment states a law: an attachment has the bytes that NewAttachment got, and no negative size.
func FuzzNewAttachment(f *testing.F) {
	f.Add([]byte(pixelGIF))
	f.Add([]byte(lossyWebP))
	f.Add([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\xff\xff\xff\xff\xff\xff\xff\xff\x08\x03\x00\x00\x00"))
	f.Add([]byte("II*\x00\x08\x00\x00\x00\xff\xff"))
	f.Add([]byte("BM\x00\x00\x00\x00\x00\x00\x00\x00\x36\x00\x00\x00\x28\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00\x18\x00"))
	f.Add([]byte("\xff\xd8\xff\xc0\x00\x11\x08\xff\xff\xff\xff\x03"))
	f.Fuzz(func(t *testing.T, content []byte) {
		a := effects.NewAttachment(content, "", "")
		badSize := a.Width < 0 || a.Height < 0 || (a.Width == 0) != (a.Height == 0)
		if a.Content != string(content) || a.Type == "" || badSize {
			t.Errorf("NewAttachment: got %q %dx%d", a.Type, a.Width, a.Height)
		}
	})
}

func TestReadAttachment(t *testing.T) {
	dir := folder(t, map[string]string{"shots/dash.gif": pixelGIF, "a;type=b": "odd"})
	absolute := filepath.Join(dir, "shots", "dash.gif")
	dash := fragments.Attachment{Content: pixelGIF, Type: "image/gif", Name: "dash.gif", Source: "shots/dash.gif", Width: 1, Height: 1}
	typed := dash
	typed.Type = "image/png"
	whole := dash
	whole.Source = filepath.ToSlash(absolute)
	tests := []struct {
		ref  string
		want fragments.Attachment
		err  string
	}{
		{"./shots/dash.gif", dash, ""},
		{absolute, whole, ""},
		{"shots/dash.gif;type=Image/PNG", typed, ""},
		{"https://example.com/a/b.png?x=1", fragments.Attachment{URL: "https://example.com/a/b.png?x=1", Name: "b.png", Source: "https://example.com/a/b.png?x=1"}, ""},
		{"http://example.com;type=image/png", fragments.Attachment{URL: "http://example.com", Type: "image/png", Source: "http://example.com"}, ""},
		{"https://", fragments.Attachment{}, `attachment "https://": want a URL as https://example.com/a.png`},
		{"http://a b/", fragments.Attachment{}, `attachment "http://a b/": want a URL as https://example.com/a.png`},
		{"shots/dash.gif;type=png", fragments.Attachment{}, `attachment "shots/dash.gif;type=png": type: got "png", want a MIME type as image/png`},
		{"a;type=b", fragments.Attachment{}, `attachment "a;type=b": type: got "b", want a MIME type as image/png`},
		{"", fragments.Attachment{}, `attachment "": want a path or a URL`},
		{"shots", fragments.Attachment{}, `file "shots": got a folder, want a regular file`},
		{"shots/nope.gif", fragments.Attachment{}, `file "shots/nope.gif": no such file or folder`},
	}
	for _, tt := range tests {
		t.Run(tt.ref, func(t *testing.T) {
			got, err := effects.ReadAttachment(dir, tt.ref)
			if diff := cmp.Diff(tt.err, message(err)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("ReadAttachment (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadAttachmentHuge(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "huge.png"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, "huge.png"), 300<<20); err != nil {
		t.Fatal(err)
	}
	if _, err := effects.ReadAttachment(dir, "huge.png"); message(err) != `file "huge.png": got 314572800 bytes, want at most 67108864` || code(err) != "E0506" {
		t.Errorf("ReadAttachment: got %v", err)
	}
}
