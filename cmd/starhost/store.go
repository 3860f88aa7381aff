package main

import (
	"cmp"
	"context"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/serve/hook"
	"github.com/starhost/starhost/store"
)

// databases are the databases of a run, by their URLs. Several sets of plugins share them.
type databases struct {
	mu    sync.Mutex
	byURL map[string]*store.DB
	ofLLM map[string]*store.LLM
}

// A fragmentStore is a database of fragments.
type fragmentStore interface {
	fragments.Store
	List(context.Context, store.Filter) (list []store.Item, more bool, err error)
	Collect(ctx context.Context, before time.Time, dry bool) (store.Amount, error)
}

// closeWait is how long the end of the program waits for databases. An agent waits for the end of hook, and a
// file on a lost network drive never answers. closeWait and hookGrace together are less than the second
// between the deadline of an answer and the agent's timeout.
const closeWait = 500 * time.Millisecond

// close closes all databases. All writes are committed by then, so neither an error nor a database that does
// not answer loses anything.
func (d *databases) close() {
	hook.WaitBriefly(closeWait, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		for _, db := range d.byURL {
			_ = db.Close()
		}
		for _, db := range d.ofLLM {
			_ = db.Close()
		}
	})
}

// database returns the database that a config names, or nil for none. Its first use opens it. If the config
// says llm:PATH, which has only fragments, database returns the default file.
func (env Env) database(c *loader.Config) (*store.DB, error) {
	name := c.Store.URL
	switch {
	case name == "none":
		return nil, nil
	case strings.HasPrefix(name, "llm:"):
		name = "sqlite:"
	}
	dir, err := loader.Workspace(cmp.Or(env.dir, "."))
	if err != nil {
		return nil, err
	}
	env.stores.mu.Lock()
	defer env.stores.mu.Unlock()
	if db := env.stores.byURL[name]; db != nil {
		return db, nil
	}
	db, err := store.Open(store.Options{
		URL: name, Default: env.defaultDatabase(), Dir: dir, MaxPlugin: c.Store.MaxPlugin, Keep: c.Store.Keep,
	})
	if err != nil {
		return nil, usagef("store.url: %v", err)
	}
	if env.stores.byURL == nil {
		env.stores.byURL = map[string]*store.DB{}
	}
	env.stores.byURL[name] = db
	return db, nil
}

// fragmentDatabase returns the database of fragments, or nil for none.
func (env Env) fragmentDatabase(c *loader.Config) (fragmentStore, error) {
	file, isLLM := strings.CutPrefix(cmp.Or(c.Store.Fragments, c.Store.URL), "llm:")
	if !isLLM {
		db, err := env.database(c)
		if err != nil || db == nil {
			return nil, err
		}
		return db.Fragments().(fragmentStore), nil
	}
	if !filepath.IsAbs(file) {
		dir, err := loader.Workspace(cmp.Or(env.dir, "."))
		if err != nil {
			return nil, err
		}
		file = filepath.Join(dir, file)
	}
	env.stores.mu.Lock()
	defer env.stores.mu.Unlock()
	if env.stores.ofLLM == nil {
		env.stores.ofLLM = map[string]*store.LLM{}
	}
	if env.stores.ofLLM[file] == nil {
		env.stores.ofLLM[file] = store.OpenLLM(file)
	}
	return env.stores.ofLLM[file], nil
}

// defaultDatabase returns the path of the file that sqlite: means, or "" if the user has no home.
func (env Env) defaultDatabase() string {
	data, home := env.getenv("XDG_DATA_HOME"), env.getenv("HOME")
	switch {
	case filepath.IsAbs(data):
	case filepath.IsAbs(home):
		data = filepath.Join(home, ".local", "share")
	default:
		return ""
	}
	return filepath.Join(data, "starhost", "starhost.db")
}

// writeContents returns the store of fragments for a server, which stores the fragments of its prompts.
func (env Env) writeContents(c *loader.Config) fragments.Store {
	db, err := env.fragmentDatabase(c)
	if err != nil || db == nil { // loadWith has returned the error
		return new(fragments.MemoryStore)
	}
	return db
}

// readContents returns the store of fragments for a command that stores none: the fragments of its own
// prompts are in memory, and those of others in the database.
func (env Env) readContents(c *loader.Config) (fragments.Store, error) {
	db, err := env.fragmentDatabase(c)
	if err != nil || db == nil {
		return new(fragments.MemoryStore), err
	}
	return &store.Over{Below: db}, nil
}
