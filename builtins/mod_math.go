package builtins

import (
	"strings"

	"go.starlark.net/lib/math"
	"go.starlark.net/starlark"
)

// lastDigit warns where processors disagree: these functions use machine code
// of their own on some of them.
const lastDigit = "\nThe last digit may differ between processor architectures: round what you print."

// mathModule returns the members of the module math: all of upstream's.
func mathModule(rt Runtime) []Entry {
	members := []modMember{
		{name: "ceil", params: "x", doc: "Returns the smallest int that is not less than x.\nAn int stays as it is; an infinity or nan is an error.",
			example: `assert_eq(math.ceil(1.2), 2)
assert_eq(math.ceil(-1.2), -1)`},
		{name: "copysign", params: "x, y", doc: "Returns a float with the size of x and the sign of y.",
			example: `assert_eq(math.copysign(3, -0.5), -3.0)`},
		{name: "fabs", params: "x", doc: "Returns the absolute value of x as a float.\nabs(x) keeps an int an int.",
			example: `assert_eq(math.fabs(-3), 3.0)`},
		{name: "floor", params: "x", doc: "Returns the largest int that is not greater than x.\nAn int stays as it is; an infinity or nan is an error.",
			example: `assert_eq(math.floor(1.8), 1)
assert_eq(math.floor(-1.2), -2)`},
		{name: "mod", params: "x, y", doc: "Returns the remainder of x / y with the sign of x, as a float.\nThe operator % has the sign of y instead.",
			example: `assert_eq(math.mod(-7, 3), -1.0)
assert_eq(-7 % 3, 2)`},
		{name: "pow", params: "x, y", doc: "Returns x to the power of y, as a float.\nStarlark has no operator for it." + lastDigit,
			example: `assert_eq(math.pow(2, 10), 1024.0)`},
		{name: "remainder", params: "x, y", doc: "Returns x minus the multiple of y that is nearest to x, as a float.\nHalf way between two multiples the even one counts (IEEE 754).",
			example: `assert_eq(math.remainder(5, 3), -1.0)`},
		{name: "round", params: "x", doc: "Returns x rounded to a whole number, as a float; a half goes away from zero.\nint(math.round(x)) is an int; text.format_number rounds to digits after the point.",
			example: `assert_eq(math.round(2.5), 3.0)
assert_eq(math.round(-2.5), -3.0)
assert_eq(int(math.round(2.4)), 2)`},
		{name: "exp", params: "x", doc: "Returns e to the power of x." + lastDigit,
			example: `assert_eq(math.exp(0), 1.0)`},
		{name: "sqrt", params: "x", doc: "Returns the square root of x.\nThat of a negative number is nan.",
			example: `assert_eq(math.sqrt(2.25), 1.5)`},
		{name: "acos", params: "x", doc: "Returns the arc cosine of x, in radians." + lastDigit,
			example: `assert_eq(math.acos(1), 0.0)`},
		{name: "asin", params: "x", doc: "Returns the arc sine of x, in radians." + lastDigit,
			example: `assert_eq(math.asin(0), 0.0)`},
		{name: "atan", params: "x", doc: "Returns the arc tangent of x, in radians." + lastDigit,
			example: `assert_eq(math.atan(0), 0.0)`},
		{name: "atan2", params: "y, x", doc: "Returns the angle of the point (x, y), in radians between -pi and pi.\nUnlike math.atan(y / x) it knows the quadrant." + lastDigit,
			example: `assert_eq(math.atan2(0, 1), 0.0)
assert_eq(math.atan2(1, 1) < math.atan2(1, -1), True)`},
		{name: "cos", params: "x", doc: "Returns the cosine of x, in radians." + lastDigit,
			example: `assert_eq(math.cos(0), 1.0)`},
		{name: "hypot", params: "x, y", doc: "Returns the distance of the point (x, y) from the origin." + lastDigit,
			example: `assert_eq(math.hypot(3, 4), 5.0)`},
		{name: "sin", params: "x", doc: "Returns the sine of x, in radians." + lastDigit,
			example: `assert_eq(math.sin(0), 0.0)`},
		{name: "tan", params: "x", doc: "Returns the tangent of x, in radians." + lastDigit,
			example: `assert_eq(math.tan(0), 0.0)`},
		{name: "degrees", params: "x", doc: "Converts x from radians to degrees.",
			example: `assert_eq(math.degrees(math.pi), 180.0)`},
		{name: "radians", params: "x", doc: "Converts x from degrees to radians.",
			example: `assert_eq(math.radians(180), math.pi)`},
		{name: "acosh", params: "x", doc: "Returns the inverse hyperbolic cosine of x." + lastDigit,
			example: `assert_eq(math.acosh(1), 0.0)`},
		{name: "asinh", params: "x", doc: "Returns the inverse hyperbolic sine of x." + lastDigit,
			example: `assert_eq(math.asinh(0), 0.0)`},
		{name: "atanh", params: "x", doc: "Returns the inverse hyperbolic tangent of x." + lastDigit,
			example: `assert_eq(math.atanh(0), 0.0)`},
		{name: "cosh", params: "x", doc: "Returns the hyperbolic cosine of x." + lastDigit,
			example: `assert_eq(math.cosh(0), 1.0)`},
		{name: "sinh", params: "x", doc: "Returns the hyperbolic sine of x." + lastDigit,
			example: `assert_eq(math.sinh(0), 0.0)`},
		{name: "tanh", params: "x", doc: "Returns the hyperbolic tangent of x." + lastDigit,
			example: `assert_eq(math.tanh(0), 0.0)`},
		{name: "log", params: "x, base=math.e", doc: "Returns the logarithm of x, natural unless a base is given.\nArguments go by place. The logarithm of 0 is -inf, that of a negative number nan." + lastDigit,
			example: `assert_eq(math.log(1), 0.0)
assert_eq(math.round(math.log(1024, 2)), 10.0)`},
		{name: "gamma", params: "x", doc: "Returns the gamma function of x; for a whole x > 0 it is the factorial of x - 1." + lastDigit,
			example: `assert_eq(math.round(math.gamma(5)), 24.0)`},
		{name: "e", doc: "The base of natural logarithms, about 2.71828.",
			example: `assert_eq(text.format_number(math.e, 5), "2.71828")`},
		{name: "pi", doc: "The ratio of a circle's circumference to its diameter, about 3.14159.",
			example: `assert_eq(text.format_number(math.pi, 5), "3.14159")`},
	}
	for i, m := range members {
		members[i] = upstreamMember(m, math.Module.Members[m.name])
	}
	return modEntries(rt, "math", members)
}

// upstreamMember takes the member's meaning from upstream's value. The errors of a
// function, which upstream names without its module, get the full name.
func upstreamMember(m modMember, v starlark.Value) modMember {
	b, ok := v.(*starlark.Builtin)
	if !ok {
		m.value = v
		return m
	}
	m.fn = func(c modCall) (starlark.Value, error) {
		v, err := b.CallInternal(c.th, c.args, c.kwargs)
		if err != nil {
			return nil, c.fail("E0202", "%s", strings.TrimPrefix(err.Error(), b.Name()+": "))
		}
		return v, nil
	}
	return m
}
