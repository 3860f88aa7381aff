package ui

import (
	"image"
	_ "image/gif" // DecodeConfig of each type that browsers show
	_ "image/jpeg"
	_ "image/png"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	_ "golang.org/x/image/webp"
)

// Bounds of the pictures that the server keeps for its pages. Others are shown by their names.
const (
	maxPictures = 32 << 20 // bytes in sum
	maxPicture  = 8 << 20  // bytes in one
	maxPixels   = 24 << 20 // in one; a browser takes four bytes for each
)

// pictureTypes are the types of pictures that the page shows, by their names in package image. None
// of them can contain a script or an address. The content decides, and not what a plugin says.
var pictureTypes = map[string]string{"gif": "image/gif", "jpeg": "image/jpeg", "png": "image/png", "webp": "image/webp"}

// A picture is an attachment that a browser can show.
type picture struct{ id, mediaType, content string }

// pictures are those of the last answers, the oldest first.
type pictures struct {
	mu    sync.Mutex
	list  []picture
	bytes int
}

// KeepPicture keeps an attachment for the page if it is a small picture of a safe type. The oldest
// ones make room.
func (s *Server) KeepPicture(id, content string) {
	if len(content) > maxPicture {
		return
	}
	header, format, err := image.DecodeConfig(strings.NewReader(content))
	mediaType := pictureTypes[format]
	if err != nil || mediaType == "" || min(header.Width, header.Height) <= 0 || header.Width > maxPixels/header.Height {
		return
	}
	p := &s.pictures
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := p.index(id); i >= 0 { // the newest ones stay longest
		p.drop(i)
	}
	for p.bytes+len(content) > maxPictures {
		p.drop(0)
	}
	p.list = append(p.list, picture{id, mediaType, content})
	p.bytes += len(content)
}

func (p *pictures) index(id string) int {
	return slices.IndexFunc(p.list, func(x picture) bool { return x.id == id })
}

func (p *pictures) drop(i int) {
	p.bytes -= len(p.list[i].content)
	p.list = slices.Delete(p.list, i, i+1)
}

// answerPicture answers with a picture.
func (s *Server) answerPicture(w http.ResponseWriter, r *http.Request) {
	p := &s.pictures
	p.mu.Lock()
	i := p.index(r.URL.Query().Get("id"))
	var found picture
	if i >= 0 {
		found = p.list[i]
	}
	p.mu.Unlock()
	if i < 0 {
		writeError(w, http.StatusNotFound, "the server has no such picture")
		return
	}
	w.Header().Set("Content-Type", found.mediaType)
	_, _ = io.WriteString(w, found.content) // the page went away
}
