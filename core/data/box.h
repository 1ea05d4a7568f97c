/* The true place of a symbol: generators record it, metrics compare predictions with it. */
#ifndef MOTIF_CORE_DATA_BOX_H
#define MOTIF_CORE_DATA_BOX_H

/* A box covers rows [row0, row1) and columns [col0, col1) of the map; upper ends are exclusive. (row, col) is the point
 * around which the box was placed. Sequences have one row. */
struct box {
    int symbol;
    int row0, row1, col0, col1;
    int row, col;
};

#endif
