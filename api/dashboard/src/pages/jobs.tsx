// The table of jobs and studies. A study is one row that opens into its jobs. The page loads the list once and then applies the events of the daemon. Columns, sorting and filters are the user's choice.
import { useEffect, useRef, useState } from "preact/hooks";
import { get, kinds, seen, send, type Job, type Progress, type State, type Study } from "../api";
import { ago, DASH, duration, moment, number, percent, title } from "../format";
import { follow } from "../live";
import { go, href, note, route } from "../router";
import { Bar, Choice, Fault, progressText, StateMark, useLoad, VERDICTS } from "../ui/base";
import "./jobs.css";

interface List { jobs: Job[]; next_cursor: string | null }
const STATES: State[] = ["queued", "running", "paused", "succeeded", "failed", "cancelled"];

/** The current density and its position between the start and the final density, on a logarithmic scale. */
function DensityCell({ job }: { job: Job }) {
  const now = job.progress.density, start = job.config?.density_start, final = job.config?.density_final;
  if (now === null) return <>{DASH}</>;
  const share = typeof start === "number" && typeof final === "number" && start > final ? Math.log(start / now) / Math.log(start / final) : null;
  return (
    <span class="measure">
      <span>{number(now, 3)}{typeof final === "number" && <span class="muted"> / {number(final, 3)}</span>}</span>
      {share !== null && <Bar value={share} label="Progress of the density towards its target" />}
    </span>
  );
}

const verdict = (job: Job) => job.result?.verdict as string | undefined;
const seconds = (job: Job) => (job.started_at ? ((job.finished_at ? Date.parse(job.finished_at) : Date.now()) - Date.parse(job.started_at)) / 1000 : null);

interface Column { id: string; title: string; usual: boolean; num?: boolean; order: (job: Job) => number | string | null; cell: (job: Job) => preact.ComponentChildren }
const COLUMNS: Column[] = [
  { id: "state", title: "State", usual: true, order: (j) => STATES.indexOf(j.state), cell: (j) => <StateMark job={j} /> },
  { id: "verdict", title: "Verdict", usual: true, order: (j) => verdict(j) ?? null, cell: (j) => { const v = verdict(j); return v ? <span class={`verdict-word ${v}`}>{VERDICTS[v] ?? v}</span> : DASH; } },
  { id: "progress", title: "Progress", usual: true, order: (j) => j.progress.fraction, cell: (j) => (j.state === "succeeded" ? <span class="muted">took {duration(seconds(j))}</span> : <span class="measure"><span>{progressText(j)}</span><Bar value={j.progress.fraction} label="Progress" /></span>) },
  { id: "stage", title: "Stage", usual: false, order: (j) => j.progress.stage, cell: (j) => j.progress.stage ?? DASH },
  { id: "density", title: "Density / target", usual: true, num: true, order: (j) => j.progress.density, cell: (j) => <DensityCell job={j} /> },
  { id: "accuracy", title: "Accuracy / target", usual: true, num: true, order: (j) => j.progress.accuracy,
    cell: ({ progress: p }) => (p.accuracy === null ? DASH : <span>{percent(p.accuracy)}{p.target_accuracy !== null && <span class="muted"> / {percent(p.target_accuracy)}</span>}</span>) },
  { id: "speed", title: "Samples/s", usual: false, num: true, order: (j) => j.progress.samples_per_second, cell: (j) => number(j.progress.samples_per_second) },
  { id: "kind", title: "Kind", usual: false, order: (j) => j.kind, cell: (j) => j.kind },
  { id: "preset", title: "Preset", usual: false, order: (j) => j.preset, cell: (j) => j.preset ?? DASH },
  { id: "tags", title: "Tags", usual: true, order: (j) => (j.tags ?? []).join(" ") || null, cell: (j) => (j.tags ?? []).map((tag) => <button key={tag} type="button" class="tag" onClick={() => note({ tag })}>{tag}</button>) },
  { id: "owner", title: "Owner", usual: true, order: (j) => j.owner, cell: (j) => j.owner ?? DASH },
  { id: "duration", title: "Duration", usual: false, num: true, order: seconds, cell: (j) => duration(seconds(j)) },
  { id: "created", title: "Created", usual: true, num: true, order: (j) => j.created_at, cell: (j) => <time dateTime={j.created_at} title={moment(j.created_at)}>{ago(j.created_at)}</time> },
];
const STORE = "motifd-columns";
const storedColumns = (): string[] | null => { try { return JSON.parse(localStorage.getItem(STORE) ?? "null") as string[] | null; } catch { return null; } };

/** Sorts jobs by a column; jobs without a value come last in both directions. */
export function sorted(jobs: Job[], by: string): Job[] {
  const down = by.startsWith("-"), name = by.replace(/^-/, ""), order = name === "name" ? title : COLUMNS.find((c) => c.id === name)?.order;
  if (!order) return jobs;
  return [...jobs].sort((a, b) => {
    const x = order(a), y = order(b);
    if (x === null || y === null) return x === y ? 0 : x === null ? 1 : -1;
    return (typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y))) * (down ? -1 : 1);
  });
}

function Row({ job, columns, picked, pick }: { job: Job; columns: Column[]; picked: boolean; pick: () => void }) {
  return (
    <tr class={job.study ? "member" : undefined}>
      <td class="pick"><input type="checkbox" checked={picked} onChange={pick} aria-label={`Select ${title(job)}, ${job.id.slice(-6)}`} /></td>
      <th scope="row" data-label="Job"><a href={href(`jobs/${job.id}`)}>{title(job)}</a>
        <span class="sub">{job.task === "evaluate" ? "evaluation · " : ""}{job.kind}{job.preset && job.name ? ` · ${job.preset}` : ""} · <code>{job.id.slice(-6)}</code></span></th>
      {columns.map((c) => <td key={c.id} class={`${c.num ? "num" : ""}${c.order(job) === null ? " none" : ""}`} data-label={c.title}>{c.cell(job)}</td>)}
    </tr>
  );
}

/** The cell of a study in a column of the table; most columns apply to single jobs only. */
function studyCell(study: Study, column: string): preact.ComponentChildren {
  if (column === "state") return <StateMark job={{ state: study.state, requested_state: null }} />;
  if (column === "progress") return <span class="measure"><span>{study.states.succeeded} of {study.count} done</span><Bar value={study.fraction} label="Progress" /></span>;
  if (column === "created") return <time dateTime={study.created_at} title={moment(study.created_at)}>{ago(study.created_at)}</time>;
  return column === "kind" || column === "preset" || column === "owner" ? study[column] ?? DASH : DASH;
}

/** The row of a study, and the rows of its jobs while it is open. */
function StudyRows({ study, columns, picked, pick, show }: { study: Study; columns: Column[]; picked: string[]; pick: (id: string) => void; show: (jobs: Job[]) => void }) {
  const [open, setOpen] = useState(false);
  const whole = useLoad(open ? `${study.id} ${study.fraction} ${JSON.stringify(study.states)}` : null, (signal) => get<{ jobs: Job[] }>(`/v1/studies/${study.id}`, signal).then(({ jobs }) => { show(jobs); return jobs; }));
  return (
    <>
      <tr class="study">
        <td class="pick"><button type="button" class="plain fold" aria-expanded={open} aria-label={`Jobs of ${title(study)}, ${study.id.slice(-6)}`} onClick={() => setOpen(!open)}>{open ? "▾" : "▸"}</button></td>
        <th scope="row" data-label="Job"><a href={href(`studies/${study.id}`)}>{title(study)}</a>
          <span class="sub">study of {study.count} jobs · {study.kind}{Object.keys(study.grid).length > 0 && ` · ${Object.keys(study.grid).join(", ")}`} · <code>{study.id.slice(-6)}</code></span></th>
        {columns.map((c) => <td key={c.id} class={c.num ? "num" : ""} data-label={c.title}>{studyCell(study, c.id)}</td>)}
      </tr>
      {open && whole.data?.map((job) => <Row key={job.id} job={job} columns={columns} picked={picked.includes(job.id)} pick={() => pick(job.id)} />)}
    </>
  );
}

/** Loads the studies; null: none. Loads them again every two seconds while one has unfinished jobs. */
function useStudies(query: string | null) {
  const loaded = useLoad(query, (signal) => get<{ studies: Study[] }>(`/v1/studies?limit=50${query}`, signal).then((page) => page.studies));
  const busy = query !== null && (loaded.data ?? []).some((s) => s.finished_at === null);
  useEffect(() => {
    if (!busy) return undefined;
    const timer = setInterval(loaded.reload, 2000);
    return () => clearInterval(timer);
  }, [busy, query]);
  return { studies: query === null ? [] : loaded.data ?? [], reload: loaded.reload, fault: query === null ? null : loaded.fault };
}

/** Loads the list and applies events to its jobs. Calls `changed` when a job has another state. */
function useJobs(query: string, changed: () => void) {
  const [list, setList] = useState<List | null>(null);
  const [fault, setFault] = useState<unknown>(null);
  const notify = useRef(changed);
  notify.current = changed;
  const waiting = useRef(new Map<string, Partial<Job>>()), timer = useRef(0), latestLoad = useRef(0);

  const load = (cursor?: string) => {
    const turn = ++latestLoad.current;
    return get<List>(`/v1/jobs?limit=50&fields=config${query}${cursor ? `&cursor=${cursor}` : ""}`).then(
      (page) => {
        if (turn !== latestLoad.current) return;
        setFault(null);
        for (const job of page.jobs) seen.set(job.id, job);
        setList((old) => (cursor && old ? { jobs: [...old.jobs, ...page.jobs], next_cursor: page.next_cursor } : page));
      },
      (e) => { if (turn === latestLoad.current) setFault(e); },
    );
  };

  /** Applies the waiting events together: events arrive in bursts, and the table is drawn at most four times a second. */
  const settle = () => {
    timer.current = 0;
    const changes = new Map(waiting.current);
    waiting.current.clear();
    setList((old) => {
      if (!old) return old;
      const known = new Set(old.jobs.map((j) => j.id));
      // a job that ends gets a result and other links, which the events do not contain; an unknown job may belong to a study
      if ([...changes].some(([id, change]) => change.state || (!known.has(id) && !query.includes("study=none")))) {
        void load();
        notify.current();
      }
      return { ...old, jobs: old.jobs.map((job) => (changes.has(job.id) ? { ...job, ...changes.get(job.id) } : job)) };
    });
  };

  useEffect(() => {
    void load();
    const stop = follow("/v1/events", {
      open: () => void load(),
      event: ({ type, data }) => {
        const id = String(data.job);
        if (type !== "state" && type !== "progress") return;
        const change = type === "state" ? { state: data.state as State, requested_state: null } : { progress: data.progress as Progress };
        waiting.current.set(id, { ...waiting.current.get(id), ...change });
        timer.current ||= window.setTimeout(settle, 250);
      },
    });
    return () => {
      stop();
      clearTimeout(timer.current);
      timer.current = 0; // a timer that was cleared must not stop the next one
      waiting.current.clear();
      latestLoad.current++;
    };
  }, [query]);
  return { list, fault, load };
}

interface Action { id: string; text: string; ask?: string; can: (job: Job) => boolean; run: (job: Job) => Promise<unknown> }
const post = (verb: string) => (job: Job) => send("POST", `/v1/jobs/${job.id}/${verb}`);
const ACTIONS: Action[] = [
  { id: "pause", text: "Pause", can: (j) => Boolean(j.links.pause), run: post("pause") },
  { id: "resume", text: "Resume", can: (j) => Boolean(j.links.resume), run: post("resume") },
  { id: "cancel", text: "Cancel", ask: "A cancelled job cannot be resumed.", can: (j) => Boolean(j.links.cancel), run: post("cancel") },
  { id: "delete", text: "Delete", ask: "Checkpoints and files are deleted too.", can: (j) => ["succeeded", "failed", "cancelled"].includes(j.state), run: (job) => send("DELETE", `/v1/jobs/${job.id}`) },
];
const plural = (n: number) => `${n} ${n === 1 ? "job" : "jobs"}`;

/** What the user can do with the selected jobs. An action applies to those whose state allows it. */
function Selection({ jobs, done, clear }: { jobs: Job[]; done: () => void; clear: () => void }) {
  const [asked, setAsked] = useState<Action | null>(null), [faults, setFaults] = useState<[Job, unknown][]>([]), [tag, setTag] = useState("");
  const act = async (action: Pick<Action, "can" | "run">) => {
    setAsked(null);
    const bad: [Job, unknown][] = [];
    for (const job of jobs.filter(action.can)) await action.run(job).catch((fault) => bad.push([job, fault]));
    setFaults(bad);
    done();
  };
  const able = (action: Action) => jobs.filter(action.can).length;
  const addTag = (e: Event) => {
    e.preventDefault();
    const word = tag.trim();
    if (word) void act({ can: (j) => !j.tags?.includes(word), run: (j) => send("PATCH", `/v1/jobs/${j.id}`, { tags: [...(j.tags ?? []), word] }) }).then(() => setTag(""));
  };
  return (
    <section class="selection" aria-label="Selected jobs">
      {asked ? <div class="tools" role="group" aria-label="Confirm"><span class="ask">{asked.text} {plural(able(asked))}? {asked.ask}</span>
        <button type="button" class="danger" onClick={() => void act(asked)}>{asked.text} {plural(able(asked))}</button><button type="button" onClick={() => setAsked(null)}>Keep {able(asked) === 1 ? "it" : "them"}</button></div>
        : <div class="tools"><strong>{plural(jobs.length)} selected</strong>
          <button type="button" disabled={jobs.length < 2} onClick={() => go("compare", { jobs: jobs.map((j) => j.id).join(",") })}>Compare</button>
          {ACTIONS.map((a) => <button key={a.id} type="button" disabled={able(a) === 0} onClick={() => (a.ask ? setAsked(a) : void act(a))}>{a.text}{able(a) > 0 && able(a) < jobs.length ? ` ${able(a)}` : ""}</button>)}
          {jobs.some((j) => j.tags) && <form class="tools" onSubmit={addTag}><input aria-label="New tag" placeholder="Tag" maxLength={63} value={tag} onInput={(e) => setTag((e.currentTarget as HTMLInputElement).value)} /><button>Add tag</button></form>}
          <button type="button" class="plain" onClick={clear}>Select none</button></div>}
      {faults.map(([job, fault]) => <div key={job.id}><strong>{title(job)}</strong><Fault fault={fault} /></div>)}
    </section>
  );
}

function ColumnChoice({ shown, set, columns }: { shown: string[]; set: (ids: string[]) => void; columns: Column[] }) {
  return (
    <details class="menu"><summary class="button">Columns</summary>
      <div class="menu-list" role="group" aria-label="Columns">{columns.map((c) => (
        <label key={c.id} class="check"><input type="checkbox" checked={shown.includes(c.id)} onChange={() => set(shown.includes(c.id) ? shown.filter((id) => id !== c.id) : [...shown, c.id])} />{c.title}</label>
      ))}</div>
    </details>
  );
}

/** Without another order, studies are between the jobs by their age; else they come first. */
function inOrder(jobs: Job[], studies: Study[], by: string): (Job | Study)[] {
  return by ? [...studies, ...jobs] : [...studies, ...jobs].sort((a, b) => (a.id < b.id ? 1 : -1));
}

export function JobsPage() {
  const q = route.value.query, state = q.get("state") ?? "", kind = q.get("kind") ?? "", words = q.get("q") ?? "", owner = q.get("owner") ?? "", tag = q.get("tag") ?? "", by = q.get("sort") ?? "";
  const encoded = (values: Record<string, string>) => Object.entries(values).map(([name, value]) => value && `&${name}=${encodeURIComponent(value)}`).join("");
  const single = Boolean(state || tag); // studies have no single state and no tags: these filters show their jobs instead
  const groups = useStudies(single ? null : encoded({ kind, owner }));
  const { list, fault, load } = useJobs(encoded({ state, kind, owner, tag, study: single ? "" : "none" }), groups.reload);
  const [members, setMembers] = useState<Job[]>([]); // jobs of studies that are open
  const [picked, setPicked] = useState<string[]>([]), [own, setOwn] = useState<string[] | null>(storedColumns);
  useEffect(() => { document.title = "Jobs · motifd"; }, []);
  const known = useLoad("kinds", () => kinds());
  const names = known.data?.map((k) => k.kind) ?? (kind ? [kind] : []), jobs = list?.jobs ?? [];
  const met = [...seen.values()], owners = [...new Set([...met.map((j) => j.owner ?? ""), owner])].filter(Boolean), tags = [...new Set([...met.flatMap((j) => j.tags ?? []), tag])].filter(Boolean);
  const matches = (j: Job | Study) => `${title(j)} ${j.kind} ${j.preset} ${j.id}`.toLowerCase().includes(words.toLowerCase());
  const shown = sorted(jobs.filter(matches), by), studies = groups.studies.filter(matches);
  // columns of which no job has a value are left out, unless the user chose them
  const ids = own ?? COLUMNS.filter((c) => c.usual && (c.id === "state" || jobs.some((j) => c.order(j) !== null) || (studies.length > 0 && ["progress", "created"].includes(c.id)))).map((c) => c.id), columns = COLUMNS.filter((c) => ids.includes(c.id));
  const setColumns = (next: string[]) => { setOwn(next); try { localStorage.setItem(STORE, JSON.stringify(next)); } catch { /* without storage, the choice lasts until the page is closed */ } };
  const show = (opened: Job[]) => setMembers((old) => [...old.filter((j) => !opened.some((o) => o.id === j.id)), ...opened]);
  const pick = (id: string) => setPicked((now) => (now.includes(id) ? now.filter((other) => other !== id) : [...now, id]));
  const selected = [...jobs, ...members].filter((j) => picked.includes(j.id)), every = shown.length > 0 && shown.every((j) => picked.includes(j.id));
  const head = (id: string, text: string, num?: boolean) => {
    const now = by === id ? "ascending" : by === `-${id}` ? "descending" : undefined;
    return <th key={id} scope="col" class={num ? "num" : ""} aria-sort={now}><button type="button" class="sort" onClick={() => note({ sort: now === "descending" ? id : now ? null : `-${id}` })}>{text}<span aria-hidden="true">{now === "ascending" ? " ↑" : now ? " ↓" : ""}</span></button></th>;
  };
  return (
    <>
      <div class="page-head">
        <h1>Jobs</h1>
        <div class="tools">
          <input type="search" placeholder="Filter by name" aria-label="Filter by name" value={words} onInput={(e) => note({ q: (e.currentTarget as HTMLInputElement).value || null })} />
          <Choice label="State" value={state} options={[["", "all"], ...STATES.map((s) => [s, s] as [string, string])]} onChange={(v) => note({ state: v || null })} />
          <Choice label="Kind" value={kind} options={[["", "all"], ...names.map((k) => [k, k] as [string, string])]} onChange={(v) => note({ kind: v || null })} />
          {owners.length > 0 && <Choice label="Owner" value={owner} options={[["", "all"], ...owners.map((o) => [o, o] as [string, string])]} onChange={(v) => note({ owner: v || null })} />}
          {tags.length > 0 && <Choice label="Tag" value={tag} options={[["", "all"], ...tags.map((t) => [t, t] as [string, string])]} onChange={(v) => note({ tag: v || null })} />}
          <ColumnChoice shown={ids} set={setColumns} columns={COLUMNS} />
          <a class="button primary" href={href("new")}>New job</a>
        </div>
      </div>
      <Fault fault={fault ?? groups.fault} />
      {selected.length > 0 && <Selection jobs={selected} done={() => { void load(); groups.reload(); }} clear={() => setPicked([])} />}
      {list && shown.length + studies.length === 0 && <p class="empty">{jobs.length || state || kind || owner || tag ? "No job passes these filters." : <>No jobs yet. <a href={href("new")}>Submit a first job</a>.</>}</p>}
      {shown.length + studies.length > 0 && (
        <div class="scroll wide" tabIndex={0} role="region" aria-label="Jobs">
          <table class="jobs">
            <caption class="hidden">{by ? "Jobs" : "Jobs, newest first"}</caption>
            <thead><tr><th scope="col" class="pick"><input type="checkbox" aria-label="Select all jobs" checked={every} onChange={() => setPicked(every ? [] : shown.map((j) => j.id))} /></th>
              {head("name", "Job")}{columns.map((c) => head(c.id, c.title, c.num))}</tr></thead>
            <tbody>
              {inOrder(shown, studies, by).map((item) => ("states" in item
                ? <StudyRows key={item.id} study={item} columns={columns} picked={picked} pick={pick} show={show} />
                : <Row key={item.id} job={item} columns={columns} picked={picked.includes(item.id)} pick={() => pick(item.id)} />))}
            </tbody>
          </table>
        </div>
      )}
      {list?.next_cursor && <p><button type="button" onClick={() => void load(list.next_cursor!)}>Load earlier jobs</button>{(words || by) && <span class="muted"> The name filter and the order apply to the {jobs.length} jobs loaded so far.</span>}</p>}
    </>
  );
}
