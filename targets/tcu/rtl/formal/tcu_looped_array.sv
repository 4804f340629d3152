// The elements of tcu_systolic_array as loops. Large arrays take hours to build as single elements,
// so simulations use this module.
//
// The results of a row are computed when the row enters and are delayed as in the elements. Weights
// must not shift while rows are in progress. Each element has one weight, and numbers are fixed
// point.
module tcu_systolic_array #(
    parameter int unsigned ARRAY_SIZE     = 8,
    parameter int unsigned SCALAR_BITS    = 16,
    parameter int unsigned BINARY_POINT   = 8,
    parameter bit          DOUBLE_WEIGHTS = 1'b0
) (
    input  logic                                    clock,
    input  logic                                    reset,
    input  logic [$clog2(ARRAY_SIZE + 1)-1:0]       reach,
    input  logic [ARRAY_SIZE-1:0][SCALAR_BITS-1:0] weights,
    input  logic                                    exchange,
    input  logic                                    row_valid,
    input  logic [ARRAY_SIZE-1:0][SCALAR_BITS-1:0] row,
    output logic                                    result_valid,
    output logic [ARRAY_SIZE-1:0][SCALAR_BITS-1:0] result
);

  localparam int unsigned LATENCY = 2 * ARRAY_SIZE - 1;
  localparam longint LARGEST = (longint'(1) <<< (SCALAR_BITS - 1)) - 1;

  if (DOUBLE_WEIGHTS || BINARY_POINT == 0) begin : gen_unsupported
    $error("one weight a element, and fixed point");
  end

  // Row 0 contains the biases.
  longint held[(ARRAY_SIZE + 1) * ARRAY_SIZE];
  longint sums[ARRAY_SIZE];
  logic [ARRAY_SIZE-1:0][SCALAR_BITS-1:0] computed[LATENCY];
  int unsigned place = 0;
  logic [LATENCY-1:0] under_way;
  logic unused;

  assign unused = exchange;
  assign result_valid = under_way[LATENCY-1];

  // Returns the product plus the addend, rounded to the nearest number; of two equally near ones,
  // the even one.
  function automatic longint mac(input longint x, input longint weight, input longint addend);
    longint exact, below, rest, half;
    exact = x * weight + (addend <<< BINARY_POINT);
    below = exact >>> BINARY_POINT;
    rest = exact - (below <<< BINARY_POINT);
    half = longint'(1) <<< (BINARY_POINT - 1);
    if (rest > half || (rest == half && below[0])) below = below + 1;
    if (below > LARGEST) mac = LARGEST;
    else if (below < -LARGEST - 1) mac = -LARGEST - 1;
    else mac = below;
  endfunction

  function automatic longint number(input logic signed [SCALAR_BITS-1:0] scalar);
    number = longint'(scalar);
  endfunction

  task automatic shift();
    for (int i = (ARRAY_SIZE + 1) * ARRAY_SIZE - 1; i >= ARRAY_SIZE; i--) held[i] = held[i-ARRAY_SIZE];
    for (int j = 0; j < ARRAY_SIZE; j++) held[j] = number(weights[j]);
  endtask

  task automatic compute();
    for (int j = 0; j < ARRAY_SIZE; j++) sums[j] = held[j];
    for (int k = 0; k < ARRAY_SIZE; k++) begin
      longint x;
      x = number(row[k]);
      for (int j = 0; j < ARRAY_SIZE; j++) sums[j] = mac(x, held[(k + 1) * ARRAY_SIZE + j], sums[j]);
    end
    for (int j = 0; j < ARRAY_SIZE; j++) computed[place][j] = SCALAR_BITS'(sums[j]);
  endtask

  always @(posedge clock) begin
    if (reach != '0) shift();
    if (row_valid) compute();
    place = place == LATENCY - 1 ? 0 : place + 1;
    result <= computed[place];
    under_way <= reset ? '0 : {under_way[LATENCY-2:0], row_valid};
  end

endmodule
