// The daemon's answers about motifs, and what the parts of the motif view share.
import { number } from "../../format";
import type { Kind } from "../../api";
import { spelled, type Alphabet, type Signal } from "../../ui/signal_picture";

export interface Motif { position: [number, number]; channel: number; name?: string | null; value: number; maximal: boolean; p?: number | null; q?: number | null; strand?: string; extent?: [number, number, number, number] | null; seconds?: [number, number]; words?: Word[] }
/** A word that a motif marks: the characters [start, end) of the text. */
export interface Word { word: string; start: number; end: number }
export interface Truth { symbol: string; box: [number, number, number, number] }
export type Read = string | { position: number; class: string; probability?: number };
export interface Side { motif_count: number; motifs: Motif[]; prediction: Read[]; tokens?: { token: string; probability: number }[]; probability?: number; numbers?: PredictedNumber[] }
/** A number that the model predicts, and the true one if it is known. */
export interface PredictedNumber { name: string; value: number; true?: number }
export interface Answer extends Side { shape: [number, number, number]; truth: Truth[] | null; label?: Read[]; number?: number; group?: string; record?: string; input?: Signal; alphabet?: Alphabet | null; letters?: string | null; text?: string; warnings?: { code: string; text: string }[] }
export interface Intervened { shape: [number, number, number]; before: Side; after: Side; truth: Truth[] | null; label?: Read[]; text?: string }
export interface Bound { marks: number; false_at_most: number; confidence: number }
export interface Answers<T> { checkpoint: { seq: number; density: number | null }; answers: T[]; bound?: Bound | null; why?: string }
export type Edit = { channel: number; position?: [number, number]; delete?: true; to?: { channel: number } };
export interface Upload { name: string; type: string; data: string; bitmap: ImageBitmap | null }
export type Source = { sample: { seed: number } } | { data: string; type: string } | { array: unknown };
export interface Top { sample: number; position: [number, number]; value: number; symbol: string | null; window: [number, number, number, number] }
export interface MotifMatch { id: string; name: string | null; qvalue: number; strand: string }
/** The position matrix of a channel, with a column of counts for each symbol of the alphabet. */
export interface Matrix { consensus: string; sites: number; evalue: number | null; counts: number[][]; information: number[]; same_as: number[]; matches: MotifMatch[] | null }
export interface ChannelUse {
  channel: number; name: string | null; strength: number | null; active: number; inputs: number; motifs: number | null; mean: number; max: number; symbol: string | null;
  matrix: Matrix | null; symbols: { symbol: string | null; count: number }[] | null; histogram?: { edges: number[]; counts: number[] }; top?: Top[];
}
export interface ChannelList { alphabet: Alphabet | null; samples: number; channels: ChannelUse[]; unused: number; elements: number }

/** "1 motif", "12 motifs". */
export const motifs = (count: number): string => `${number(count)} motif${count === 1 ? "" : "s"}`;
export const pickOf = (text: string): string | number => (/^\d+$/.test(text) ? Number(text) : text);
/** The input of an answer as a signal, if the answer contains it or its letters. */
export const inputOf = (a: Answer): Signal | undefined =>
  a.input ? { ...a.input, alphabet: a.alphabet } : a.alphabet && a.letters ? spelled(a.letters, a.shape[1], a.alphabet) : undefined;

/** Properties of each view of motifs: the job and its kind, the checkpoint that answers, and the names of the channels. */
export interface MotifProps { jobId: string; kind: Kind | undefined; checkpoint: string; nameOf: (channel: number) => string }
