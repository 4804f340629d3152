; Features, weights, biases and bytes are views of the same memory.
.data memory[0x10000000:0x10000004], 1, 2, 3, 255
    end
.expect features.1[0], 1, 2, 3, -1
.expect weights.1[0:4], 1, 2, 3, -1
.expect biases.1[0:2], 0x201, -253
