# y = 2 * x, for 16 channels of 2 x 3 pixels.
@shape.ifm [2,3,16]
@shape.ofm [2,3,16]
@shape.ker 1
@mem.ifm 0, 3                  # x: bank 0, rows of 3 slots
@mem.ker 1                     # the kernel: bank 1
@mem.ofm 2, [4,5]              # y: bank 2, in a plane with a border of one slot
@stride [1,1]
@shift 8, 0                    # int16 sums have 8 bits more than int8 results
@post pool                     # neither activation nor residual
@pool [1,1], [1,1]             # nor pooling
ld.ifm 0
ld.ker 0
conv ifm:[0,0], ker:0
store 6                        # row 1, column 1 of the plane
end
