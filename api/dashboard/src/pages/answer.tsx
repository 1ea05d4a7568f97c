// The answer of a finished job: test inputs with the extents of their motifs, the most doubtful first, and the channels beside them.
import { useMemo, useState } from "preact/hooks";
import type { Job, Kind } from "../api";
import { number, percent } from "../format";
import { note, route } from "../router";
import { Choice, Fault, Section, useLoad } from "../ui/base";
import { channelNames } from "../ui/channel";
import { Save } from "../ui/save";
import { cellStyle, theme } from "../ui/theme";
import { kinds } from "../api";
import { InputCard } from "./answer/card";
import { inOrder, marksCell, namesOf, NOTHING, ORDERS, useEntries, type Entry } from "./answer/entries";
import { Gallery } from "./motifs/gallery";
import { Legend } from "./motifs/input_picture";
import type { Bound } from "./motifs/types";
import "./motifs.css";
import "./answer.css";

const STEP = 48; // inputs that the model reads before the user asks for more
const PAGE = 24; // cards that are shown at first
const KEPT: [string, string][] = [["", "all"], ["0.01", "1 % false"], ["0.05", "5 % false"], ["0.1", "10 % false"], ["0.2", "20 % false"]];

/** The inputs that the user has pinned to the report, stored in this browser. */
function usePins(job: string): [number[], (seed: number) => void] {
  const key = `motifd-pins-${job}`, read = () => { try { return (JSON.parse(localStorage.getItem(key) ?? "[]") as unknown[]).filter((n): n is number => Number.isInteger(n)); } catch { return []; } };
  const [pins, setPins] = useState<number[]>(read);
  return [pins, (seed) => {
    const next = pins.includes(seed) ? pins.filter((s) => s !== seed) : [...pins, seed];
    setPins(next);
    try { localStorage.setItem(key, JSON.stringify(next)); } catch { /* without storage, the pins last until the page is closed */ }
  }];
}

/** What is known about the false ones among the marks that are kept. */
function BoundText({ bound, why, inputs, share }: { bound: Bound | null | undefined; why?: string; inputs: number; share: number }) {
  return (
    <p role="status" class="bound">
      {bound ? <>Of these <b>{number(bound.marks)}</b> marks, at most <b>{number(bound.false_at_most)}</b> are false ({percent(bound.confidence)}). Kept: marks of {number(inputs)} inputs of which {percent(share)} are expected to be false.</>
        : <>There is no bound: {why ?? "the daemon gives no reason"}.</>}
      {bound && why && <span class="muted"> Left out: {why}.</span>}
    </p>
  );
}

/** How often each true name is read as each name. A cell selects its inputs. */
function Confused({ entries, cell }: { entries: Entry[]; cell: string }) {
  void theme.value; // draws again when the theme changes
  const counts = new Map<string, number>(), rows = new Set<string>(), cols = new Set<string>();
  for (const [truth, read] of entries.flatMap((e) => e.pairs)) {
    const key = `${truth || NOTHING}>${read || NOTHING}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
    rows.add(truth || NOTHING);
    cols.add(read || NOTHING);
  }
  const order = (set: Set<string>) => [...set].sort((a, b) => Number(a === NOTHING) - Number(b === NOTHING) || a.localeCompare(b, "en", { numeric: true }));
  const most = Math.max(1, ...counts.values());
  if (!rows.size) return null;
  return (
    <Section title="What is read as what" aside={cell ? <button type="button" class="small" onClick={() => note({ cell: null })}>All inputs</button> : undefined}>
      <p class="muted">True names (rows) and the names that the model reads (columns) in {number(entries.length)} inputs. Select a number to see its inputs.</p>
      <div class="scroll" tabIndex={0} role="region" aria-label="What is read as what">
        <table class="matrix">
          <caption class="hidden">What is read as what</caption>
          <thead><tr><td />{order(cols).map((c) => <th key={c} scope="col">{c}</th>)}</tr></thead>
          <tbody>{order(rows).map((r) => (
            <tr key={r}><th scope="row">{r}</th>{order(cols).map((c) => {
              const key = `${r}>${c}`, count = counts.get(key) ?? 0;
              return <td key={c} style={cellStyle(Math.sqrt(count / most))}>{count > 0 ? <button type="button" class="cell" aria-pressed={cell === key} aria-label={`${count}: ${r} read as ${c}`} onClick={() => note({ cell: cell === key ? null : key })}>{count}</button> : "·"}</td>;
            })}</tr>
          ))}</tbody>
        </table>
      </div>
    </Section>
  );
}

/** The filters of the address. */
function passes(e: Entry, q: URLSearchParams, pins: number[]): boolean {
  const show = q.get("show"), name = q.get("name"), group = q.get("group"), [truth, read] = (q.get("cell") ?? "").split(">"), [box, channel] = (q.get("marks") ?? "").split(">");
  const of = (text: string) => (text === NOTHING ? "" : text);
  return (!show || (show === "pinned" ? pins.includes(e.seed) : e.right === (show === "right"))) && (!name || namesOf(e).includes(name)) && (!group || e.answer.group === group)
    && (!read || e.pairs.some(([a, b]) => a === of(truth) && b === of(read))) && (!channel || marksCell(e, box, channel));
}

export function AnswerView({ job, kind }: { job: Job; kind: Kind | undefined }) {
  const q = route.value.query, keep = q.get("keep") ?? "", order = q.get("order") ?? "", cell = q.get("cell") ?? "", nameOf = useMemo(() => channelNames(job.result?.channels), [job.result]);
  const [count, setCount] = useState(STEP), [most, setMost] = useState(PAGE), [pins, pin] = usePins(job.id);
  const known = useLoad(kind ? null : "kinds", () => kinds());
  const { entries, bound, why, busy, fault } = useEntries(job.id, count, KEPT.some(([v]) => v === keep) ? Number(keep) : 0);
  const names = [...new Set(entries.flatMap(namesOf))].sort(), groups = [...new Set(entries.map((e) => e.answer.group ?? "").filter(Boolean))].sort();
  const shown = inOrder(entries.filter((e) => passes(e, q, pins)), order), judged = entries.filter((e) => e.right !== null), right = judged.filter((e) => e.right).length;
  const filtered = ["show", "name", "group", "cell", "marks"].some((name) => q.has(name)), ended = entries.length < count && !busy;
  const choice = (label: string, name: string, value: string, options: [string, string][]) => <Choice label={label} value={value} options={options} onChange={(v) => note({ [name]: v || null })} />;
  return (
    <div class="answer">
      <div class="answer-main">
        <div class="tools bar-tools">
          {choice("Order", "order", order, ORDERS.filter(([v]) => v !== "group" || groups.length > 0))}
          {choice("Show", "show", q.get("show") ?? "", [["", "all"], ["wrong", "wrong"], ["right", "right"], ["pinned", `pinned (${pins.length})`]])}
          {names.length > 1 && choice("Name", "name", q.get("name") ?? "", [["", "any"], ...names.map((n) => [n, n] as [string, string])])}
          {groups.length > 0 && choice("Group", "group", q.get("group") ?? "", [["", "any"], ...groups.map((g) => [g, g] as [string, string])])}
          {choice("Keep marks", "keep", keep, KEPT)}
          <Save path={`/v1/jobs/${job.id}/report${pins.length ? `?inputs=${pins.join()}` : ""}`} name={`${job.id}.html`} text={pins.length ? `Report with ${number(pins.length)} pinned` : "Report"} of="as one HTML file" />
        </div>
        {keep && bound !== undefined && <BoundText bound={bound} why={why} inputs={entries.length} share={Number(keep)} />}
        <Fault fault={fault} />
        <p class="muted" role="status">{entries.length === 0 && busy ? "The model reads test inputs…" : <>{number(entries.length)} test inputs{judged.length > 0 && `, ${number(right)} right and ${number(judged.length - right)} wrong`}{filtered && `; ${number(shown.length)} of them shown`}{busy && ", more are read…"}. {filtered && <button type="button" class="small" onClick={() => note({ show: null, name: null, group: null, cell: null, marks: null })}>Show all</button>}</>}</p>
        {entries.some((e) => e.answer.motifs.some((m) => m.extent)) && <Legend truth={entries.some((e) => (e.answer.truth ?? []).length > 0)} />}
        <ul class="gallery inputs" aria-label="Test inputs">{shown.slice(0, most).map((e) => <InputCard key={e.seed} entry={e} jobId={job.id} nameOf={nameOf} pinned={pins.includes(e.seed)} pin={() => pin(e.seed)} />)}</ul>
        {entries.length > 0 && shown.length === 0 && <p class="empty">None of the {number(entries.length)} inputs that were read passes these filters.</p>}
        <div class="tools">
          {shown.length > most && <button type="button" onClick={() => setMost(most + PAGE)}>Show {Math.min(PAGE, shown.length - most)} more</button>}
          {!ended && !busy && <button type="button" onClick={() => setCount(count + STEP)}>Read {STEP} more inputs</button>}
        </div>
        <Confused entries={entries} cell={cell} />
      </div>
      <aside class="answer-channels" aria-label="Channels"><h2>Channels</h2><Gallery jobId={job.id} kind={kind ?? known.data?.find((k) => k.kind === job.kind)} checkpoint="latest" nameOf={nameOf} /></aside>
    </div>
  );
}
