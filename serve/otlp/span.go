package otlp

import (
	"strconv"
	"time"
)

// These are the messages of OTLP's JSON form: ids are in hexadecimal, 64-bit integers are strings.
type (
	traces struct {
		Resources []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource resource     `json:"resource"`
		Scopes   []scopeSpans `json:"scopeSpans"`
	}
	resource struct {
		Attributes []attribute `json:"attributes"`
	}
	scopeSpans struct {
		Scope scope  `json:"scope"`
		Spans []span `json:"spans"`
	}
	scope struct {
		Name string `json:"name"`
	}
	span struct {
		TraceID    string      `json:"traceId"`
		SpanID     string      `json:"spanId"`
		Name       string      `json:"name"`
		Kind       int         `json:"kind"`
		Start      string      `json:"startTimeUnixNano"`
		End        string      `json:"endTimeUnixNano"`
		Attributes []attribute `json:"attributes"`
		Events     []spanEvent `json:"events,omitempty"`
	}
	spanEvent struct {
		Time       string      `json:"timeUnixNano"`
		Name       string      `json:"name"`
		Attributes []attribute `json:"attributes"`
	}
	attribute struct {
		Key   string `json:"key"`
		Value value  `json:"value"`
	}
	value struct {
		Text string `json:"stringValue,omitempty"`
		Int  string `json:"intValue,omitempty"`
	}
)

func textAttribute(key, text string) attribute { return attribute{key, value{Text: text}} }

func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

// tracesOf returns the request for a batch.
func tracesOf(batch []span) traces {
	return traces{[]resourceSpans{{
		Resource: resource{[]attribute{textAttribute("service.name", "starhost")}},
		Scopes:   []scopeSpans{{scope{"starhost"}, batch}},
	}}}
}
