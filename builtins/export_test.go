package builtins

// ArgumentValue converts an argument of an event for handlers.
var ArgumentValue = argumentValue
