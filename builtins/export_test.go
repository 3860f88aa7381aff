package builtins

// ArgumentValue is what handlers get for an argument of an event.
var ArgumentValue = argumentValue
