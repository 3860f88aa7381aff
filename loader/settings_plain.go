package loader

import (
	"errors"
	"fmt"
	"math"

	"github.com/BurntSushi/toml"
)

// plainValue converts a TOML value to the Go types of [Value].
func plainValue(v any) (any, error) {
	switch v := v.(type) {
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, errors.New("a finite number")
		}
		return v, nil
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
