package neko

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/starhost/starhost/internal/jsontext"
)

// A registration is the body of a request to register a tool.
type registration struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Callback    string          `json:"callback_url"`
	Role        *string         `json:"role"`
	Source      string          `json:"source"`
	Timeout     float64         `json:"timeout_seconds"`
}

// readBody decodes the body of a request.
func readBody(body io.Reader, v any) error {
	text, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	var wrong *json.UnmarshalTypeError
	switch err := json.Unmarshal(text, v); {
	case errors.As(err, &wrong) && wrong.Field != "":
		return &fieldError{wrong.Field, strings.TrimPrefix(jsontext.Explain(wrong), wrong.Field+": ")}
	case err != nil:
		return fmt.Errorf("want a JSON object: %s", jsontext.Explain(err))
	}
	return nil
}

func checkName(name string) error {
	switch {
	case name == "" || len(name) > maxName:
		return &fieldError{"name", fmt.Sprintf("got %d bytes, want 1 to %d", len(name), maxName)}
	case strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") != "":
		return &fieldError{"name", fmt.Sprintf("got %q, want letters, digits, _ and -", name)}
	}
	return nil
}

// read decodes and checks a registration.
func (q *registration) read(body io.Reader) (*definition, error) {
	if err := readBody(body, q); err != nil {
		return nil, err
	}
	if err := checkName(q.Name); err != nil {
		return nil, err
	}
	if q.Callback == "" {
		return nil, &fieldError{"callback_url", "want a URL"}
	}
	if err := checkURL(q.Callback); err != nil {
		return nil, &fieldError{"callback_url", err.Error()}
	}
	if q.Timeout <= 0 || q.Timeout > maxTimeout.Seconds() {
		return nil, &fieldError{"timeout_seconds", fmt.Sprintf("got %v, want more than 0 and at most %v", q.Timeout, maxTimeout.Seconds())}
	}
	if len(q.Parameters) == 0 {
		q.Parameters = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	if q.Parameters[0] != '{' {
		return nil, &fieldError{"parameters", "want an object"}
	}
	d := &definition{
		name: q.Name, source: q.Source, callback: q.Callback, parameters: q.Parameters,
		description: cmp.Or(q.Description, "The tool "+q.Name+"."), // a host wants one
		timeout:     time.Duration(q.Timeout * float64(time.Second)),
	}
	return d, nil
}
