/* Lists in the text fields of a configuration: "0.1,0.2" and "relu,gated". Pure functions. */
#ifndef MOTIF_CORE_METHODS_SHARED_VALUE_LIST_H
#define MOTIF_CORE_METHODS_SHARED_VALUE_LIST_H

/* Parse values that are separated by commas. out: [room]. Return the number of values, 0 for "", or -1 if the text
 * is not such a list or has more than `room` values. value_list_numbers() accepts numbers in [low, high].
 * value_list_names() accepts the texts of an array that ends with NULL, and writes their indices in the array to
 * `out`. */
int value_list_numbers(const char *text, double low, double high, double *out, int room);
int value_list_names(const char *text, const char *const *names, int *out, int room);

#endif
