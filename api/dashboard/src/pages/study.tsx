// A study: its state, actions on all its jobs, a chart of any result against any field, the table, and the jobs.
import { useEffect, useState } from "preact/hooks";
import { get, request, send, type StudyRow, type WholeStudy } from "../api";
import { ago, DASH, moment, nameOf, number, show, title } from "../format";
import { go, href, note, route } from "../router";
import { Bar, Choice, Fault, progressText, Section, StateMark, Table, useLoad } from "../ui/base";
import { Save } from "../ui/save";

/** A picture of the daemon, which draws it again when more jobs are done. */
function Picture({ path, done, label }: { path: string; done: number; label: string }) {
  const { data, fault } = useLoad(`${path} ${done}`, async (signal) => URL.createObjectURL(await (await request(path, { signal })).blob()));
  useEffect(() => () => { if (data) URL.revokeObjectURL(data); }, [data]);
  return fault ? <Fault fault={fault} /> : data ? <img class="made" src={data} alt={label} /> : <p class="empty">Loading…</p>;
}

function StudyChart({ study }: { study: WholeStudy }) {
  const q = route.value.query, { fields, results, rows } = study.table, done = rows.reduce((sum, row) => sum + row.done, 0);
  const x = q.get("x") ?? fields[0] ?? "", y = q.get("y") ?? results[0] ?? "", log = q.get("log") ?? "";
  if (!fields.length) return null;
  if (!results.length) return <Section title="Chart"><p class="muted">The chart appears when the first job is done.</p></Section>;
  const query = new URLSearchParams({ x, y, ...(log ? { log } : {}) });
  return (
    <Section title="Chart" aside={<div class="tools">
      <Choice label="Field" value={x} options={fields.map((f) => [f, f])} onChange={(v) => note({ x: v })} />
      <Choice label="Result" value={y} options={results.map((r) => [r, nameOf(r)])} onChange={(v) => note({ y: v })} />
      <Choice label="Logarithmic" value={log} options={[["", "no axis"], ["x", "field"], ["y", "result"], ["xy", "both"]]} onChange={(v) => note({ log: v || null })} />
    </div>}>
      <Picture path={`/v1/studies/${study.id}/chart?${query}`} done={done} label={`${nameOf(y)} against ${x}`} />
    </Section>
  );
}

/** The median of a result, and the range if there are several seeds. */
function summary(row: StudyRow, name: string) {
  const r = row.results[name];
  if (!r || r.median === null) return DASH;
  return <span title={`${number(r.min, 4)} to ${number(r.max, 4)} over ${r.count} jobs`}>{show(name, r.median)}{r.count > 1 && <span class="muted"> ({show(name, r.min)} to {show(name, r.max)})</span>}</span>;
}

function Results({ study }: { study: WholeStudy }) {
  const { fields, results, rows } = study.table;
  return (
    <Section title="Results" aside={<Save path={`/v1/studies/${study.id}`} name={`${title(study)}.csv`} text="CSV" load={() => request(`/v1/studies/${study.id}`, { headers: { Accept: "text/csv" } }).then((a) => a.blob())} />}>
      {study.seeds > 1 && <p class="muted">Each value is the median of {study.seeds} seeds, with the smallest and the largest value.</p>}
      <Table caption="Results of the study" words={fields.length} head={[...fields, "Done", ...results.map(nameOf)]}
        rows={rows.map((row) => [...fields.map((f) => show(f, row.fields[f])), `${row.done} of ${row.jobs}`, ...results.map((name) => summary(row, name))])} />
    </Section>
  );
}

const ACTIONS: [string, string, string?][] = [["pause", "Pause"], ["resume", "Resume"], ["cancel", "Cancel", "Cancelled jobs cannot be resumed."]];

function Actions({ study, reload }: { study: WholeStudy; reload: () => void }) {
  const [asked, setAsked] = useState<string | null>(null), [fault, setFault] = useState<unknown>(null);
  const act = (verb: string) => {
    setAsked(null);
    setFault(null);
    const done = verb === "delete" ? send("DELETE", `/v1/studies/${study.id}`).then(() => go("")) : send("POST", `/v1/studies/${study.id}/${verb}`).then(reload);
    done.catch(setFault);
  };
  if (asked) {
    return (
      <div class="tools" role="group" aria-label="Confirm"><span class="ask">{asked === "delete" ? `Delete the study and its ${study.count} jobs?` : "Cancel all unfinished jobs? They cannot be resumed."}</span>
        <button type="button" class="danger" onClick={() => act(asked)}>{asked === "delete" ? "Delete study" : "Cancel study"}</button><button type="button" onClick={() => setAsked(null)}>Keep it</button></div>
    );
  }
  return (
    <div class="tools">
      {ACTIONS.filter(([verb]) => study.links[verb]).map(([verb, text, ask]) => <button key={verb} type="button" onClick={() => (ask ? setAsked(verb) : act(verb))}>{text}</button>)}
      {study.finished_at && <button type="button" onClick={() => setAsked("delete")}>Delete</button>}
      <Fault fault={fault} />
    </div>
  );
}

export function StudyPage({ id }: { id: string }) {
  const { data: study, fault, reload } = useLoad(id, (signal) => get<WholeStudy>(`/v1/studies/${encodeURIComponent(id)}`, signal));
  const busy = study !== null && study.finished_at === null;
  useEffect(() => {
    if (!busy) return undefined;
    const timer = setInterval(reload, 2000);
    return () => clearInterval(timer);
  }, [busy]);
  useEffect(() => { document.title = `${study ? title(study) : "Study"} · motifd`; }, [study && title(study)]);
  if (!study) return <>{fault ? <Fault fault={fault} /> : <p class="empty">Loading…</p>}</>;
  return (
    <>
      <div class="page-head">
        <div><h1>{title(study)}</h1>
          <p class="muted">study of {study.count} jobs · {study.kind}{study.preset && ` · ${study.preset}`} · <time dateTime={study.created_at} title={moment(study.created_at)}>{ago(study.created_at)}</time></p></div>
        <Actions study={study} reload={reload} />
      </div>
      <Fault fault={fault} />
      <p class="measure"><StateMark job={{ state: study.state, requested_state: null }} /> <span>{study.states.succeeded} of {study.count} done{study.states.failed > 0 && `, ${study.states.failed} failed`}</span><Bar value={study.fraction} label="Progress of the study" /></p>
      <StudyChart study={study} />
      <Results study={study} />
      <Section title="Jobs">
        <Table caption="Jobs of the study" words={3} head={["Job", "State", "Progress"]}
          rows={study.jobs.map((job) => [<a href={href(`jobs/${job.id}`)}>{title(job)}</a>, <StateMark job={job} />, progressText(job)])} />
      </Section>
    </>
  );
}
