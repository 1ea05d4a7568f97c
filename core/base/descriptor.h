/* Closes file descriptors in such a way that closing one twice does no harm. */
#ifndef MOTIF_CORE_BASE_DESCRIPTOR_H
#define MOTIF_CORE_BASE_DESCRIPTOR_H

/* Closes *descriptor and sets it to -1. If the owner closes it again, nothing happens. Without the -1, the second call
 * could close another file that got the same number. Keeps errno. In a build with assertions, closing a descriptor that
 * is not open ends the program, because two owners must have closed the same number. */
void descriptor_close(int *descriptor);

#endif
