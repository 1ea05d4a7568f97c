/* Closes file descriptors in such a way that closing one twice does no harm. */
#ifndef MOTIF_CORE_BASE_DESCRIPTOR_H
#define MOTIF_CORE_BASE_DESCRIPTOR_H

/* Closes *descriptor and sets it to -1, so that its owner cannot close a number that belongs to another file by now.
 * Does nothing for -1. Keeps errno. In a build with assertions, closing a descriptor that is not open ends the program:
 * it means that two owners close the same number. */
void descriptor_close(int *descriptor);

#endif
