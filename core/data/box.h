/* Where a symbol truly is: what generators record and metrics match against. */
#ifndef MOTIF_CORE_DATA_BOX_H
#define MOTIF_CORE_DATA_BOX_H

/* Rows [row0, row1) and columns [col0, col1) of the map; upper ends are exclusive. `row`, `col` is
 * the point that the box was placed around. Sequences have one row. */
struct box {
    int symbol;
    int row0, row1, col0, col1;
    int row, col;
};

#endif
