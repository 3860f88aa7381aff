package jsontext

import "strings"

// tinySteps is the price of reading a float near the least one, which takes 15 µs.
const tinySteps = 40

// TinyFloatSteps returns the price in steps of the floats in a text that have exponents below -99,
// as 5e-324. The standard library reads the least floats digit by digit.
func TinyFloatSteps(text string) int {
	steps := 0
	for {
		i := strings.IndexByte(text, '-')
		if i < 0 || len(text)-i < 4 {
			return steps
		}
		if i > 0 && text[i-1]|0x20 == 'e' && IsDigit(text[i+1]) && IsDigit(text[i+2]) && IsDigit(text[i+3]) {
			steps += tinySteps
		}
		text = text[i+1:]
	}
}

// LongFloatSteps returns the price in steps of a number that has an exponent below -99 or more
// digits than a float has.
func LongFloatSteps(number string) int {
	if len(number) < 300 {
		return TinyFloatSteps(number)
	}
	return tinySteps + TinyFloatSteps(number)
}
