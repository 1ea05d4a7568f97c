/* Splicing (SPARLING, Appendix L): RNA in, and for every base whether it is a splice site. What the parts of the domain
 * share; see splicing_affinity.h (proteins), splicing_planted.h (a generator whose truth is known),
 * splicing_genes.h (FASTA and GFF3) and splicing_h5.h (SpliceAI's files).
 *
 * A sequence is one byte a base: 0 A, 1 C, 2 G, 3 T or U, 4 anything else. As input of a network it is four planes
 * [4][length], one of them 1 where a base is known. */
#ifndef MOTIF_CORE_DATA_SPLICING_SPLICING_H
#define MOTIF_CORE_DATA_SPLICING_SPLICING_H

#include <stddef.h>
#include <stdint.h>

enum splicing_base { BASE_A, BASE_C, BASE_G, BASE_T, BASE_N };
enum { SPLICING_BASES = 4 };

/* Of a position, in the order of SpliceAI's files. A donor is the first base of an intron, an acceptor its last. */
enum splicing_class { SITE_NONE, SITE_ACCEPTOR, SITE_DONOR };
enum { SPLICING_CLASSES = 3 };

/* The base that a letter stands for, in either case; BASE_N for all that are no base. */
uint8_t splicing_base(char letter);
char splicing_letter(uint8_t base); /* A, C, G, T, N */

/* planes: [4][length], overwritten. */
void splicing_planes(const uint8_t *bases, int length, float *planes);

#endif
