package builtins

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/near"
)

// APIVersion is the version of the vocabulary that this package implements.
const APIVersion = 1

// A Manifest describes a plugin by the arguments of plugin(...), which ReadManifest reads from
// the syntax tree before a line of the plugin runs. A missing argument leaves its field zero,
// except API.
type Manifest struct {
	// API is the version of the vocabulary that the plugin needs: [APIVersion].
	API int
	// Name is the plugin's name, or "" if the file states none; see [Manifest.CheckName].
	Name, Version, Owner string
	// Description is the argument description of plugin(...), or else the first paragraph of the file's
	// docstring.
	Description string
	// Permissions lists the effects that the plugin asks for. It grants none. The host in a permission for
	// requests can be a setting, as in "http:{config.host}"; see [Manifest.ResolvePermissions]. Requires
	// lists other plugins, as "policy" or "policy>=1.2".
	Permissions, Requires []string
	// RequiresEnv lists the environment variables without which the plugin is unavailable.
	RequiresEnv []EnvVar
	// Config has the settings with their defaults, in the order in which the plugin states them.
	Config *starlark.Dict
	// Events are the events that the plugin declares, in its order. [Manifest.CheckName] sets the field
	// Plugin of each.
	Events []starhost.EventSpec
	// Place is the position of plugin(...), or the zero Position if the file has none.
	Place syntax.Position

	namePlace, eventsPlace syntax.Position
}

// manifestFields decodes the arguments of plugin(...), in the order of the docs.
var manifestFields = []struct {
	name string
	set  func(*Manifest, starlark.Value) error
}{
	{"api", setAPI},
	{"name", func(m *Manifest, v starlark.Value) error { return setText(&m.Name, v) }},
	{"version", func(m *Manifest, v starlark.Value) error { return setText(&m.Version, v) }},
	{"description", func(m *Manifest, v starlark.Value) error { return setText(&m.Description, v) }},
	{"owner", func(m *Manifest, v starlark.Value) error { return setText(&m.Owner, v) }},
	{"permissions", setPermissions},
	{"requires_env", setEnv},
	{"requires", func(m *Manifest, v starlark.Value) error { return setTexts(&m.Requires, v) }},
	{"config", setConfig},
	{"events", setEvents},
}

// manifestField returns the decoder of a field, or an error that lists the fields.
func manifestField(name string) (func(*Manifest, starlark.Value) error, error) {
	for _, f := range manifestFields {
		if f.name == name {
			return f.set, nil
		}
	}
	names := make([]string, len(manifestFields))
	for i, f := range manifestFields {
		names[i] = f.name
	}
	return nil, call.Errorf("E0203", "plugin: unexpected keyword argument %q%s, it takes %s", name, near.DidYouMean(name, names), strings.Join(names, ", "))
}

// ReadManifest returns the manifest that a plugin's file states. For a file without plugin(...), it has the
// defaults. The error has a place.
func ReadManifest(f Text) (*Manifest, error) {
	note, err := f.Note("manifest", func(f *syntax.File) (any, error) { return readManifest(f) })
	if err != nil {
		return nil, err
	}
	m := *note.(*Manifest) // copied, because CheckName changes it, and f may cache the note
	m.Events = slices.Clone(m.Events)
	return &m, nil
}

// readManifest reads the manifest from the syntax tree of a file.
func readManifest(f *syntax.File) (*Manifest, error) {
	m := &Manifest{API: APIVersion}
	expr, err := findPlugin(f)
	if err != nil {
		return nil, err
	}
	if expr != nil {
		if err := m.read(expr); err != nil {
			return nil, err
		}
	}
	if m.Description == "" {
		m.Description = firstParagraph(fileDoc(f))
	}
	if m.Config == nil {
		m.Config = new(starlark.Dict)
	}
	m.Config.Freeze()
	if len(m.Permissions) > 0 {
		err = m.checkHostSettings()
	}
	return m, err
}

// read reads the arguments of plugin(...) into the manifest.
func (m *Manifest) read(expr *syntax.CallExpr) error {
	m.Place, _ = expr.Span()
	seen := map[string]bool{}
	for _, arg := range expr.Args {
		start, _ := arg.Span()
		bin, ok := arg.(*syntax.BinaryExpr)
		if !ok || bin.Op != syntax.EQ {
			return call.Errorf("E0302", "plugin: takes literals by name: plugin(version = \"1.0\")").At(start)
		}
		name := bin.X.(*syntax.Ident).Name
		if seen[name] {
			return call.Errorf("E0302", "plugin: %s is given twice", name).At(start)
		}
		seen[name] = true
		switch name {
		case "name":
			m.namePlace = start
		case "events":
			m.eventsPlace = start
		}
		if err := m.field(name, bin.Y, start); err != nil {
			return err
		}
	}
	return nil
}

// field reads one argument, which begins at start.
func (m *Manifest) field(name string, x syntax.Expr, start syntax.Position) error {
	set, err := manifestField(name)
	if err != nil {
		return err.(*call.Error).At(start)
	}
	v, err := literal(x)
	if err != nil {
		return err
	}
	if err := set(m, v); err != nil {
		code := "E0302"
		var coded interface{ Code() string } // the error of a wrong permission has a code of its own
		if errors.As(err, &coded) {
			code = coded.Code()
		}
		return call.Errorf(code, "plugin: %s: %v", name, err).At(start)
	}
	return nil
}

func setAPI(m *Manifest, v starlark.Value) error {
	n, err := starlark.AsInt32(v)
	if err != nil {
		return fmt.Errorf("got %s, want int", v.Type())
	}
	if n != APIVersion {
		return fmt.Errorf("got %d, want %d: this starhost has version %d of the vocabulary, install one that has version %d", n, APIVersion, APIVersion, n)
	}
	m.API = n
	return nil
}

func setText(p *string, v starlark.Value) error {
	s, ok := starlark.AsString(v)
	if !ok {
		return fmt.Errorf("got %s, want string", v.Type())
	}
	*p = s
	return nil
}

func setTexts(p *[]string, v starlark.Value) error {
	list, ok := v.(*starlark.List)
	if !ok {
		return fmt.Errorf("got %s, want a list of strings", v.Type())
	}
	for i := range list.Len() {
		s, ok := starlark.AsString(list.Index(i))
		if !ok {
			return fmt.Errorf("[%d]: got %s, want string", i, list.Index(i).Type())
		}
		*p = append(*p, s)
	}
	return nil
}

// HostSetting reports whether a key of [plugin.NAME] has a meaning for the host, so that no plugin can
// declare it.
func HostSetting(key string) bool { return key == "limits" || key == "mode" }

// maxEvents is the most events that a plugin declares, and the most arguments of one.
const maxEvents = 100

func setEvents(m *Manifest, v starlark.Value) error {
	dict, ok := v.(*starlark.Dict)
	if !ok {
		return fmt.Errorf("got %s, want a dict of events and their arguments", v.Type())
	}
	if dict.Len() > maxEvents {
		return fmt.Errorf("got %d events, want at most %d", dict.Len(), maxEvents)
	}
	for k, args := range dict.Entries() {
		name, ok := starlark.AsString(k)
		if !ok {
			return fmt.Errorf("key %v: got %s, want string", k, k.Type())
		}
		var names []string
		if err := setTexts(&names, args); err != nil {
			return fmt.Errorf("%s: %w", errtext.Quote(name), err)
		}
		if len(names) > maxEvents {
			return fmt.Errorf("%s: got %d arguments, want at most %d", errtext.Quote(name), len(names), maxEvents)
		}
		m.Events = append(m.Events, declaredEvent(name, names))
	}
	return (&host.Options{AppEvents: m.Events}).Check()
}

// declaredEvent returns an event that a plugin declares. Handlers of such events return values and no
// decisions.
func declaredEvent(name string, args []string) starhost.EventSpec {
	return starhost.EventSpec{
		Name: name, Fires: "its plugin calls ctx.fire", Args: args, Actions: []starhost.Action{starhost.ActionValue},
	}
}

func setConfig(m *Manifest, v starlark.Value) error {
	dict, ok := v.(*starlark.Dict)
	if !ok {
		return fmt.Errorf("got %s, want a dict of defaults", v.Type())
	}
	for _, k := range dict.Keys() {
		name, ok := starlark.AsString(k)
		switch {
		case !ok:
			return fmt.Errorf("key %v: got %s, want string", k, k.Type())
		case HostSetting(name):
			return fmt.Errorf("key %q is the host's own: it means the same for every plugin", name)
		case !isIdentifier(name):
			return fmt.Errorf("key %q: want a name, as it is read as config.NAME", name)
		}
	}
	m.Config = dict
	return nil
}

// CheckName returns an error with a place if the plugin's name differs from the name of its file or folder,
// or if the name of a declared event begins with another plugin's name. Otherwise it sets the field Plugin of
// each event in Events.
func (m *Manifest) CheckName(name string) error {
	if m.Name != "" && m.Name != name {
		return call.Errorf("E0302", "plugin: name: got %q, want %q: a plugin has the name of its file or folder", m.Name, name).At(m.namePlace)
	}
	for i := range m.Events {
		m.Events[i].Plugin = name
	}
	if err := (&host.Options{AppEvents: m.Events}).Check(); err != nil {
		return call.Errorf("E0302", "plugin: events: %v", err).At(m.eventsPlace)
	}
	return nil
}

// A Setting is a value that the operator set for a plugin.
type Setting struct {
	Key string
	// Value is a string, bool, int64, float64, []any or map[string]any.
	Value any
	// Place says where the setting comes from: "starhost.toml:12", "--set".
	Place string
}

// Configure returns the plugin's `config`: a frozen struct with the declared defaults. Settings replace
// defaults, and later settings win. A setting must have a declared key, and a value of the default's type,
// also inside lists and dicts. Otherwise the error names the setting's place. If the default is a float, an
// int is valid, too; if it is None, any type is.
func (m *Manifest) Configure(settings []Setting) (starlark.Value, error) {
	fields := starlark.StringDict{}
	for k, v := range m.Config.Entries() {
		fields[string(k.(starlark.String))] = v
	}
	declared := slices.Sorted(maps.Keys(fields))
	for _, s := range settings {
		old, ok := fields[s.Key]
		if !ok {
			return nil, call.Errorf("E0303", "%s: unknown setting %q%s, %s", s.Place, s.Key, near.DidYouMean(s.Key, declared), declaredNames(declared))
		}
		v, err := convertSetting(old, s.Value)
		if err != nil {
			return nil, call.Errorf("E0303", "%s: setting %s: %v (%s)", s.Place, s.Key, err, m.Place)
		}
		fields[s.Key] = v
	}
	config := starlarkstruct.FromStringDict(starlark.String("config"), fields)
	config.Freeze()
	return config, nil
}

func declaredNames(names []string) string {
	if len(names) == 0 {
		return "the plugin declares none"
	}
	return "the plugin declares " + strings.Join(names, ", ")
}

// convertSetting converts a value to the type of the value that it replaces. If the default of a key is None,
// the first setting may have any type, and later ones must have the type of the first.
func convertSetting(old starlark.Value, value any) (starlark.Value, error) {
	v, err := goToStarlark(value)
	if err != nil {
		return nil, err
	}
	return fitSetting(old, v, "as the default is")
}

// fitSetting returns a new value in the type of the default. If all contents of the default have one type,
// the contents of the value must have it, too: a list of texts takes no number.
func fitSetting(old, v starlark.Value, why string) (starlark.Value, error) {
	if n, ok := v.(starlark.Int); ok && old.Type() == "float" {
		return n.Float(), nil
	}
	switch old.Type() {
	case v.Type():
	case "NoneType":
		return v, nil // any value fits
	default:
		return nil, fmt.Errorf("got %s, want %s, %s", v.Type(), old.Type(), why)
	}
	const inside = "as in the default"
	switch v := v.(type) {
	case *starlark.List:
		model := commonElement(old.(*starlark.List))
		for i := range v.Len() {
			fits, err := fitSetting(model, v.Index(i), inside)
			if err != nil {
				return nil, fmt.Errorf("[%d]: %w", i, err)
			}
			v.SetIndex(i, fits) // no error, because a new list is not frozen
		}
	case *starlark.Dict:
		dict := old.(*starlark.Dict)
		var values []starlark.Value
		for _, item := range dict.Items() {
			values = append(values, item[1])
		}
		model := commonElement(starlark.NewList(values))
		for _, item := range v.Items() {
			same, found, _ := dict.Get(item[0]) // no error, because a text can be hashed
			if !found {
				same = model
			}
			fits, err := fitSetting(same, item[1], inside)
			if err != nil {
				name, _ := starlark.AsString(item[0])
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			v.SetKey(item[0], fits)
		}
	}
	return v, nil
}

// commonElement returns a value that has the type of all elements of a list. It returns None if the types
// differ, or if the list is empty. If that value is a list or dict, only its own type counts.
func commonElement(list *starlark.List) starlark.Value {
	if list.Len() == 0 {
		return starlark.None
	}
	first := list.Index(0)
	for i := range list.Len() {
		if list.Index(i).Type() != first.Type() {
			return starlark.None
		}
	}
	switch first.(type) {
	case *starlark.List:
		return starlark.NewList(nil)
	case *starlark.Dict:
		return starlark.NewDict(0)
	}
	return first
}

// goToStarlark converts a value of the configuration file.
func goToStarlark(value any) (starlark.Value, error) {
	switch x := value.(type) {
	case string:
		return starlark.String(x), nil
	case bool:
		return starlark.Bool(x), nil
	case int64:
		return starlark.MakeInt64(x), nil
	case float64:
		return starlark.Float(x), nil
	case []any:
		elems := make([]starlark.Value, len(x))
		for i := range x {
			v, err := goToStarlark(x[i])
			if err != nil {
				return nil, fmt.Errorf("[%d]: %w", i, err)
			}
			elems[i] = v
		}
		return starlark.NewList(elems), nil
	case map[string]any:
		dict := starlark.NewDict(len(x))
		for _, k := range slices.Sorted(maps.Keys(x)) {
			v, err := goToStarlark(x[k])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", k, err)
			}
			dict.SetKey(starlark.String(k), v) // no error, because the key is a string
		}
		return dict, nil
	}
	return nil, fmt.Errorf("got %s, want text, a number, true, false, an array or a table", jsontext.NameOf(value))
}

// isIdentifier reports whether s can be a name in a script.
func isIdentifier(s string) bool {
	for i := range len(s) {
		b := s[i]
		if b != '_' && (b < 'a' || b > 'z') && (b < 'A' || b > 'Z') && (i == 0 || b < '0' || b > '9') {
			return false
		}
	}
	return s != ""
}
