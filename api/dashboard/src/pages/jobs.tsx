// The table of jobs. The page loads the list once and then applies the events of the daemon.
import { useEffect, useRef, useState } from "preact/hooks";
import { get, kinds, seen, type Job, type Progress, type State } from "../api";
import { ago, DASH, moment, number, percent, title } from "../format";
import { follow } from "../live";
import { go, href, note, route } from "../router";
import { Bar, Choice, Fault, progressText, StateMark, useLoad } from "../ui/base";

interface List { jobs: Job[]; next_cursor: string | null }
const STATES: State[] = ["queued", "running", "paused", "succeeded", "failed", "cancelled"];

/** The current density and its position between the start and the final density, on a logarithmic scale. */
function DensityCell({ job }: { job: Job }) {
  const now = job.progress.density, start = job.config.density_start, final = job.config.density_final;
  if (now === null) return <>{DASH}</>;
  const share = typeof start === "number" && typeof final === "number" && start > final ? Math.log(start / now) / Math.log(start / final) : null;
  return (
    <span class="measure">
      <span>{number(now, 3)}{typeof final === "number" && <span class="muted"> / {number(final, 3)}</span>}</span>
      {share !== null && <Bar value={share} label="Progress of the density towards its target" />}
    </span>
  );
}

function Row({ job, picked, pick }: { job: Job; picked: boolean; pick: () => void }) {
  const p = job.progress;
  return (
    <tr>
      <td class="pick"><input type="checkbox" checked={picked} onChange={pick} aria-label={`Compare ${title(job)}, ${job.id.slice(-6)}`} /></td>
      <th scope="row" data-label="Job"><a href={href(`jobs/${job.id}`)}>{title(job)}</a>
        <span class="sub">{job.task === "evaluate" ? "evaluation · " : ""}{job.kind}{job.preset && job.name ? ` · ${job.preset}` : ""} · <code>{job.id.slice(-6)}</code></span></th>
      <td data-label="State"><StateMark job={job} /></td>
      <td data-label="Progress"><span class="measure"><span>{progressText(job)}</span><Bar value={p.fraction} label="Progress" /></span></td>
      <td data-label="Stage">{p.stage ?? DASH}</td>
      <td class="num" data-label="Density / target"><DensityCell job={job} /></td>
      <td class="num" data-label="Accuracy / target">{p.accuracy === null ? DASH : <span>{percent(p.accuracy)}{p.target_accuracy !== null && <span class="muted"> / {percent(p.target_accuracy)}</span>}</span>}</td>
      <td class="num" data-label="Samples/s">{number(p.samples_per_second)}</td>
      <td class="num" data-label="Created"><time dateTime={job.created_at} title={moment(job.created_at)}>{ago(job.created_at)}</time></td>
    </tr>
  );
}

/** Loads the list and applies events to its jobs. */
function useJobs(query: string) {
  const [list, setList] = useState<List | null>(null);
  const [fault, setFault] = useState<unknown>(null);
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
      if ([...changes].some(([id, change]) => !known.has(id) || (change.state && query))) void load();
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
      latestLoad.current++;
    };
  }, [query]);
  return { list, fault, load };
}

export function JobsPage() {
  const q = route.value.query, state = q.get("state") ?? "", kind = q.get("kind") ?? "", words = q.get("q") ?? "";
  const { list, fault, load } = useJobs(`${state ? `&state=${state}` : ""}${kind ? `&kind=${kind}` : ""}`);
  const [picked, setPicked] = useState<string[]>([]);
  useEffect(() => { document.title = "Jobs · motifd"; }, []);
  const shown = list?.jobs.filter((j) => `${title(j)} ${j.kind} ${j.preset} ${j.id}`.toLowerCase().includes(words.toLowerCase())) ?? [];
  const known = useLoad("kinds", () => kinds());
  const names = known.data?.map((k) => k.kind) ?? (kind ? [kind] : []);
  return (
    <>
      <div class="page-head">
        <h1>Jobs</h1>
        <div class="tools">
          <input type="search" placeholder="Filter by name" aria-label="Filter by name" value={words} onInput={(e) => note({ q: (e.currentTarget as HTMLInputElement).value || null })} />
          <Choice label="State" value={state} options={[["", "all"], ...STATES.map((s) => [s, s] as [string, string])]} onChange={(v) => note({ state: v || null })} />
          <Choice label="Kind" value={kind} options={[["", "all"], ...names.map((k) => [k, k] as [string, string])]} onChange={(v) => note({ kind: v || null })} />
          <button type="button" disabled={picked.length < 2} onClick={() => go("compare", { jobs: picked.join(",") })}>Compare{picked.length > 0 ? ` ${picked.length}` : ""}</button>
          <a class="button primary" href={href("new")}>New job</a>
        </div>
      </div>
      <Fault fault={fault} />
      {list && shown.length === 0 && <p class="empty">{list.jobs.length ? "No job's name contains this text." : <>No jobs yet. <a href={href("new")}>Submit a first job</a>.</>}</p>}
      {shown.length > 0 && (
        <div class="scroll wide" tabIndex={0} role="region" aria-label="Jobs">
          <table class="jobs">
            <caption class="hidden">Jobs, newest first</caption>
            <thead><tr><th scope="col"><span class="hidden">Compare</span></th><th scope="col">Job</th><th scope="col">State</th><th scope="col">Progress</th><th scope="col">Stage</th>
              <th scope="col" class="num">Density / target</th><th scope="col" class="num">Accuracy / target</th><th scope="col" class="num">Samples/s</th><th scope="col" class="num">Created</th></tr></thead>
            <tbody>
              {shown.map((job) => (
                <Row key={job.id} job={job} picked={picked.includes(job.id)}
                  pick={() => setPicked((now) => (now.includes(job.id) ? now.filter((id) => id !== job.id) : [...now, job.id]))} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {list?.next_cursor && <p><button type="button" onClick={() => void load(list.next_cursor!)}>Load earlier jobs</button></p>}
    </>
  );
}
