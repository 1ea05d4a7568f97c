// Test inputs with what the model reads in them: whether it is right, how sure the model is, and the pairs of true and read names.
import { useEffect, useState } from "preact/hooks";
import { request } from "../../api";
import { sentence, symbol } from "../motifs/input_picture";
import type { Answer, Answers, Bound, Motif, Read } from "../motifs/types";

/** A test input. right: null if the answer is neither right nor wrong, as with numbers. confidence: the model's probability of its whole answer; null:
 * unknown. error: 0 if right; the number of edits from the answer to the label, or the largest distance of a number. pairs: the true and the read
 * name of each place, "" for nothing. */
export interface Entry { seed: number; answer: Answer; right: boolean | null; confidence: number | null; error: number; name: string; pairs: [string, string][] }

export const NOTHING = "nothing";
const NO_MARK = "none"; // the row and the column of the confusion matrix of motifs for what is not there
const names = (list: Read[] | undefined): string[] => (list ?? []).map(symbol);

/** Aligns a label with an answer by the fewest edits. */
export function aligned(label: string[], read: string[]): [string, string][] {
  const cost = Array.from({ length: label.length + 1 }, (_, i) => Array.from({ length: read.length + 1 }, (_v, j) => (i === 0 ? j : j === 0 ? i : 0)));
  for (let i = 1; i <= label.length; i++) for (let j = 1; j <= read.length; j++)
    cost[i][j] = Math.min(cost[i - 1][j - 1] + Number(label[i - 1] !== read[j - 1]), cost[i - 1][j] + 1, cost[i][j - 1] + 1);
  const out: [string, string][] = [];
  for (let i = label.length, j = read.length; i > 0 || j > 0;) {
    if (i > 0 && j > 0 && cost[i][j] === cost[i - 1][j - 1] + Number(label[i - 1] !== read[j - 1])) out.unshift([label[--i], read[--j]]);
    else if (i > 0 && cost[i][j] === cost[i - 1][j] + 1) out.unshift([label[--i], ""]);
    else out.unshift(["", read[--j]]);
  }
  return out;
}

/** The model's probability of its answer: of all tokens together, or of the least probable place. */
function confidenceOf(a: Answer): number | null {
  if (typeof a.probability === "number") return a.probability;
  const places = a.prediction.flatMap((read) => (typeof read === "string" || read.probability === undefined ? [] : [read.probability]));
  return places.length ? Math.min(...places) : null;
}

export function entryOf(seed: number, answer: Answer): Entry {
  const numbers = answer.numbers?.filter((n) => n.true !== undefined) ?? [];
  const pairs = answer.label && !answer.numbers ? aligned(names(answer.label), names(answer.prediction)) : [];
  return {
    seed, answer, pairs, confidence: confidenceOf(answer), right: answer.label && !answer.numbers ? sentence(answer.label) === sentence(answer.prediction) : null,
    error: numbers.length ? Math.max(...numbers.map((n) => Math.abs(n.value - n.true!))) : pairs.filter(([a, b]) => a !== b).length,
    name: answer.record ?? (answer.number === undefined ? `sample ${seed}` : `no. ${answer.number}`),
  };
}

export const marksOf = (answer: Answer): Motif[] => answer.motifs.filter((m) => m.maximal);
/** Every name that the label, the answer or a motif of an input has. */
export const namesOf = (e: Entry): string[] => [...new Set([...e.pairs.flat(), ...marksOf(e.answer).map((m) => m.name ?? "")].filter(Boolean))];

export const ORDERS: [string, string][] = [["", "most doubtful first"], ["error", "largest error first"], ["sure", "most confident first"], ["name", "name"], ["group", "group"]];

export function inOrder(entries: Entry[], order: string): Entry[] {
  const doubt = (a: Entry, b: Entry) => (a.confidence ?? 2) - (b.confidence ?? 2) || b.error - a.error || a.seed - b.seed;
  const compare: Record<string, (a: Entry, b: Entry) => number> = {
    error: (a, b) => b.error - a.error || (b.confidence ?? 0) - (a.confidence ?? 0) || a.seed - b.seed,
    sure: (a, b) => doubt(b, a),
    name: (a, b) => a.name.localeCompare(b.name, "en", { numeric: true }),
    group: (a, b) => (a.answer.group ?? "").localeCompare(b.answer.group ?? "", "en", { numeric: true }) || doubt(a, b),
  };
  return [...entries].sort(compare[order] ?? doubt);
}

/** Which motif (of the channel `read`, or none) marks a true symbol, or which motif is outside every true box: a cell of the confusion matrix of motifs. */
export function marksCell(e: Entry, truth: string, read: string): boolean {
  const inside = (m: Motif, [r0, r1, c0, c1]: number[]) => m.position[0] >= r0 && m.position[0] < r1 && m.position[1] >= c0 && m.position[1] < c1;
  const boxes = e.answer.truth ?? [], marks = marksOf(e.answer);
  if (truth === NO_MARK) return marks.some((m) => String(m.channel) === read && !boxes.some((t) => inside(m, t.box)));
  return boxes.filter((t) => t.symbol === truth).some((t) => (/^\d+$/.test(read) ? marks.some((m) => String(m.channel) === read && inside(m, t.box)) : !marks.some((m) => inside(m, t.box))));
}

interface Asked { entries: Entry[]; bound?: Bound | null; why?: string; busy: boolean; fault: unknown }
const CHUNK = 16; // inputs of a request: the first ones appear while the model reads the others

/** Asks the model about the first `count` test inputs. falseMarks: the expected share of false marks that are kept; 0 keeps all. Marks are rated
 * together, so then one request has all inputs. An upload has fewer test inputs if they come again before `count`. */
export function useEntries(job: string, count: number, falseMarks: number): Asked {
  const [state, setState] = useState<Asked>({ entries: [], busy: true, fault: null });
  useEffect(() => {
    const stop = new AbortController(), ask = async (from: number, to: number) => {
      const body = { inputs: Array.from({ length: to - from }, (_, i) => ({ sample: { seed: from + i } })), checkpoint: "latest", ...(falseMarks ? { false_marks: falseMarks } : {}) };
      const answer = await request(`/v1/jobs/${job}/motifs`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal: stop.signal });
      return answer.json() as Promise<Answers<Answer>>;
    };
    void (async () => {
      let entries = falseMarks ? [] : state.bound === undefined ? state.entries.slice(0, count) : [];
      const known = new Set(entries.map((e) => e.answer.number).filter((n) => n !== undefined));
      setState((s) => ({ ...s, entries: falseMarks ? s.entries : entries, busy: true, fault: null }));
      try {
        for (let from = entries.length; from < count; from += falseMarks ? count : CHUNK) {
          const answer = await ask(from, falseMarks ? count : Math.min(count, from + CHUNK));
          const fresh = answer.answers.map((a, i) => entryOf(from + i, a)).filter(({ answer: { number } }) => number === undefined || (!known.has(number) && known.add(number)));
          entries = [...entries, ...fresh];
          setState({ entries, bound: answer.bound, why: answer.why, busy: !falseMarks && from + CHUNK < count && fresh.length > 0, fault: null });
          if (fresh.length === 0) break;
        }
        setState((s) => ({ ...s, busy: false }));
      } catch (fault) {
        if (!stop.signal.aborted) setState((s) => ({ ...s, busy: false, fault }));
      }
    })();
    return () => stop.abort();
  }, [job, count, falseMarks]);
  return state;
}
