// Small components that all pages use.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Problem, type Job, type State } from "../api";
import { duration, percent } from "../format";

export type Children = ComponentChildren;

const GLYPHS: Record<State, string> = { queued: "○", running: "◐", paused: "‖", succeeded: "●", failed: "✕", cancelled: "⊘" };

export function StateMark({ job }: { job: Pick<Job, "state" | "requested_state"> & Partial<Pick<Job, "blocked">> }) {
  return (
    <span class={`state ${job.state}`}>
      <span class="glyph" aria-hidden="true">{GLYPHS[job.state]}</span> {job.state}
      {job.requested_state && <span class="muted"> · {job.requested_state} requested</span>}
      {job.blocked && <span class="muted"> · blocked: {job.blocked}</span>}
    </span>
  );
}

/** The verdicts of finished jobs in words. */
export const VERDICTS: Record<string, string> = { learned: "Learned", partly: "Learned in part", "not-learned": "Not learned" };

export function Bar({ value, label }: { value: number | null; label: string }) {
  const share = Math.max(0, Math.min(1, value ?? 0));
  return <progress class="bar" max={1} value={share} aria-label={label}>{percent(share)}</progress>;
}

/** The progress of a job: "62 %, 40 s left"; the share alone when the job does not run. */
export function progressText(job: Job): string {
  const p = job.progress, share = `${Math.floor((p.fraction ?? 0) * 100)} %`;
  if (job.state === "running") return p.eta_seconds !== null ? `${share}, ${duration(p.eta_seconds)} left` : share;
  return job.state === "paused" ? `${share}, paused` : share;
}

export function Section({ title, children, aside }: { title: string; children: Children; aside?: Children }) {
  return (
    <section class="card">
      <header class="card-head"><h2>{title}</h2>{aside}</header>
      {children}
    </section>
  );
}

export function Fault({ fault }: { fault: unknown }) {
  if (!fault) return null;
  const problem = fault instanceof Problem ? fault : null;
  return (
    <div class="fault" role="alert">
      <strong>{problem ? problem.title : "Error in this page"}</strong> {!problem?.faults.length && (fault as Error).message /* else it repeats the first of them */}
      {problem?.faults.map((f) => { const at = f.pointer ?? f.parameter; return <div key={at}>{at && <code>{at}</code>} {f.detail}</div>; })}
    </div>
  );
}

/** A table. The first `words` columns contain text, the others numbers, which are aligned to the right. stack: in a narrow window, the cells of a row
 * stand below each other, each beside the title of its column. */
export function Table({ caption, head, rows, words = 1, stack }: { caption: string; head: Children[]; rows: Children[][]; words?: number; stack?: boolean }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={caption}>
      <table class={stack ? "stack" : undefined}>
        <caption class="hidden">{caption}</caption>
        <thead><tr>{head.map((cell, i) => (cell === "" ? <td key={i} /> : <th key={i} scope="col" class={i < words ? "" : "num"}>{cell}</th>))}</tr></thead>
        <tbody>
          {rows.map((row, r) => <tr key={r}>{row.map((cell, i) => <td key={i} class={i < words ? "" : "num"} data-label={stack ? head[i] as string : undefined}>{cell}</td>)}</tr>)}
        </tbody>
      </table>
    </div>
  );
}

/** The data of a picture as a folded table; `make` is called when the user opens it. */
export function DataTable({ caption, make, summary = "Data" }: { caption: string; summary?: string; make: () => { head: Children[]; rows: Children[][] } }) {
  const [open, setOpen] = useState(false);
  const data = open ? make() : null;
  return (
    <details class="data" onToggle={(e) => setOpen((e.currentTarget as HTMLDetailsElement).open)}>
      <summary>{summary}<span class="hidden"> of {caption}</span></summary>
      {data && <Table caption={caption} head={data.head} rows={data.rows} words={0} />}
    </details>
  );
}

export function Facts({ items }: { items: [string, Children][] }) {
  return <dl class="facts">{items.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>;
}

export interface Loaded<T> { data: T | null; fault: unknown; busy: boolean; reload: () => void }

/** Loads data whenever `key` changes (null: does not load). Drops answers to earlier keys, and keeps the last data until the next arrive. */
export function useLoad<T>(key: string | null, load: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const [state, setState] = useState<{ data: T | null; fault: unknown; busy: boolean }>({ data: null, fault: null, busy: key !== null });
  const [turn, setTurn] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  useLayoutEffect(() => { // starts the request before the browser paints
    if (key === null) return undefined;
    const stop = new AbortController();
    setState((s) => ({ ...s, busy: true }));
    latest.current(stop.signal).then(
      (data) => { if (!stop.signal.aborted) setState({ data, fault: null, busy: false }); },
      (fault) => { if (!stop.signal.aborted) setState((s) => ({ data: s.data, fault, busy: false })); },
    );
    return () => stop.abort();
  }, [key, turn]);
  return { ...state, reload: () => setTurn((t) => t + 1) };
}

export function Choice({ label, value, options, onChange }: {
  label: string; value: string; options: [string, string][]; onChange: (value: string) => void;
}) {
  return (
    <label class="choice"><span>{label}</span>
      <select value={value} onChange={(e) => onChange((e.currentTarget as HTMLSelectElement).value)}>
        {options.map(([id, text]) => <option key={id} value={id}>{text}</option>)}
      </select>
    </label>
  );
}
