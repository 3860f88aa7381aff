package main

import (
	"testing"

	"github.com/starhost/starhost/loader"
)

func TestExprPlugin(t *testing.T) {
	a, b := loader.Plugin{Name: "a", Inside: new(loader.Inside)}, loader.Plugin{Name: "b", Inside: new(loader.Inside)}
	failed := loader.Plugin{Name: "c"}
	tests := []struct {
		plugins            []loader.Plugin
		text, plugin, expr string
		fails              bool
	}{
		{[]loader.Plugin{a, failed}, "1 + 1", "a", "1 + 1", false},
		{[]loader.Plugin{a, b}, "b: 1", "b", " 1", false},
		{[]loader.Plugin{a, b}, "1", "", "", true},
		{[]loader.Plugin{a}, "{1: 2}", "a", "{1: 2}", false},
		{[]loader.Plugin{a}, "lambda a: 1", "a", "lambda a: 1", false},
		{[]loader.Plugin{a, b}, "c:1", "", "", true},
		{[]loader.Plugin{failed}, "1", "", "", true},
	}
	for _, tt := range tests {
		p, expr, err := exprPlugin(tt.plugins, tt.text)
		if (err != nil) != tt.fails || expr != tt.expr || p != nil && p.Name != tt.plugin {
			t.Errorf("exprPlugin(%q): got %v, %q, %v", tt.text, p, expr, err)
		}
	}
}
