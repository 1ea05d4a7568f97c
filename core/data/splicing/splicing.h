/* The splicing domain (SPARLING, Appendix L): from a sequence of RNA, a model predicts for every base whether it is a
 * splice site. This header defines what the parts of the domain share: splicing_affinity.h (protein binding),
 * splicing_planted.h (generated data with a known truth), splicing_genes.h (real genes from FASTA and GFF3).
 *
 * A sequence has one byte for each base: 0 A, 1 C, 2 G, 3 T or U, 4 unknown. The input of a network is four planes
 * [4][length]; where a base is known, its plane is 1 and the others are 0. Functions keep no state; any thread. */
#ifndef MOTIF_CORE_DATA_SPLICING_SPLICING_H
#define MOTIF_CORE_DATA_SPLICING_SPLICING_H

#include <stddef.h>
#include <stdint.h>

enum splicing_base { BASE_A, BASE_C, BASE_G, BASE_T, BASE_N };
enum { SPLICING_BASES = 4 };

/* Class of a position. A donor is the first base of an intron, an acceptor its last.
 */
enum splicing_class { SITE_NONE, SITE_ACCEPTOR, SITE_DONOR };
enum { SPLICING_CLASSES = 3 };

/* The base of a letter in either case; BASE_N for any letter but A, C, G, T and U. */
uint8_t splicing_base(char letter);

/* Writes the one-hot planes of bases: [length] to planes: [4][length]. */
void splicing_planes(const uint8_t *bases, int length, float *planes);

#endif
