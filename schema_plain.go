package starhost

import (
	"encoding/json"
	"math"
	"slices"
)

// decodePlain returns a schema that has only what is known to compile: the common
// keywords in their common form. Such are those that are derived from signatures. Others
// are nil. Of a member that is given twice only the last one is looked at.
func decodePlain(raw json.RawMessage) map[string]any {
	var s map[string]any
	if len(raw) > maxSchemaSize || checkText(raw) != nil || json.Unmarshal(raw, &s) != nil {
		return nil
	}
	if s["type"] != "object" || !plainSchema(s) {
		return nil
	}
	return s
}

// plainSchema tells whether a schema or a part of one is plain.
func plainSchema(v any) bool {
	s, ok := v.(map[string]any)
	properties, _ := s["properties"].(map[string]any)
	for keyword, v := range s {
		ok = ok && plainKeyword(keyword, v, properties)
	}
	return ok
}

// plainKeyword tells whether v is plain as the value of a keyword, beside these
// properties.
func plainKeyword(keyword string, v any, properties map[string]any) bool {
	list, isList := v.([]any)
	text, isText := v.(string)
	switch keyword {
	case "default":
		return true
	case "description":
		return isText
	case "type":
		return slices.Contains(schemaTypes, text)
	case "additionalProperties":
		return v == false
	case "enum":
		return isList
	case "items":
		return plainSchema(v)
	case "required":
		return isList && !slices.ContainsFunc(list, func(name any) bool { return !isKey(properties, name) })
	case "properties":
		for _, p := range properties {
			if !plainSchema(p) {
				return false
			}
		}
		return properties != nil
	}
	return false
}

// isKey tells whether v is the name of a property.
func isKey(properties map[string]any, v any) bool {
	name, ok := v.(string)
	return ok && properties[name] != nil
}

// accepts tells whether a value is valid, by a plain schema that was decoded. If it says
// no, the value may yet be: equal lists and objects of an enum are not looked for.
func accepts(schema, value any) bool {
	s, _ := schema.(map[string]any)
	if name, ok := s["type"].(string); ok && !hasType(value, name) {
		return false
	}
	if enum, ok := s["enum"].([]any); ok && !listed(enum, value) {
		return false
	}
	switch v := value.(type) {
	case []any:
		items, ok := s["items"]
		return !ok || !slices.ContainsFunc(v, func(item any) bool { return !accepts(items, item) })
	case map[string]any:
		return acceptsMembers(s, v)
	}
	return true
}

// acceptsMembers is accepts for what an object must and may have.
func acceptsMembers(s, object map[string]any) bool {
	required, _ := s["required"].([]any)
	for _, name := range required {
		if _, ok := object[name.(string)]; !ok {
			return false
		}
	}
	properties, _ := s["properties"].(map[string]any)
	for name, v := range object {
		p, known := properties[name]
		if known && !accepts(p, v) || !known && s["additionalProperties"] == false {
			return false
		}
	}
	return true
}

// hasType tells whether a value that was decoded is of a type of JSON Schema.
func hasType(value any, name string) bool {
	switch v := value.(type) {
	case nil:
		return name == "null"
	case bool:
		return name == "boolean"
	case string:
		return name == "string"
	case float64:
		return name == "number" || name == "integer" && v == math.Trunc(v)
	case []any:
		return name == "array"
	}
	return name == "object"
}

// listed tells whether one of a list is a text, number or other single value.
func listed(list []any, value any) bool {
	switch value.(type) {
	case []any, map[string]any:
		return false
	}
	return slices.Contains(list, value)
}
