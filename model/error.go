package model

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/starhost/starhost/internal/errtext"
)

// errorf makes all errors of this package, so that each is bounded.
func errorf(format string, args ...any) error { return errtext.Errorf(format, args...) }

// An Error is the refusal of an endpoint.
type Error struct {
	// Status is the HTTP status, or 200 for an error in a stream.
	Status int
	// Type is the endpoint's name of the error, "" for none.
	Type string
	// Message is the endpoint's text, cut to 200 bytes.
	Message string

	pause time.Duration // the endpoint wants it before the next try; negative if it wants none
}

func (e *Error) Error() string {
	var parts []string
	if e.Status != http.StatusOK {
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("%d %s", e.Status, http.StatusText(e.Status))))
	}
	for _, text := range []string{e.Type, e.Message} {
		if text != "" {
			parts = append(parts, text)
		}
	}
	if len(parts) == 0 {
		return "the endpoint reported an error without a word"
	}
	return strings.Join(parts, ": ")
}

// maxQuoted is the most bytes of an endpoint's text in an error.
const maxQuoted = 200

// newError returns the error of a response.
func newError(status int, header http.Header, body []byte) *Error {
	e := &Error{Status: status, pause: pauseOf(header)}
	e.Type, e.Message = errorText(body)
	if location := header.Get("Location"); status >= 300 && status < 400 && location != "" {
		e.Message = "the endpoint is at " + location + ": starhost follows no redirect, because it would send the key there"
	}
	e.Type, e.Message = quotable(e.Type), quotable(e.Message)
	return e
}

// StreamError returns the error that an event of a stream reports: the JSON object of "error".
func StreamError(raw json.RawMessage) error {
	e := &Error{Status: http.StatusOK, pause: -1}
	e.Type, e.Message = errorText(raw)
	e.Type, e.Message = quotable(e.Type), quotable(e.Message)
	return e
}

// quotable returns the start of a text of an endpoint, in one line.
func quotable(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "\ufffd")), " ")
	if len(text) <= maxQuoted {
		return text
	}
	return text[:errtext.RuneStart(text, maxQuoted-len("…"))] + "…"
}

// errorText returns the type and the message of an error of any dialect.
func errorText(body []byte) (kind, message string) {
	var e struct {
		Error, Message, Detail, Type, Code json.RawMessage
	}
	if json.Unmarshal(body, &e) != nil {
		text := string(bytes.TrimSpace(body))
		if strings.HasPrefix(text, "<") {
			return "", "the endpoint answered with a page of HTML"
		}
		return "", text
	}
	if len(e.Error) > 0 && e.Error[0] == '{' {
		return errorText(e.Error)
	}
	message = cmp.Or(plainText(e.Message), plainText(e.Error), plainText(e.Detail))
	if kind = plainText(e.Type); kind == "" || kind == "error" {
		kind = plainText(e.Code)
	}
	return kind, message
}

// plainText returns a JSON string as its text, "" for null, and other JSON as it is.
func plainText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil || len(raw) == 0 {
		return s
	}
	return string(raw)
}

// retryable are the statuses after which the same request may work.
var retryable = map[int]bool{429: true, 500: true, 502: true, 503: true, 529: true}

// isTransient reports whether the same request may work later. Errors in streams have a type and
// no status.
func (e *Error) isTransient() bool {
	if e.Status != http.StatusOK {
		return retryable[e.Status]
	}
	switch e.Type {
	case "overloaded_error", "rate_limit_error", "api_error", "server_error", "rate_limit_exceeded":
		return true
	}
	return false
}
