package main

import (
	"github.com/starhost/starhost"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/report"
)

// A head begins the JSON result of a command.
type head struct {
	Schema string `json:"schema"`
	OK     bool   `json:"ok"`
}

// head returns the head of a result that is negative if the exit code is.
func (res *Result) head(schema string) head {
	return head{schema, len(res.problems) == 0 && res.code == report.ExitOK}
}

// members are members of a JSON result, in the order of their names.
type members map[string]any

// A tail ends the JSON result of a command that loads plugins.
type tail struct {
	Warnings []report.WarningJSON `json:"warnings"`
	Errors   []report.ErrorJSON   `json:"errors"`
}

func (res *Result) tail() tail { return tail{res.warningsJSON(), res.errorsJSON()} }

// errors ends the JSON result of a command that loads no plugins.
func (res *Result) errors() members { return members{"errors": res.errorsJSON()} }

func (res *Result) warningsJSON() []report.WarningJSON {
	return jsontext.List(res.relevantWarnings(), func(w *loader.Warning) report.WarningJSON {
		return report.WarningJSON{Message: w.Msg, Pos: report.NewPosJSON(starhost.Pos(w.PlaceFromHere()))}
	})
}

func (res *Result) errorsJSON() []report.ErrorJSON {
	return jsontext.List(res.problems, (*report.Problem).JSON)
}
