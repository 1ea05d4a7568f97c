/** The rule that `datasetName` follows, for the reader of the page. */
export const NAME_RULE = "A data set gets the name of its file without the ending, in small letters. A hyphen replaces every other character than a-z, 0-9, “.”, “-” and “_”.";

export const MOST = 63; // bytes of a name that the daemon accepts

/** Derives the name of a data set from the name of its file: "Web set.npz" becomes "web-set". */
export function datasetName(file: string): string {
  const stem = file.replace(/\.gz$/i, "").replace(/\.[^.]*$/, "").normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  const name = stem.replace(/[^a-z0-9._-]+/g, "-").replace(/^[^a-z0-9]+/, "").slice(0, MOST).replace(/[^a-z0-9]+$/, "");
  return name || "data";
}
