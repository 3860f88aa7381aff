// Package modules implements the modules without effects: re, yaml, text, time and so on.
// Each has a file, and is a row of [Topics]. Their functions pay through [call.Call]
// before they work, and neither know a host nor reach out of the process.
package modules
