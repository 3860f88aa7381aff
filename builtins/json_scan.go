package builtins

import "github.com/starhost/starhost/builtins/call"

// maxTextDigits is the most digits of one number in JSON text, because converting a number
// takes quadratic work.
const maxTextDigits = 20_000

// A jsonShape says how much work decoding a JSON text will take.
type jsonShape struct {
	depth int // levels of the deepest nesting
	bytes int // estimated memory of the decoded value
}

// jsonBytePrice is an estimate of how much memory a byte of JSON adds to the decoded value, by the byte, in
// addition to the byte itself.
var jsonBytePrice = [256]int{'[': 64, '{': 512, ',': 48, ':': 140}

// jsonScan measures a text in one pass, before recursive code reads the text. It pays for the pass.
func jsonScan(c call.Call, text string) (jsonShape, error) {
	shape := jsonShape{bytes: len(text)}
	if err := c.Pay(1+len(text)/16, 0); err != nil {
		return shape, err
	}
	depth, digits, quoted := 0, 0, false
	for i := 0; i < len(text); i++ {
		b := text[i]
		if quoted {
			switch b {
			case '\\':
				i++
			case '"':
				quoted = false
			}
			continue
		}
		digits++
		switch b {
		case '"':
			quoted = true
		case '[', '{':
			depth++
			shape.depth = max(shape.depth, depth)
		case ']', '}':
			depth--
		}
		if b < '0' || b > '9' {
			digits = 0
		}
		if digits > maxTextDigits {
			return shape, c.Fail("E0202", "at offset %d, a number has more than %d digits", i, maxTextDigits)
		}
		shape.bytes += jsonBytePrice[b]
	}
	if shape.depth > maxTextDepth {
		return shape, c.Fail("E0202", "got JSON nested deeper than %d levels", maxTextDepth)
	}
	return shape, nil
}
