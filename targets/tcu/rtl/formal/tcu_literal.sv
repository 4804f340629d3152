// The meaning of numbers in the specification and in `npukit-numeric`, against which the circuit is
// proved.
//
// The package uses nothing of the circuit. All values are exact in 72 bits, which are enough for
// the product of two 32-bit scalars. `bits` and `point` are the width and the fraction bits of a
// format.
//
// Source: the specification's 4.1 (operations) and 5.2 (rne, sat, mac).
package tcu_literal;

  typedef logic signed [71:0] exact_t;

  function automatic exact_t one(input integer point);
    one = 72'sd1 <<< point;
  endfunction

  function automatic exact_t largest(input integer bits);
    largest = (72'sd1 <<< (bits - 1)) - 72'sd1;
  endfunction

  function automatic exact_t saturate(input exact_t value, input integer bits);
    if (value > largest(bits)) saturate = largest(bits);
    else if (value < -largest(bits) - 72'sd1) saturate = -largest(bits) - 72'sd1;
    else saturate = value;
  endfunction

  // The nearest whole number of 2^-point; of two that are equally near the even one.
  function automatic exact_t round_half_even(input exact_t value, input integer point);
    exact_t below, rest, half;
    below = value >>> point;
    rest  = value - (below <<< point);
    half  = 72'sd1 <<< (point - 1);
    if (rest > half || (rest == half && below[0])) round_half_even = below + 72'sd1;
    else round_half_even = below;
  endfunction

  function automatic exact_t mac(input exact_t product, input exact_t addend, input integer bits,
                                 input integer point);
    mac = saturate(round_half_even(product + (addend <<< point), point), bits);
  endfunction

  // Negation wraps around in the scalar's width: the most negative value is its own negation.
  function automatic exact_t negated(input exact_t value, input integer bits);
    negated = value < -largest(bits) ? value : -value;
  endfunction

  function automatic exact_t truth(input logic holds, input integer point);
    truth = holds ? one(point) : 72'sd0;
  endfunction

  function automatic exact_t operation(input logic [3:0] code, input exact_t left, input exact_t right,
                                       input exact_t product, input integer bits, input integer point);
    case (code)
      4'h1:    operation = 72'sd0;
      4'h3:    operation = truth(left == 72'sd0, point);
      4'h4:    operation = truth(left != 72'sd0 && right != 72'sd0, point);
      4'h5:    operation = truth(left != 72'sd0 || right != 72'sd0, point);
      4'h6:    operation = saturate(left + one(point), bits);
      4'h7:    operation = saturate(left - one(point), bits);
      4'h8:    operation = saturate(left + right, bits);
      4'h9:    operation = saturate(left - right, bits);
      4'hA:    operation = mac(product, 72'sd0, bits, point);
      4'hB:    operation = left < 72'sd0 ? negated(left, bits) : left;
      4'hC:    operation = truth(left > right, point);
      4'hD:    operation = truth(left >= right, point);
      4'hE:    operation = left < right ? left : right;
      4'hF:    operation = left > right ? left : right;
      default: operation = left;
    endcase
  endfunction

endpackage
