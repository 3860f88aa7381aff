package starhost

import (
	"encoding/json"
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
