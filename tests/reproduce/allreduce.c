/* Measures how long MPI's all-reduce of floats takes, for several sizes. docs/lab/scaling.md fits its network model
 * to the result. allreduce.sh builds and runs this program. It is not a part of the normal
 * build.
 *
 * Prints one line for each size: bytes, shortest and median seconds. The shortest time is that of the network alone.
 * The median includes delays by other programs on the machine. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define REPEATS 60
#define LARGEST (4 << 20) /* largest message, in floats */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    int rank, ranks;
    double times[REPEATS];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int largest = argc > 1 ? atoi(argv[1]) : LARGEST;
    float *data = calloc((size_t)largest, sizeof *data);
    if (data == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int count = 2; count <= largest; count *= 8) {
        int repeats = count > 1 << 18 ? REPEATS / 4 : REPEATS;
        for (int i = 0; i < repeats; i++) {
            MPI_Barrier(MPI_COMM_WORLD);
            double start = MPI_Wtime(), mine;
            MPI_Allreduce(MPI_IN_PLACE, data, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
            mine = MPI_Wtime() - start;
            MPI_Reduce(&mine, &times[i], 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        }
        if (rank == 0) {
            qsort(times, (size_t)repeats, sizeof *times, compare);
            printf("%d ranks %zu bytes shortest %.9f median %.9f\n", ranks, (size_t)count * sizeof *data, times[0],
                   times[repeats / 2]);
            fflush(stdout);
        }
    }
    free(data);
    MPI_Finalize();
    return 0;
}
