// A text with its marked words, in the colours of the channels whose motifs mark them.
import { number } from "../../format";
import { channelColour } from "../../ui/channel";
import type { Motif, Side } from "./types";

interface Piece { from: number; to: number; motifs: Motif[] }

/** Cuts the characters [begin, end) of a text where marks begin and end. The motifs of a piece are the strongest first. */
function pieces(motifs: Motif[], begin: number, end: number): Piece[] {
  const spans = motifs.flatMap((motif) => (motif.words ?? []).map((w) => ({ motif, from: Math.max(begin, w.start), to: Math.min(end, w.end) }))).filter((s) => s.from < s.to);
  const cuts = [...new Set([begin, end, ...spans.flatMap((s) => [s.from, s.to])])].sort((a, b) => a - b);
  return cuts.slice(0, -1).map((from, i) => ({ from, to: cuts[i + 1], motifs: spans.filter((s) => s.from <= from && s.to >= cuts[i + 1]).map((s) => s.motif).sort((a, b) => b.value - a.value) }));
}

interface Props { text: string; side: Pick<Side, "motifs">; all: boolean; channel: number | null; nameOf: (channel: number) => string; label: string; around?: number; onPick?: (motif: Motif) => void }

/** around: shows only so many characters before and after the marks. */
export function MarkedText({ text, side, all, channel, nameOf, label, around, onPick }: Props) {
  const characters = [...text], motifs = side.motifs.filter((m) => (all || m.maximal) && (around === undefined || m.channel === channel));
  const words = motifs.flatMap((m) => m.words ?? []), near = around !== undefined && words.length > 0;
  const begin = near ? Math.max(0, Math.min(...words.map((w) => w.start)) - around) : 0, end = near ? Math.min(characters.length, Math.max(...words.map((w) => w.end)) + around) : characters.length;
  const marked = (m: Motif) => `${nameOf(m.channel)}, ${number(m.value)}`;
  return (
    <p class="marked-text" role="group" aria-label={label}>
      {begin > 0 && "…"}
      {pieces(motifs, begin, end).map(({ from, to, motifs: over }) => {
        const piece = characters.slice(from, to).join("").replace(/\t/g, "  ·  "), first = over.find((m) => m.channel === channel) ?? over[0];
        if (!first) return piece;
        const pale = channel !== null && first.channel !== channel;
        return <mark key={from} class={pale ? "pale" : undefined} style={{ "--channel": channelColour(first.channel) }} title={over.map(marked).join("; ")} data-pick={onPick ? "" : undefined} onClick={onPick && (() => onPick(first))}>{piece}</mark>;
      })}
      {end < characters.length && "…"}
      {characters.length === 0 && <span class="muted">no words</span>}
    </p>
  );
}

/** The words that a motif marks, as one text. */
export const wordsOf = (motif: Motif): string => (motif.words ?? []).map((w) => w.word).join(" ");
