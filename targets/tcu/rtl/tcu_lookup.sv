// The lookup tables: find, for each lane, the key that is closest to the argument, and output the
// tables' values for this key.
//
// Table 0 contains the keys, in consecutive vectors. Tables 1 to TABLES contain the values. A
// search compares every key in order, for all lanes at once, and takes N + 1 cycles per vector of
// keys. Of two equally close keys, the first one is used. The difference is `argument` minus the
// key, saturated. `argument` must stay unchanged during a search. `found` is high in the cycle in
// which `difference` and `values` are valid.
//
// This extension of npukit is not in the released design.
module tcu_lookup #(
    parameter int unsigned ARRAY_SIZE = 8,
    parameter int unsigned SCALAR_BITS = 16,
    parameter int unsigned TABLES = 1,
    parameter int unsigned DEPTH = 128,
    parameter int unsigned TABLE_BITS = 1,
    parameter int unsigned INDEX_BITS = 7,
    localparam int unsigned VECTOR_BITS = ARRAY_SIZE * SCALAR_BITS
) (
    input logic clock,
    input logic reset,

    input logic                   load,
    input logic [ TABLE_BITS-1:0] load_table,
    input logic [ INDEX_BITS-1:0] load_index,
    input logic [VECTOR_BITS-1:0] load_data,

    input  logic                              search,
    input  logic [           VECTOR_BITS-1:0] argument,
    output logic                              found,
    output logic [           VECTOR_BITS-1:0] difference,
    output logic [TABLES:1][VECTOR_BITS-1:0] values
);

  localparam int unsigned PLACE_BITS = $clog2(DEPTH > 1 ? DEPTH : 2);
  localparam int unsigned LANE_BITS = $clog2(ARRAY_SIZE);

  // The current vector of keys, the last vector, and the current key within a vector.
  logic [INDEX_BITS-1:0] index, last;
  logic [LANE_BITS-1:0] place;
  logic fetched, compares, is_first, is_last;
  logic [TABLES:0][SCALAR_BITS-1:0] entry;

  assign compares = search && fetched && !found;
  assign is_first = index == '0 && place == '0;
  assign is_last  = place == LANE_BITS'(ARRAY_SIZE - 1);

  always_ff @(posedge clock) begin
    if (load && load_table == '0) last <= load_index;
    if (reset || !search || found) begin
      index   <= '0;
      place   <= '0;
      fetched <= 1'b0;
      found   <= 1'b0;
    end else if (!fetched) begin
      fetched <= 1'b1;
    end else begin
      place   <= is_last ? '0 : place + 1'b1;
      fetched <= !is_last;
      if (is_last) index <= index + 1'b1;
      found <= is_last && index == last;
    end
  end

  for (genvar table_index = 0; table_index <= TABLES; table_index++) begin : gen_table
    logic [VECTOR_BITS-1:0] vector, unused;

    // A vector above the tables' depth is not stored.
    npu_ram #(.WIDTH(VECTOR_BITS), .DEPTH(DEPTH > 1 ? DEPTH : 2)) ram (
        .clock,
        .a_access(load && load_table == TABLE_BITS'(table_index) && 32'(load_index) < DEPTH),
        .a_write(1'b1), .a_address(PLACE_BITS'(load_index)), .a_in(load_data), .a_out(unused),
        .b_access(search && !fetched), .b_write(1'b0), .b_address(PLACE_BITS'(index)), .b_in('0),
        .b_out(vector)
    );

    assign entry[table_index] = vector[32'(place)*SCALAR_BITS+:SCALAR_BITS];
  end

  for (genvar lane = 0; lane < ARRAY_SIZE; lane++) begin : gen_lane
    logic signed [SCALAR_BITS-1:0] own, key, clamped;
    logic signed [SCALAR_BITS:0] exact;
    logic [SCALAR_BITS:0] distance, closest;
    logic is_closer;

    assign own = argument[lane*SCALAR_BITS+:SCALAR_BITS];
    assign key = entry[0];
    assign exact = (SCALAR_BITS + 1)'(own) - (SCALAR_BITS + 1)'(key);
    assign distance = exact[SCALAR_BITS] ? -exact : exact;
    assign is_closer = compares && (is_first || distance < closest);

    always_comb begin
      clamped = exact[SCALAR_BITS-1:0];
      if (exact[SCALAR_BITS] != exact[SCALAR_BITS-1])
        clamped = {exact[SCALAR_BITS], {(SCALAR_BITS - 1) {!exact[SCALAR_BITS]}}};
    end

    always_ff @(posedge clock) begin
      if (is_closer) begin
        closest <= distance;
        difference[lane*SCALAR_BITS+:SCALAR_BITS] <= clamped;
        for (int unsigned i = 1; i <= TABLES; i++) values[i][lane*SCALAR_BITS+:SCALAR_BITS] <= entry[i];
      end
    end
  end

endmodule
