/* The one parser of typed values that somebody outside the program gives, and its messages.
 *
 * A value is described by a row, struct config_field (config.h). Rows are the fields of methods, the settings of the
 * daemon, the options of programs (options.h), the parameters of routes (api/http/route.h), the members of a job and
 * the options of an upload. In rows that no struct stores, the offset is 0. In a FIELD_TEXT, `max` is the largest
 * number of bytes (0: CONFIG_TEXT - 1), and `choices` may list the texts that are allowed. For help texts, `unit` is
 * the placeholder of the value, such as "N". A list of rows that has no count ends with a NULL name. All functions are
 * pure; any thread may call them. */
#ifndef MOTIF_CORE_BASE_VALUES_H
#define MOTIF_CORE_BASE_VALUES_H

#include "core/base/config.h"

/* Where the text of a value comes from. The sources differ in the quotation marks and the form of ranges in messages.
 * Only configurations take integers with an exponent ("1e3") and refuse control characters in texts. */
enum value_source {
    VALUE_CONFIG,  /* a field of a method: got "x"; ranges in their shortest form, [1, 1e+06] */
    VALUE_SETTING, /* a setting of the daemon: got "x" */
    VALUE_OPTION,  /* an option of a program: got x */
    VALUE_QUERY,   /* a parameter of a route: got 'x'; a flag is 0 or 1 */
    VALUE_MEMBER,  /* a member of a JSON document: got 0.5 */
    VALUE_SOURCES
};

struct value { /* the member of the field's type is set */
    int64_t integer;
    double number;
    bool flag;
    int choice;
    const char *text; /* borrowed */
};

/* Reads a value of any type from text, or a number. STATUS_INVALID: the value is not allowed; err->message says what is
 * allowed and what was found, without the name: "must be an integer in [1, 64]; got 65". */
enum status value_read(const struct config_field *field, enum value_source source, const char *text, struct value *out,
                       struct error *err);
enum status value_read_number(const struct config_field *field, enum value_source source, double number,
                              struct value *out, struct error *err);
/* Stores a value in a struct, as the field's row says. */
void value_store(const struct config_field *field, void *config, const struct value *value);
/* Reads a value with value_read() and stores it. */
enum status value_take(const struct config_field *field, enum value_source source, void *config, const char *text,
                       struct error *err);
/* Writes what the field allows: "an integer in [1, 64]", "one of dense, sparse, auto". */
void value_describe(const struct config_field *field, enum value_source source, char *out, size_t out_bytes);
/* Sets an error like "must be an integer in [1, 64]; got FOUND". */
enum status value_refuse(const struct config_field *field, enum value_source source, const char *found,
                         struct error *err);
/* Writes the shortest decimal that reads back as the same number. */
void value_shortest(double number, char *out, size_t out_bytes);
/* Parses a decimal integer ("-12", "7"). False for any other text and for numbers beyond int64_t. */
bool text_integer(const char *text, int64_t *value);

#endif
