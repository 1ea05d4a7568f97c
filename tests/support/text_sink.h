/* A sink that writes what it receives as text: " key=1 list=[ 1 2 ] name='text'". */
#ifndef MOTIF_TESTS_SUPPORT_TEXT_SINK_H
#define MOTIF_TESTS_SUPPORT_TEXT_SINK_H

#include "core/base/buf.h"
#include "core/base/sink.h"

/* Returns a sink that appends to `buf`, which the caller has initialised and closes. */
struct sink text_sink(struct buf *buf);

#endif
