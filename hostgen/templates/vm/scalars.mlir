// Python's arithmetic on 64-bit integers and doubles. A host program gets the functions that it uses.
// A failed assertion is what an exception of the program is: the text starts with the type's name.

// Comparisons of doubles are ``oeq``, ``olt``, ``ole`` and ``uno``: with NaN, the VM gets the others wrong, by themselves
// or when it turns them around.
util.func private @opposite(%a: i1) -> i1 {
  %true = arith.constant true
  %result = arith.xori %a, %true : i1
  util.return %result : i1
}

util.func private @add_int(%a: i64, %b: i64) -> i64 {
  %sum = arith.addi %a, %b : i64
  %left = arith.xori %sum, %a : i64
  %right = arith.xori %sum, %b : i64
  %both = arith.andi %left, %right : i64
  util.call @fits(%both) : (i64) -> ()
  util.return %sum : i64
}

util.func private @sub_int(%a: i64, %b: i64) -> i64 {
  %difference = arith.subi %a, %b : i64
  %left = arith.xori %a, %b : i64
  %right = arith.xori %difference, %a : i64
  %both = arith.andi %left, %right : i64
  util.call @fits(%both) : (i64) -> ()
  util.return %difference : i64
}

util.func private @fits(%sign: i64) {
  %zero = arith.constant 0 : i64
  %fits = arith.cmpi sge, %sign, %zero : i64
  cf.assert %fits, "OverflowError: [RT307] an integer does not fit 64 bits"
  util.return
}

util.func private @neg_int(%a: i64) -> i64 {
  %zero = arith.constant 0 : i64
  %negated = util.call @sub_int(%zero, %a) : (i64, i64) -> i64
  util.return %negated : i64
}

util.func private @abs_int(%a: i64) -> i64 {
  %zero = arith.constant 0 : i64
  %negative = arith.cmpi slt, %a, %zero : i64
  cf.cond_br %negative, ^negate, ^done(%a : i64)
^negate:
  %negated = util.call @neg_int(%a) : (i64) -> i64
  cf.br ^done(%negated : i64)
^done(%result: i64):
  util.return %result : i64
}

// Dividing the product again finds an overflow, but for the one quotient that overflows itself.
util.func private @mul_int(%a: i64, %b: i64) -> i64 {
  %zero = arith.constant 0 : i64
  %minus_one = arith.constant -1 : i64
  %product = arith.muli %a, %b : i64
  %a_is_zero = arith.cmpi eq, %a, %zero : i64
  cf.cond_br %a_is_zero, ^done, ^nonzero
^nonzero:
  %a_is_minus_one = arith.cmpi eq, %a, %minus_one : i64
  cf.cond_br %a_is_minus_one, ^negate, ^divide
^negate:
  %negated = util.call @neg_int(%b) : (i64) -> i64
  util.return %negated : i64
^divide:
  %quotient = arith.divsi %product, %a : i64
  %exact = arith.cmpi eq, %quotient, %b : i64
  cf.assert %exact, "OverflowError: [RT307] an integer does not fit 64 bits"
  cf.br ^done
^done:
  util.return %product : i64
}

util.func private @floordiv_int(%a: i64, %b: i64) -> i64 {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %minus_one = arith.constant -1 : i64
  %fine = arith.cmpi ne, %b, %zero : i64
  cf.assert %fine, "ZeroDivisionError: integer division or modulo by zero"
  %b_is_minus_one = arith.cmpi eq, %b, %minus_one : i64
  cf.cond_br %b_is_minus_one, ^negate, ^divide
^negate:
  %negated = util.call @neg_int(%a) : (i64) -> i64
  util.return %negated : i64
^divide:
  %truncated = arith.divsi %a, %b : i64
  %product = arith.muli %truncated, %b : i64
  %inexact = arith.cmpi ne, %product, %a : i64
  %signs = arith.xori %a, %b : i64
  %below = arith.cmpi slt, %signs, %zero : i64
  %down = arith.andi %inexact, %below : i1
  %lower = arith.subi %truncated, %one : i64
  %result = arith.select %down, %lower, %truncated : i64
  util.return %result : i64
}

util.func private @mod_int(%a: i64, %b: i64) -> i64 {
  %zero = arith.constant 0 : i64
  %minus_one = arith.constant -1 : i64
  %fine = arith.cmpi ne, %b, %zero : i64
  cf.assert %fine, "ZeroDivisionError: integer modulo by zero"
  %b_is_minus_one = arith.cmpi eq, %b, %minus_one : i64
  cf.cond_br %b_is_minus_one, ^nothing, ^divide
^nothing:
  util.return %zero : i64
^divide:
  %remainder = arith.remsi %a, %b : i64
  %inexact = arith.cmpi ne, %remainder, %zero : i64
  %signs = arith.xori %remainder, %b : i64
  %opposite = arith.cmpi slt, %signs, %zero : i64
  %up = arith.andi %inexact, %opposite : i1
  %raised = arith.addi %remainder, %b : i64
  %result = arith.select %up, %raised, %remainder : i64
  util.return %result : i64
}

// Integers of at most 53 bits are doubles; a rounded operand could give another quotient or comparison than Python's.
util.func private @exact_float(%a: i64) -> f64 {
  %limit = arith.constant 9007199254740992 : i64
  %lowest = arith.constant -9007199254740992 : i64
  %not_above = arith.cmpi sle, %a, %limit : i64
  %not_below = arith.cmpi sge, %a, %lowest : i64
  %exact = arith.andi %not_above, %not_below : i1
  cf.assert %exact, "OverflowError: [RT307] an integer beyond 53 bits meets a float"
  %float = arith.sitofp %a : i64 to f64
  util.return %float : f64
}

util.func private @truediv_int(%a: i64, %b: i64) -> f64 {
  %zero = arith.constant 0 : i64
  %fine = arith.cmpi ne, %b, %zero : i64
  cf.assert %fine, "ZeroDivisionError: division by zero"
  %left = util.call @exact_float(%a) : (i64) -> f64
  %right = util.call @exact_float(%b) : (i64) -> f64
  %quotient = arith.divf %left, %right : f64
  util.return %quotient : f64
}

util.func private @truediv_float(%a: f64, %b: f64) -> f64 {
  %zero = arith.constant 0.0 : f64
  %is_zero = arith.cmpf oeq, %b, %zero : f64
  %fine = util.call @opposite(%is_zero) : (i1) -> i1
  cf.assert %fine, "ZeroDivisionError: float division by zero"
  %quotient = arith.divf %a, %b : f64
  util.return %quotient : f64
}

util.func private @mod_float(%a: f64, %b: f64) -> f64 {
  %zero = arith.constant 0.0 : f64
  %is_zero = arith.cmpf oeq, %b, %zero : f64
  %fine = util.call @opposite(%is_zero) : (i1) -> i1
  cf.assert %fine, "ZeroDivisionError: float modulo"
  %result = util.call @floored_mod(%a, %b) : (f64, f64) -> f64
  util.return %result : f64
}

util.func private @floored_mod(%a: f64, %b: f64) -> f64 {
  %zero = arith.constant 0.0 : f64
  %remainder = util.call @remainder(%a, %b) : (f64, f64) -> f64
  %is_zero = arith.cmpf oeq, %remainder, %zero : f64
  cf.cond_br %is_zero, ^exact, ^inexact
^exact:
  %signed = util.call @with_sign(%zero, %b) : (f64, f64) -> f64
  util.return %signed : f64
^inexact:
  %remainder_below = arith.cmpf olt, %remainder, %zero : f64
  %b_below = arith.cmpf olt, %b, %zero : f64
  %opposite = arith.xori %remainder_below, %b_below : i1
  %raised = arith.addf %remainder, %b : f64
  %result = arith.select %opposite, %raised, %remainder : f64
  util.return %result : f64
}

// C's fmod. The VM's remainder is the IEEE one, the nearest to zero; adding the divisor to a negative one is exact.
util.func private @remainder(%a: f64, %b: f64) -> f64 {
  %zero = arith.constant 0.0 : f64
  %dividend = math.absf %a : f64
  %divisor = math.absf %b : f64
  %nearest = arith.remf %dividend, %divisor : f64
  %below = arith.cmpf olt, %nearest, %zero : f64
  %raised = arith.addf %nearest, %divisor : f64
  %magnitude = arith.select %below, %raised, %nearest : f64
  %result = util.call @with_sign(%magnitude, %a) : (f64, f64) -> f64
  util.return %result : f64
}

util.func private @with_sign(%magnitude: f64, %sign: f64) -> f64 {
  %mask = arith.constant 9223372036854775807 : i64
  %top = arith.constant -9223372036854775808 : i64
  %magnitude_bits = arith.bitcast %magnitude : f64 to i64
  %sign_bits = arith.bitcast %sign : f64 to i64
  %low = arith.andi %magnitude_bits, %mask : i64
  %high = arith.andi %sign_bits, %top : i64
  %bits = arith.ori %low, %high : i64
  %result = arith.bitcast %bits : i64 to f64
  util.return %result : f64
}

// Step by step as CPython does it, so that rounding is the same.
util.func private @floordiv_float(%a: f64, %b: f64) -> f64 {
  %zero = arith.constant 0.0 : f64
  %half = arith.constant 0.5 : f64
  %one = arith.constant 1.0 : f64
  %pole = arith.cmpf oeq, %b, %zero : f64
  %fine = util.call @opposite(%pole) : (i1) -> i1
  cf.assert %fine, "ZeroDivisionError: float floor division by zero"
  %remainder = util.call @remainder(%a, %b) : (f64, f64) -> f64
  %whole = arith.subf %a, %remainder : f64
  %quotient = arith.divf %whole, %b : f64
  %exact = arith.cmpf oeq, %remainder, %zero : f64
  %inexact = util.call @opposite(%exact) : (i1) -> i1
  %remainder_below = arith.cmpf olt, %remainder, %zero : f64
  %b_below = arith.cmpf olt, %b, %zero : f64
  %opposite = arith.xori %remainder_below, %b_below : i1
  %down = arith.andi %inexact, %opposite : i1
  %lower = arith.subf %quotient, %one : f64
  %floored = arith.select %down, %lower, %quotient : f64
  %is_zero = arith.cmpf oeq, %floored, %zero : f64
  cf.cond_br %is_zero, ^nothing, ^something
^nothing:
  %ratio = arith.divf %a, %b : f64
  %signed = util.call @with_sign(%zero, %ratio) : (f64, f64) -> f64
  util.return %signed : f64
^something:
  %near = math.floor %floored : f64
  %excess = arith.subf %floored, %near : f64
  %too_low = arith.cmpf olt, %half, %excess : f64
  %next = arith.addf %near, %one : f64
  %result = arith.select %too_low, %next, %near : f64
  util.return %result : f64
}

util.func private @pow_int(%a: i64, %b: i64) -> i64 {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %natural = arith.cmpi sge, %b, %zero : i64
  cf.assert %natural, "RuntimeError: [RT304] an integer to a negative power is a float"
  cf.br ^test(%one, %a, %b : i64, i64, i64)
^test(%result: i64, %base: i64, %exponent: i64):
  %more = arith.cmpi ne, %exponent, %zero : i64
  cf.cond_br %more, ^step, ^done
^step:
  %bit = arith.andi %exponent, %one : i64
  %odd = arith.cmpi ne, %bit, %zero : i64
  cf.cond_br %odd, ^multiply, ^halve(%result : i64)
^multiply:
  %product = util.call @mul_int(%result, %base) : (i64, i64) -> i64
  cf.br ^halve(%product : i64)
^halve(%next: i64):
  %rest = arith.shrsi %exponent, %one : i64
  %last = arith.cmpi eq, %rest, %zero : i64
  cf.cond_br %last, ^finished(%next : i64), ^square
^square:
  %squared = util.call @mul_int(%base, %base) : (i64, i64) -> i64
  cf.br ^test(%next, %squared, %rest : i64, i64, i64)
^finished(%power: i64):
  util.return %power : i64
^done:
  util.return %result : i64
}

util.func private @pow_float(%a: f64, %b: f64) -> f64 {
  %zero = arith.constant 0.0 : f64
  %a_is_zero = arith.cmpf oeq, %a, %zero : f64
  %b_below = arith.cmpf olt, %b, %zero : f64
  %a_finite = util.call @isfinite_float(%a) : (f64) -> i1
  %b_finite = util.call @isfinite_float(%b) : (f64) -> i1
  %inverse = arith.andi %a_is_zero, %b_below : i1
  %pole = arith.andi %inverse, %b_finite : i1
  util.call @refuse_pole(%pole) : (i1) -> ()
  %a_below = arith.cmpf olt, %a, %zero : f64
  %whole = math.floor %b : f64
  %integral = arith.cmpf oeq, %whole, %b : f64
  %fraction = util.call @opposite(%integral) : (i1) -> i1
  %rotated = arith.andi %a_below, %fraction : i1
  %finite = arith.andi %a_finite, %b_finite : i1
  %complex = arith.andi %rotated, %finite : i1
  util.call @refuse_complex(%complex) : (i1) -> ()
  %power = math.powf %a, %b : f64
  %power_infinite = util.call @isinf_float(%power) : (f64) -> i1
  %overflow = arith.andi %power_infinite, %finite : i1
  util.call @refuse_range(%overflow) : (i1) -> ()
  util.return %power : f64
}

util.func private @refuse_pole(%wrong: i1) {
  %fine = util.call @opposite(%wrong) : (i1) -> i1
  cf.assert %fine, "ZeroDivisionError: 0.0 cannot be raised to a negative power"
  util.return
}

util.func private @refuse_complex(%wrong: i1) {
  %fine = util.call @opposite(%wrong) : (i1) -> i1
  cf.assert %fine, "RuntimeError: [RT304] the power is a complex number"
  util.return
}

util.func private @refuse_range(%wrong: i1) {
  %fine = util.call @opposite(%wrong) : (i1) -> i1
  cf.assert %fine, "OverflowError: (34, 'Numerical result out of range')"
  util.return
}

util.func private @lshift_int(%a: i64, %b: i64) -> i64 {
  %zero = arith.constant 0 : i64
  %limit = arith.constant 63 : i64
  %fine = arith.cmpi sge, %b, %zero : i64
  cf.assert %fine, "ValueError: negative shift count"
  %nothing = arith.cmpi eq, %a, %zero : i64
  cf.cond_br %nothing, ^done(%zero : i64), ^shift
^shift:
  %small = arith.cmpi sle, %b, %limit : i64
  cf.assert %small, "OverflowError: [RT307] an integer does not fit 64 bits"
  %shifted = arith.shli %a, %b : i64
  %back = arith.shrsi %shifted, %b : i64
  %exact = arith.cmpi eq, %back, %a : i64
  cf.assert %exact, "OverflowError: [RT307] an integer does not fit 64 bits"
  cf.br ^done(%shifted : i64)
^done(%result: i64):
  util.return %result : i64
}

util.func private @rshift_int(%a: i64, %b: i64) -> i64 {
  %zero = arith.constant 0 : i64
  %limit = arith.constant 63 : i64
  %fine = arith.cmpi sge, %b, %zero : i64
  cf.assert %fine, "ValueError: negative shift count"
  %small = arith.cmpi sle, %b, %limit : i64
  %count = arith.select %small, %b, %limit : i64
  %shifted = arith.shrsi %a, %count : i64
  util.return %shifted : i64
}

util.func private @isnan_float(%a: f64) -> i1 {
  %result = arith.cmpf uno, %a, %a : f64
  util.return %result : i1
}

util.func private @isinf_float(%a: f64) -> i1 {
  %infinity = arith.constant 0x7FF0000000000000 : f64
  %magnitude = math.absf %a : f64
  %result = arith.cmpf oeq, %magnitude, %infinity : f64
  util.return %result : i1
}

util.func private @isfinite_float(%a: f64) -> i1 {
  %infinity = arith.constant 0x7FF0000000000000 : f64
  %magnitude = math.absf %a : f64
  %result = arith.cmpf olt, %magnitude, %infinity : f64
  util.return %result : i1
}

util.func private @int_float(%a: f64) -> i64 {
  %nan = arith.cmpf uno, %a, %a : f64
  %number = util.call @opposite(%nan) : (i1) -> i1
  cf.assert %number, "ValueError: cannot convert float NaN to integer"
  %infinite = util.call @isinf_float(%a) : (f64) -> i1
  %finite = util.call @opposite(%infinite) : (i1) -> i1
  cf.assert %finite, "OverflowError: cannot convert float infinity to integer"
  %limit = arith.constant 9223372036854775808.0 : f64
  %lowest = arith.constant -9223372036854775808.0 : f64
  %not_above = arith.cmpf olt, %a, %limit : f64
  %not_below = arith.cmpf ole, %lowest, %a : f64
  %fits = arith.andi %not_above, %not_below : i1
  cf.assert %fits, "OverflowError: [RT307] an integer does not fit 64 bits"
  %result = util.call @truncated(%a) : (f64) -> i64
  util.return %result : i64
}

// The VM has no conversion from double to integer: the significand is shifted into its place.
util.func private @truncated(%a: f64) -> i64 {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %width = arith.constant 52 : i64
  %bias = arith.constant 1075 : i64
  %exponents = arith.constant 2047 : i64
  %last = arith.constant 63 : i64
  %hidden = arith.constant 4503599627370496 : i64
  %fraction_mask = arith.constant 4503599627370495 : i64
  %bits = arith.bitcast %a : f64 to i64
  %high = arith.shrui %bits, %width : i64
  %biased = arith.andi %high, %exponents : i64
  %exponent = arith.subi %biased, %bias : i64
  %fraction = arith.andi %bits, %fraction_mask : i64
  %significand = arith.ori %fraction, %hidden : i64
  %left = arith.cmpi sge, %exponent, %zero : i64
  cf.cond_br %left, ^up, ^down
^up:
  %raised = arith.shli %significand, %exponent : i64
  cf.br ^sign(%raised : i64)
^down:
  %distance = arith.subi %zero, %exponent : i64
  %far = arith.cmpi sgt, %distance, %last : i64
  %count = arith.select %far, %last, %distance : i64
  %lowered = arith.shrui %significand, %count : i64
  cf.br ^sign(%lowered : i64)
^sign(%magnitude: i64):
  %negative = arith.cmpi slt, %bits, %zero : i64
  %negated = arith.subi %zero, %magnitude : i64
  %result = arith.select %negative, %negated, %magnitude : i64
  util.return %result : i64
}

util.func private @round_float(%a: f64) -> i64 {
  %nearest = math.roundeven %a : f64
  %result = util.call @int_float(%nearest) : (f64) -> i64
  util.return %result : i64
}

util.func private @floor_float(%a: f64) -> i64 {
  %below = math.floor %a : f64
  %result = util.call @int_float(%below) : (f64) -> i64
  util.return %result : i64
}

util.func private @ceil_float(%a: f64) -> i64 {
  %above = math.ceil %a : f64
  %result = util.call @int_float(%above) : (f64) -> i64
  util.return %result : i64
}

util.func private @refuse_domain(%wrong: i1) {
  %fine = util.call @opposite(%wrong) : (i1) -> i1
  cf.assert %fine, "ValueError: math domain error"
  util.return
}

// An infinite result of a finite operand is beyond the range of doubles.
util.func private @in_range(%operand: f64, %result: f64) {
  %operand_finite = util.call @isfinite_float(%operand) : (f64) -> i1
  %result_infinite = util.call @isinf_float(%result) : (f64) -> i1
  %wrong = arith.andi %operand_finite, %result_infinite : i1
  %fine = util.call @opposite(%wrong) : (i1) -> i1
  cf.assert %fine, "OverflowError: math range error"
  util.return
}

util.func private @sqrt_float(%a: f64) -> f64 {
  %zero = arith.constant 0.0 : f64
  %wrong = arith.cmpf olt, %a, %zero : f64
  util.call @refuse_domain(%wrong) : (i1) -> ()
  %result = math.sqrt %a : f64
  util.return %result : f64
}

util.func private @exp_float(%a: f64) -> f64 {
  %result = math.exp %a : f64
  util.call @in_range(%a, %result) : (f64, f64) -> ()
  util.return %result : f64
}

util.func private @expm1_float(%a: f64) -> f64 {
  %result = math.expm1 %a : f64
  util.call @in_range(%a, %result) : (f64, f64) -> ()
  util.return %result : f64
}

util.func private @log_float(%a: f64) -> f64 {
  %zero = arith.constant 0.0 : f64
  %wrong = arith.cmpf ole, %a, %zero : f64
  util.call @refuse_domain(%wrong) : (i1) -> ()
  %result = math.log %a : f64
  util.return %result : f64
}

util.func private @log2_float(%a: f64) -> f64 {
  %zero = arith.constant 0.0 : f64
  %wrong = arith.cmpf ole, %a, %zero : f64
  util.call @refuse_domain(%wrong) : (i1) -> ()
  %result = math.log2 %a : f64
  util.return %result : f64
}

util.func private @log10_float(%a: f64) -> f64 {
  %zero = arith.constant 0.0 : f64
  %wrong = arith.cmpf ole, %a, %zero : f64
  util.call @refuse_domain(%wrong) : (i1) -> ()
  %result = math.log10 %a : f64
  util.return %result : f64
}

util.func private @log1p_float(%a: f64) -> f64 {
  %limit = arith.constant -1.0 : f64
  %wrong = arith.cmpf ole, %a, %limit : f64
  util.call @refuse_domain(%wrong) : (i1) -> ()
  %result = math.log1p %a : f64
  util.return %result : f64
}

util.func private @not_infinite(%a: f64) {
  %infinite = util.call @isinf_float(%a) : (f64) -> i1
  util.call @refuse_domain(%infinite) : (i1) -> ()
  util.return
}

util.func private @sin_float(%a: f64) -> f64 {
  util.call @not_infinite(%a) : (f64) -> ()
  %result = math.sin %a : f64
  util.return %result : f64
}

util.func private @cos_float(%a: f64) -> f64 {
  util.call @not_infinite(%a) : (f64) -> ()
  %result = math.cos %a : f64
  util.return %result : f64
}

util.func private @tanh_float(%a: f64) -> f64 {
  %result = math.tanh %a : f64
  util.return %result : f64
}

util.func private @atan_float(%a: f64) -> f64 {
  %result = math.atan %a : f64
  util.return %result : f64
}

util.func private @atan2_float(%a: f64, %b: f64) -> f64 {
  %result = math.atan2 %a, %b : f64
  util.return %result : f64
}

util.func private @fabs_float(%a: f64) -> f64 {
  %result = math.absf %a : f64
  util.return %result : f64
}

util.func private @fmod_float(%a: f64, %b: f64) -> f64 {
  %zero = arith.constant 0.0 : f64
  %a_infinite = util.call @isinf_float(%a) : (f64) -> i1
  %b_zero = arith.cmpf oeq, %b, %zero : f64
  %b_nan = arith.cmpf uno, %b, %b : f64
  %a_nan = arith.cmpf uno, %a, %a : f64
  %b_number = util.call @opposite(%b_nan) : (i1) -> i1
  %a_number = util.call @opposite(%a_nan) : (i1) -> i1
  %lost = arith.andi %a_infinite, %b_number : i1
  %pole = arith.andi %b_zero, %a_number : i1
  %wrong = arith.ori %lost, %pole : i1
  util.call @refuse_domain(%wrong) : (i1) -> ()
  %result = util.call @remainder(%a, %b) : (f64, f64) -> f64
  util.return %result : f64
}

// A position in a list as Python counts it: from the end if negative.
util.func private @from_start(%position: i64, %length: i64) -> i64 {
  %zero = arith.constant 0 : i64
  %negative = arith.cmpi slt, %position, %zero : i64
  %shifted = arith.addi %position, %length : i64
  %result = arith.select %negative, %shifted, %position : i64
  util.return %result : i64
}

util.func private @is_inside(%position: i64, %length: i64) -> i1 {
  %zero = arith.constant 0 : i64
  %not_before = arith.cmpi sge, %position, %zero : i64
  %before_end = arith.cmpi slt, %position, %length : i64
  %inside = arith.andi %not_before, %before_end : i1
  util.return %inside : i1
}

// The end of a slice: beyond the list it is the list's.
util.func private @clamped(%position: i64, %length: i64) -> i64 {
  %zero = arith.constant 0 : i64
  %counted = util.call @from_start(%position, %length) : (i64, i64) -> i64
  %not_before = arith.maxsi %counted, %zero : i64
  %result = arith.minsi %not_before, %length : i64
  util.return %result : i64
}

util.func private @list_new(%length: i64) -> !util.list<?> {
  %size = arith.index_cast %length : i64 to index
  %list = util.list.create %size : !util.list<?>
  util.list.resize %list, %size : !util.list<?>
  util.return %list : !util.list<?>
}
