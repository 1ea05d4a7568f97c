/* Handlers that move jobs and models between daemons and programs. routes.c has one row for each handler. Each handler
 * sends a response. */
#ifndef MOTIF_API_TRANSFER_TRANSFER_H
#define MOTIF_API_TRANSFER_TRANSFER_H

struct exchange;

void imports_create(struct exchange *x);
void attestation_show(struct exchange *x);
void bundle_show(struct exchange *x);
void onnx_show(struct exchange *x);

#endif
