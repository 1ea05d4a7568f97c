// Two jobs input by input: which of them reads an input right, and where their answers differ.
import { useState } from "preact/hooks";
import type { Job } from "../../api";
import { number, percent, title } from "../../format";
import { Choice, Fault, Section, Table } from "../../ui/base";
import { channelNames } from "../../ui/channel";
import { Legend, Reading, sentence } from "../motifs/input_picture";
import { InputShown } from "./card";
import { useEntries, type Entry } from "./entries";
import "../motifs.css";
import "../answer.css";

const STEP = 48, MOST = 12; // inputs that the models read at first; inputs that are shown at first

/** The same input in both jobs: the same record of the upload, or else the same number of a sample with the same label. */
function matched(first: Entry[], second: Entry[]): [Entry, Entry][] {
  const key = (e: Entry) => `${e.answer.number ?? `seed ${e.seed}`} ${sentence(e.answer.label)} ${e.answer.shape.slice(0, 2).join()}`, others = new Map(second.map((e) => [key(e), e]));
  return first.flatMap((e) => { const other = others.get(key(e)); return other ? [[e, other] as [Entry, Entry]] : []; });
}

const GROUPS: [string, (a: Entry, b: Entry) => boolean][] = [
  ["the answers differ", (a, b) => sentence(a.answer.prediction) !== sentence(b.answer.prediction)], ["only the first is right", (a, b) => a.right === true && b.right === false],
  ["only the second is right", (a, b) => a.right === false && b.right === true], ["both are wrong", (a, b) => a.right === false && b.right === false], ["both are right", (a, b) => a.right === true && b.right === true]];

function Side({ job, entry }: { job: Job; entry: Entry }) {
  const nameOf = channelNames(job.result?.channels);
  return (
    <figure><InputShown answer={entry.answer} nameOf={nameOf} label={`${entry.name} read by ${title(job)}`} />
      <figcaption><Reading side={{ ...entry.answer, tokens: undefined }} label={entry.answer.label} title={`${title(job)} (${job.id.slice(-4)}):`} />{entry.confidence !== null && <span class="muted">confidence {percent(entry.confidence)}</span>}</figcaption></figure>
  );
}

export function Beside({ jobs }: { jobs: Job[] }) {
  const [pair, setPair] = useState<[string, string]>([jobs[0].id, jobs[1].id]), [group, setGroup] = useState("0"), [count, setCount] = useState(STEP), [most, setMost] = useState(MOST);
  const names = jobs.map((j) => [j.id, `${title(j)} (${j.id.slice(-4)})`] as [string, string]), [one, two] = pair.map((id) => jobs.find((j) => j.id === id)!);
  const first = useEntries(pair[0], count, 0), second = useEntries(pair[1], count, 0), both = matched(first.entries, second.entries), busy = first.busy || second.busy;
  const doubt = ([a, b]: [Entry, Entry]) => Math.min(a.confidence ?? 1, b.confidence ?? 1), chosen = both.filter(([a, b]) => GROUPS[Number(group)][1](a, b)).sort((x, y) => doubt(x) - doubt(y));
  const has = (right: boolean, other: boolean) => number(both.filter(([a, b]) => a.right === right && b.right === other).length);
  return (
    <Section title="Input by input" aside={<div class="tools"><Choice label="First" value={pair[0]} options={names} onChange={(v) => setPair([v, pair[1]])} /><Choice label="Second" value={pair[1]} options={names} onChange={(v) => setPair([pair[0], v])} /><Choice label="Show" value={group} options={GROUPS.map(([text, fits], i) => [String(i), `${text} (${both.filter(([a, b]) => fits(a, b)).length})`])} onChange={(v) => { setGroup(v); setMost(MOST); }} /></div>}>
      <Fault fault={first.fault ?? second.fault} />
      <p class="muted" role="status">{busy ? "The models read test inputs…" : both.length ? <>Both jobs have read {number(both.length)} test inputs.</> : <>The jobs have no test input in common among the first {number(count)} of each.</>}</p>
      {both.some(([a]) => a.right !== null) && <Table caption="How many inputs each job reads right" head={["", "second right", "second wrong"]} rows={[["first right", has(true, true), has(true, false)], ["first wrong", has(false, true), has(false, false)]]} />}
      {chosen.length > 0 && <Legend truth={chosen.some(([a]) => (a.answer.truth ?? []).length > 0)} />}
      <ul class="beside" aria-label="Inputs of both jobs">{chosen.slice(0, most).map(([a, b]) => <li key={a.seed}><h3>{a.name}</h3><div class="sides"><Side job={one} entry={a} /><Side job={two} entry={b} /></div></li>)}</ul>
      <div class="tools">
        {chosen.length > most && <button type="button" onClick={() => setMost(most + MOST)}>Show {Math.min(MOST, chosen.length - most)} more</button>}
        {!busy && first.entries.length >= count && <button type="button" onClick={() => setCount(count + STEP)}>Read {STEP} more inputs</button>}
      </div>
    </Section>
  );
}
