// Package modules implements the modules without effects: re, yaml, text, time and so on. Each
// module has a file and a row of [Topics]. Its functions pay through [call.Call] before they
// work. They do not depend on a host and reach nothing outside the process.
package modules
