/* Handlers that move jobs and models between daemons and programs; one for each of their rows in routes.c. Each handler
 * sends a response. */
#ifndef MOTIF_API_TRANSFER_TRANSFER_H
#define MOTIF_API_TRANSFER_TRANSFER_H

struct exchange;

void imports_create(struct exchange *x);
void attestation_show(struct exchange *x);
void bundle_show(struct exchange *x);
void onnx_show(struct exchange *x);

#endif
