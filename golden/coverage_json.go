package golden

import (
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/starlark"
)

// A CoverageJSON is the JSON form of the coverage.
type CoverageJSON struct {
	Lines   int                  `json:"lines"`
	Reached int                  `json:"reached"`
	Plugins []pluginCoverageJSON `json:"plugins"`
	Files   []fileCoverageJSON   `json:"files"`
}

// A pluginCoverageJSON sums up the files of a plugin's folder, or one file outside of all
// plugin folders.
type pluginCoverageJSON struct {
	Path     string `json:"path"`
	Lines    int    `json:"lines"`
	Reached  int    `json:"reached"`
	Branches int    `json:"branches"`
	Taken    int    `json:"taken"`
}

type fileCoverageJSON struct {
	Path     string               `json:"path"`
	Lines    []lineCoverageJSON   `json:"lines"`
	Branches []branchCoverageJSON `json:"branches"`
}

type lineCoverageJSON struct {
	Line  int    `json:"line"`
	Count uint64 `json:"count"`
}

type branchCoverageJSON struct {
	Line  int    `json:"line"`
	Col   int    `json:"col"`
	True  uint64 `json:"true"`
	False uint64 `json:"false"`
}

func newPluginCoverageJSON(p *PluginCoverage) pluginCoverageJSON {
	out := pluginCoverageJSON{Path: p.Path}
	out.Reached, out.Lines = p.Files.CountLines()
	out.Taken, out.Branches = p.Files.CountBranches()
	return out
}

// NewCoverageJSON returns nil for no coverage.
func NewCoverageJSON(c Coverage) *CoverageJSON {
	if c == nil {
		return nil
	}
	out := &CoverageJSON{Plugins: jsontext.List(c.Plugins(), newPluginCoverageJSON), Files: jsontext.List(c, newFileCoverageJSON)}
	out.Reached, out.Lines = c.CountLines()
	return out
}

func newFileCoverageJSON(f *starlark.FileCoverage) fileCoverageJSON {
	return fileCoverageJSON{
		f.Path,
		jsontext.List(f.Lines, func(l *starlark.LineCoverage) lineCoverageJSON { return lineCoverageJSON(*l) }),
		jsontext.List(f.Branches, func(b *starlark.BranchCoverage) branchCoverageJSON { return branchCoverageJSON(*b) }),
	}
}
