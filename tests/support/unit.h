/* cmocka, with the headers of the C library that it needs and that nearly every test uses. */
#ifndef MOTIF_TESTS_SUPPORT_UNIT_H
#define MOTIF_TESTS_SUPPORT_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#endif
