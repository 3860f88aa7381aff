package loader

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/BurntSushi/toml"

	"github.com/starhost/starhost/internal/jsontext"
)

// plainValue converts a TOML value to the Go types of [Value].
func plainValue(v any) (any, error) {
	switch v := v.(type) {
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, errors.New("a finite number")
		}
		return v, nil
	case json.Number:
		n := jsontext.GoNumbers(v)
		if f, ok := n.(float64); ok && math.IsInf(f, 0) {
			return nil, endlessNumber(v)
		}
		return n, nil
	case string, bool, int64:
		return v, nil
	case []any:
		return plainList(v)
	case []map[string]any:
		return plainList(v)
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, item := range v {
			p, err := plainValue(item)
			if err != nil {
				return nil, fmt.Errorf("%w at %s", err, toml.Key{key})
			}
			m[key] = p
		}
		return m, nil
	}
	return nil, errors.New("a string, number, boolean, list or table (write dates as strings)")
}

// An endlessNumber is a number of JSON that is greater than all of Go.
type endlessNumber string

func (endlessNumber) Error() string { return "a finite number" }

func plainList[T any](items []T) (any, error) {
	out := make([]any, len(items))
	for i, item := range items {
		p, err := plainValue(item)
		if err != nil {
			return nil, fmt.Errorf("%w at item %d", err, i+1)
		}
		out[i] = p
	}
	return out, nil
}
