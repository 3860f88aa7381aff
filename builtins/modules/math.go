package modules

import (
	gomath "math"
	"strings"

	"go.starlark.net/lib/math"
	"go.starlark.net/starlark"

	"github.com/starhost/starhost/builtins/call"
)

// lastDigit is a sentence for the docs: processors disagree about the last digit, because some compute these
// functions by machine instructions of their own.
const lastDigit = "\nThe last digit may differ between processor architectures: round what you print."

// mathModule returns the members of the module math: all members of upstream's module.
func mathModule(rt call.Runtime) []call.Entry {
	members := []call.Member{
		{Name: "ceil", Params: "x", Type: "float -> int", Doc: "Returns the smallest int that is not less than x.\nAn int stays as it is; an infinity or nan is an error.",
			Example: `assert_eq(math.ceil(1.2), 2)
assert_eq(math.ceil(-1.2), -1)`},
		{Name: "copysign", Params: "x, y", Type: "float, float -> float", Doc: "Returns a float with the size of x and the sign of y.",
			Example: `assert_eq(math.copysign(3, -0.5), -3.0)`},
		{Name: "fabs", Params: "x", Type: "float -> float", Doc: "Returns the absolute value of x as a float.\nabs(x) keeps an int an int.",
			Example: `assert_eq(math.fabs(-3), 3.0)`},
		{Name: "floor", Params: "x", Type: "float -> int", Doc: "Returns the largest int that is not greater than x.\nAn int stays as it is; an infinity or nan is an error.",
			Example: `assert_eq(math.floor(1.8), 1)
assert_eq(math.floor(-1.2), -2)`},
		{Name: "mod", Params: "x, y", Type: "float, float -> float", Doc: "Returns the remainder of x / y with the sign of x, as a float.\nThe operator % has the sign of y instead.",
			Example: `assert_eq(math.mod(-7, 3), -1.0)
assert_eq(-7 % 3, 2)`},
		{Name: "pow", Params: "x, y", Type: "float, float -> float", Doc: "Returns x to the power of y, as a float.\nStarlark has no operator for it." + lastDigit,
			Example: `assert_eq(math.pow(2, 10), 1024.0)`},
		{Name: "remainder", Params: "x, y", Type: "float, float -> float", Doc: "Returns x minus the multiple of y that is nearest to x, as a float.\nHalf-way between two multiples, the even one counts (IEEE 754).",
			Example: `assert_eq(math.remainder(5, 3), -1.0)`},
		{Name: "round", Params: "x", Type: "float -> float", Doc: "Returns x rounded to a whole number, as a float; a half goes away from zero.\nint(math.round(x)) is an int; text.format_number rounds to digits after the point.",
			Example: `assert_eq(math.round(2.5), 3.0)
assert_eq(math.round(-2.5), -3.0)
assert_eq(int(math.round(2.4)), 2)`},
		{Name: "exp", Params: "x", Type: "float -> float", Doc: "Returns e to the power of x." + lastDigit,
			Example: `assert_eq(math.exp(0), 1.0)`},
		{Name: "sqrt", Params: "x", Type: "float -> float", Doc: "Returns the square root of x.\nThe root of a negative number is nan.",
			Example: `assert_eq(math.sqrt(2.25), 1.5)`},
		{Name: "acos", Params: "x", Type: "float -> float", Doc: "Returns the arc cosine of x, in radians." + lastDigit,
			Example: `assert_eq(math.acos(1), 0.0)`},
		{Name: "asin", Params: "x", Type: "float -> float", Doc: "Returns the arc sine of x, in radians." + lastDigit,
			Example: `assert_eq(math.asin(0), 0.0)`},
		{Name: "atan", Params: "x", Type: "float -> float", Doc: "Returns the arc tangent of x, in radians." + lastDigit,
			Example: `assert_eq(math.atan(0), 0.0)`},
		{Name: "atan2", Params: "y, x", Type: "float, float -> float", Doc: "Returns the angle of the point (x, y), in radians between -pi and pi.\nUnlike math.atan(y / x), it returns the angle in the right quadrant." + lastDigit,
			Example: `assert_eq(math.atan2(0, 1), 0.0)
assert_eq(math.atan2(1, 1) < math.atan2(1, -1), True)`},
		{Name: "cos", Params: "x", Type: "float -> float", Doc: "Returns the cosine of x, in radians." + lastDigit,
			Example: `assert_eq(math.cos(0), 1.0)`},
		{Name: "hypot", Params: "x, y", Type: "float, float -> float", Doc: "Returns the distance of the point (x, y) from the origin." + lastDigit,
			Example: `assert_eq(math.hypot(3, 4), 5.0)`},
		{Name: "sin", Params: "x", Type: "float -> float", Doc: "Returns the sine of x, in radians." + lastDigit,
			Example: `assert_eq(math.sin(0), 0.0)`},
		{Name: "tan", Params: "x", Type: "float -> float", Doc: "Returns the tangent of x, in radians." + lastDigit,
			Example: `assert_eq(math.tan(0), 0.0)`},
		{Name: "degrees", Params: "x", Type: "float -> float", Doc: "Converts x from radians to degrees.",
			Example: `assert_eq(math.degrees(math.pi), 180.0)`},
		{Name: "radians", Params: "x", Type: "float -> float", Doc: "Converts x from degrees to radians.",
			Example: `assert_eq(math.radians(180), math.pi)`},
		{Name: "acosh", Params: "x", Type: "float -> float", Doc: "Returns the inverse hyperbolic cosine of x." + lastDigit,
			Example: `assert_eq(math.acosh(1), 0.0)`},
		{Name: "asinh", Params: "x", Type: "float -> float", Doc: "Returns the inverse hyperbolic sine of x." + lastDigit,
			Example: `assert_eq(math.asinh(0), 0.0)`},
		{Name: "atanh", Params: "x", Type: "float -> float", Doc: "Returns the inverse hyperbolic tangent of x." + lastDigit,
			Example: `assert_eq(math.atanh(0), 0.0)`},
		{Name: "cosh", Params: "x", Type: "float -> float", Doc: "Returns the hyperbolic cosine of x." + lastDigit,
			Example: `assert_eq(math.cosh(0), 1.0)`},
		{Name: "sinh", Params: "x", Type: "float -> float", Doc: "Returns the hyperbolic sine of x." + lastDigit,
			Example: `assert_eq(math.sinh(0), 0.0)`},
		{Name: "tanh", Params: "x", Type: "float -> float", Doc: "Returns the hyperbolic tangent of x." + lastDigit,
			Example: `assert_eq(math.tanh(0), 0.0)`},
		{Name: "log", Params: "x, base=math.e", Type: "float, float -> float", Doc: "Returns the logarithm of x, natural unless a base is given.\nArguments go by position. The logarithm of 0 is -inf, and of a negative number nan." + lastDigit,
			Example: `assert_eq(math.log(1), 0.0)
assert_eq(math.round(math.log(1024, 2)), 10.0)`},
		{Name: "gamma", Params: "x", Type: "float -> float", Doc: "Returns the gamma function of x; for a whole x > 0 it is the factorial of x - 1." + lastDigit,
			Example: `assert_eq(math.round(math.gamma(5)), 24.0)`},
		{Name: "e", Type: "float", Doc: "The base of natural logarithms, about 2.71828.",
			Example: `assert_eq(text.format_number(math.e, 5), "2.71828")`},
		{Name: "pi", Type: "float", Doc: "The ratio of a circle's circumference to its diameter, about 3.14159.",
			Example: `assert_eq(text.format_number(math.pi, 5), "3.14159")`},
	}
	for i, m := range members {
		members[i] = upstreamMember(m, math.Module.Members[m.Name])
	}
	return call.Entries(rt, "math", members)
}

// shiftSteps returns the price of the remainder of two floats, which takes a step of work for each bit
// between them. The other functions of two floats have the same price.
func shiftSteps(args starlark.Tuple) int {
	if len(args) != 2 {
		return 0
	}
	x, _ := starlark.AsFloat(args[0])
	y, _ := starlark.AsFloat(args[1])
	if x == 0 || y == 0 || gomath.IsInf(x, 0) || gomath.IsInf(y, 0) || gomath.IsNaN(x) || gomath.IsNaN(y) {
		return 0
	}
	return max(0, gomath.Ilogb(x)-gomath.Ilogb(y)) / 4
}

// longIntSteps returns the price of converting those arguments to floats that are integers of more than 64
// bits.
func longIntSteps(args starlark.Tuple) (steps int) {
	for _, v := range args {
		if i, ok := v.(starlark.Int); ok {
			if _, small := i.Int64(); !small {
				steps += 8
			}
		}
	}
	return steps
}

// upstreamMember returns m with the function or value of upstream's module. It adds the module's name to
// errors, because upstream omits it.
func upstreamMember(m call.Member, v starlark.Value) call.Member {
	b, ok := v.(*starlark.Builtin)
	if !ok {
		m.Value = v
		return m
	}
	m.Func = func(c call.Call) (starlark.Value, error) {
		if err := c.Pay(shiftSteps(c.Args)+longIntSteps(c.Args), 0); err != nil {
			return nil, err
		}
		v, err := b.CallInternal(c.Thread, c.Args, c.Kwargs)
		if err != nil {
			return nil, c.Fail("E0202", "%s", strings.TrimPrefix(err.Error(), b.Name()+": "))
		}
		return v, nil
	}
	return m
}
