// A card for one test input: its picture or text with the extents of motifs, the answer and the label, and whether the answer is right.
import { number, percent } from "../../format";
import { href } from "../../router";
import { ChannelMark } from "../../ui/channel";
import { InputPicture, Reading } from "../motifs/input_picture";
import { MarkedText } from "../motifs/text";
import { inputOf, type Answer, type Side } from "../motifs/types";
import { marksOf, type Entry } from "./entries";

const MOST_LETTERS = 420; // letters of a sequence on a card

/** A sequence of letters as a text, cut around its motifs, in which their extents are the marked words. */
function lettersOf(answer: Answer): { text: string; side: Pick<Side, "motifs"> } {
  const marks = marksOf(answer).filter((m) => m.extent), ends = marks.flatMap((m) => m.extent!.slice(2)), all = answer.letters!;
  const long = all.length > MOST_LETTERS && ends.length > 0, from = long ? Math.max(0, Math.min(...ends) - 20) : 0, to = Math.min(all.length, from + MOST_LETTERS);
  const words = (extent: number[]) => [{ word: all.slice(extent[2], extent[3]), start: extent[2] - from, end: extent[3] - from }];
  return { text: `${all.slice(from, to)}`, side: { motifs: marks.map((m) => ({ ...m, words: words(m.extent!) })) } };
}

export function InputShown({ answer, nameOf, label }: { answer: Answer; nameOf: (channel: number) => string; label: string }) {
  if (answer.text !== undefined) return <MarkedText text={answer.text} side={answer} all={false} channel={null} nameOf={nameOf} label={label} />;
  if (answer.letters) {
    const { text, side } = lettersOf(answer);
    return <div class="spelled"><MarkedText text={text} side={side} all={false} channel={null} nameOf={nameOf} label={label} /></div>;
  }
  return <InputPicture small shape={answer.shape} side={answer} truth={answer.truth} input={inputOf(answer)} upload={null} all={false} channel={null} nameOf={nameOf} label={label} />;
}

const WORDS = new Map<boolean | null, [string, string]>([[true, ["✓ right", "right"]], [false, ["✗ wrong", "wrong"]]]);

/** The names of the marks on an input with the number of marks of each, and the largest q. */
function Marks({ answer, nameOf }: { answer: Answer; nameOf: (channel: number) => string }) {
  const marks = marksOf(answer), channels = [...new Set(marks.map((m) => m.channel))];
  if (!marks.length) return <p class="muted">no motif</p>;
  return <p class="marks">{channels.map((k) => {
    const own = marks.filter((m) => m.channel === k), worst = Math.max(...own.map((m) => m.q ?? -1));
    return <span key={k}><ChannelMark channel={k} name={nameOf(k)} />{own.length > 1 && ` × ${own.length}`}{worst >= 0 && <span class="muted" title="Expected false share of marks at least as strong"> q {percent(worst, 2)}</span>}</span>;
  })}</p>;
}

export function InputCard({ entry, jobId, nameOf, pinned, pin }: { entry: Entry; jobId: string; nameOf: (channel: number) => string; pinned: boolean; pin: () => void }) {
  const { answer, seed, right, confidence } = entry, word = WORDS.get(right);
  return (
    <li class={`card input-card ${word?.[1] ?? ""}`}>
      <header><h2><a href={href(`jobs/${jobId}/motifs`, { seed: String(seed) })}>{entry.name}</a>{answer.group && <span class="muted"> {answer.group}</span>}</h2>
        <button type="button" class="small pin" aria-pressed={pinned} onClick={pin} title="Pinned inputs come first in the report">{pinned ? "Pinned" : "Pin"}<span class="hidden"> {entry.name} to the report</span></button></header>
      <InputShown answer={answer} nameOf={nameOf} label={`${entry.name} with the extents of its motifs`} />
      <p class="judged">{word && <b class={word[1]}>{word[0]}</b>}{confidence !== null && <span>confidence {percent(confidence, 3)}</span>}{right === null && entry.error > 0 && <span>off by {number(entry.error)}</span>}</p>
      <Reading side={{ ...answer, tokens: undefined }} label={right === false ? answer.label : undefined} title="reads" />
      <Marks answer={answer} nameOf={nameOf} />
    </li>
  );
}
