package modules

import (
	"archive/zip"
	_ "embed" // embeds the database of zones
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// zoneData is the file lib/time/zoneinfo.zip of Go's distribution: the IANA time zone database,
// version 2025c, which is in the public domain. Go's package time reads the machine's files first
// and uses time/tzdata only if there are none, so two machines could show one instant at two clock
// times.
//
//go:generate cp $GOROOT/lib/time/zoneinfo.zip zoneinfo.zip
//go:embed zoneinfo.zip
var zoneData string

// zoneFiles maps the name of each zone to its embedded file.
var zoneFiles = sync.OnceValue(func() map[string]*zip.File {
	r, err := zip.NewReader(strings.NewReader(zoneData), int64(len(zoneData)))
	if err != nil {
		panic(err) // cannot happen: the program embeds a valid archive
	}
	files := make(map[string]*zip.File, len(r.File))
	for _, f := range r.File {
		files[f.Name] = f
	}
	return files
})

// zoneNames returns the names of all zones, sorted.
func zoneNames() []string { return slices.Sorted(maps.Keys(zoneFiles())) }

// zones caches the loaded zones by name.
var zones sync.Map // string to *time.Location

// maxZoneName bounds the bytes of a zone's name, because a plugin may look up a name of megabytes.
// The longest name has 32.
const maxZoneName = 64

// errNoZone is the error for a name that no zone has.
var errNoZone = errors.New("no such time zone")

// LoadZone returns the zone called name, which is the same on every machine.
func LoadZone(name string) (*time.Location, error) {
	if len(name) > maxZoneName {
		return nil, errNoZone
	}
	if name == "UTC" {
		return time.UTC, nil
	}
	if loc, ok := zones.Load(name); ok {
		return loc.(*time.Location), nil
	}
	f := zoneFiles()[name]
	if f == nil {
		return nil, errNoZone
	}
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	loc, err := time.LoadLocationFromTZData(name, data)
	if err != nil {
		return nil, err
	}
	zones.Store(name, loc)
	return loc, nil
}
