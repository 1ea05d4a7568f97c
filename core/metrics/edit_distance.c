/* Levenshtein distance by dynamic programming with one row of the table in memory. */
#include "core/metrics/edit_distance.h"

#include <math.h>

static int least(int a, int b, int c)
{
    int ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* row[j] is the distance between the first i tokens of a and the first j tokens of b. */
int edit_distance(const int *a, int a_count, const int *b, int b_count)
{
    int row[EDIT_DISTANCE_MAX + 1];
    if (a_count < 0 || b_count < 0 || a_count > EDIT_DISTANCE_MAX || b_count > EDIT_DISTANCE_MAX)
        return -1;
    for (int j = 0; j <= b_count; j++)
        row[j] = j;
    for (int i = 1; i <= a_count; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= b_count; j++) {
            int above = row[j];
            row[j] = least(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
            diagonal = above;
        }
    }
    return row[b_count];
}

double edit_error(const int *a, int a_count, const int *b, int b_count)
{
    int distance = edit_distance(a, a_count, b, b_count);
    if (distance < 0)
        return NAN;
    int longer = a_count > b_count ? a_count : b_count;
    return longer > 0 ? (double)distance / longer : 0.0;
}
