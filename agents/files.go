package agents

import (
	"path"
	"strings"
)

// Files say where an agent's settings for hooks lie. All paths have slashes.
type Files struct {
	// Program is the agent's program, or "" if it is part of an editor.
	Program string
	// Env is the environment variable that names the folder of the user's settings. Folder is that folder if
	// the variable is not set; "~" is the user's home folder.
	Env, Folder string
	// User is the user's file in that folder, and Project is the project's file in the project's
	// folder. Either is "" if there is none, or if the operator must choose it.
	User, Project string
	// ProjectEnv is the environment variable by which the agent tells its hooks the project's
	// folder, wherever the model works, or "".
	ProjectEnv string
	// Linux, MacOS and Windows are the paths of the managed file, which is for all users.
	Linux, MacOS, Windows string
	// Off are settings that switch hooks off, with spaces between them: "a.b=true", or "a.b=LINE" for a list
	// that contains starhost's line. They count in the files above and in those that OffIn lists, whose names
	// begin with "user:", "project:" or "managed:". A setting that begins so counts in files of that kind
	// only.
	Off   string
	OffIn []string
	// ManagedOn is a setting of the managed file. Without it, the settings in Off switch managed hooks off,
	// too. It is "" if they never do.
	ManagedOn string
	// ManagedOnly is the setting of the managed files that switches off all other hooks.
	ManagedOnly string
	// Next says what the user must do before the agent runs a new hook.
	Next string
	// SharedWith names the agent that reads hooks in the same folders, or is "". Each of the two agents sends
	// its own events to the lines of both.
	SharedWith string
}

// UserFile returns the path of the user's file. getenv returns environment variables.
func (f *Files) UserFile(getenv func(string) string) string {
	return path.Join(f.UserFolder(getenv), f.User)
}

// UserFolder returns the folder of the user's settings.
func (f *Files) UserFolder(getenv func(string) string) string {
	if f.Env != "" {
		if folder := getenv(f.Env); path.IsAbs(folder) {
			return path.Clean(folder)
		}
	}
	rest, inHome := strings.CutPrefix(f.Folder, "~")
	if !inHome {
		return f.Folder
	}
	return path.Join(getenv("HOME"), rest)
}

// Managed returns the path of the managed file on an operating system. system is a name in the form of
// runtime.GOOS.
func (f *Files) Managed(system string) string {
	switch system {
	case "darwin":
		return f.MacOS
	case "windows":
		return f.Windows
	}
	return f.Linux
}
