package lsp

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Bounds of one message.
const (
	maxMessage = 8 << 20 // bytes; a document of maxDocument with escapes is smaller
	maxHeader  = 1 << 10 // bytes of one header line
)

// Error codes of JSON-RPC and of the protocol.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeMethodNotFound = -32601
	codeInvalidParams  = -32602
	codeInternal       = -32603
	codeNotInitialized = -32002
	codeRequestFailed  = -32803
)

// A message is a request, a notification (without an ID) or an answer (without a Method).
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// A messageError is the reason why a message was skipped. Reading can go on.
type messageError struct{ msg string }

func (e *messageError) Error() string { return e.msg }

// readMessage returns the next message. It skips lines that are no header, so that it finds the
// next message behind a broken one.
func readMessage(r *bufio.Reader) (*message, error) {
	size, err := readHeader(r)
	if err != nil {
		return nil, err
	}
	if size > maxMessage {
		if _, err := io.CopyN(io.Discard, r, size); err != nil {
			return nil, io.EOF
		}
		return nil, &messageError{fmt.Sprintf("got a message of %d bytes, want at most %d", size, maxMessage)}
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(r, body); err != nil {
		return nil, io.EOF
	}
	m := new(message)
	if err := json.Unmarshal(body, m); err != nil {
		return nil, &messageError{"got a message that is no JSON object: " + err.Error()}
	}
	return m, nil
}

// readHeader returns the length of the next message.
func readHeader(r *bufio.Reader) (int64, error) {
	size := int64(-1)
	for {
		line, err := r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			size = -1 // the rest of a broken message
			continue
		}
		if err != nil {
			return 0, io.EOF
		}
		text := strings.TrimRight(string(line), "\r\n")
		name, value, _ := strings.Cut(text, ":")
		switch {
		case text == "" && size >= 0:
			return size, nil
		case strings.EqualFold(name, "Content-Length"):
			n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			if err != nil || n < 0 {
				n = -1
			}
			size = n
		}
	}
}

// writeMessage writes a message with its header.
func writeMessage(w io.Writer, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "Content-Length: %d\r\n\r\n%s", len(body), body)
	return err
}

// A response answers a request. Exactly one of Result and Error is set.
type response struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result"`
}

type failure struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Error   *responseError  `json:"error"`
}

// A responseError is the answer to a request that failed.
type responseError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *responseError) Error() string { return e.Message }

// failf returns the error of a request that the server understood and cannot fulfil.
func failf(format string, args ...any) error {
	return &responseError{codeRequestFailed, fmt.Sprintf(format, args...)}
}

type notification struct {
	Version string `json:"jsonrpc"`
	Method  string `json:"method"`
	Params  any    `json:"params"`
}
