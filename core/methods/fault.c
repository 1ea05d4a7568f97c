/* Reports one fault of a configuration to the caller of a method's check().
 *
 * This function has a file of its own, below the methods: registry.c depends on every method, so a method that called a
 * function there would form a cycle. */
#include <stdarg.h>
#include <stdio.h>

#include "core/methods/method.h"

void method_fault(const struct method_faults *faults, const char *field, const char *format, ...)
{
    char text[192];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    faults->add(faults->context, field, text);
}
