// Downloads of a job: its log, checkpoints, files, bundle and attestation.
import { get, headers, Problem, type Artifact, type Checkpoint, type Job } from "../api";
import { bytes, moment, number, percent } from "../format";
import { Fault, Section, Table, useLoad } from "../ui/base";
import { Save } from "../ui/save";

const QUIET = 1500; // ms without an event after which the log of a job that still runs is complete so far

/** The events of a job as text, one line for each, without the points of its curves. */
async function log(job: Job): Promise<Blob> {
  const stop = new AbortController();
  const answer = await fetch(`/v1/jobs/${job.id}/events?after=0`, { headers: headers({ Accept: "text/event-stream" }), signal: stop.signal, cache: "no-store" });
  if (!answer.ok || !answer.body) throw new Problem(answer.status, "No log", "The daemon did not send the events of the job.");
  const reader = answer.body.getReader(), decoder = new TextDecoder();
  let text = "", quiet = setTimeout(() => stop.abort(), QUIET);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      clearTimeout(quiet);
      quiet = setTimeout(() => stop.abort(), QUIET);
      text += decoder.decode(value, { stream: true });
    }
  } catch (fault) {
    if ((fault as Error).name !== "AbortError") throw fault;
  }
  clearTimeout(quiet);
  const lines = text.split("\n\n").flatMap((event) => {
    const type = /^event: (.*)$/m.exec(event)?.[1], data = /^data: (.*)$/m.exec(event)?.[1];
    if (!type || !data || type === "metric") return [];
    const { time, job: _job, ...rest } = JSON.parse(data) as Record<string, unknown>;
    return [`${String(time)} ${type} ${JSON.stringify(rest)}`];
  });
  return new Blob([`${lines.join("\n")}\n`], { type: "text/plain" });
}

export function Files({ job }: { job: Job }) {
  const files = useLoad(`${job.id} ${job.state}`, async (signal) => ({
    checkpoints: (await get<{ checkpoints: Checkpoint[] }>(`/v1/jobs/${job.id}/checkpoints`, signal)).checkpoints,
    artifacts: (await get<{ artifacts: Artifact[] }>(`/v1/jobs/${job.id}/artifacts`, signal)).artifacts,
  }));
  return (
    <>
      <Fault fault={files.fault} />
      <Section title="Checkpoints">
        <Table caption="Checkpoints" words={1} head={["No.", "Samples", "Density", "Accuracy", "Size", "Created", ""]}
          rows={(files.data?.checkpoints ?? []).map((c) => [`${c.seq}${c.stage_end ? " · stage end" : ""}${c.pinned ? " · pinned" : ""}`, number(c.samples), number(c.density), percent(c.accuracy), bytes(c.bytes), moment(c.created_at),
            <Save path={c.href} name={`${job.id}-${c.seq}.safetensors`} />])} />
      </Section>
      <Section title="Files">
        <Table caption="Files of the job" words={2} head={["Name", "Type", "Size", ""]}
          rows={(files.data?.artifacts ?? []).map((a) => [a.name, a.media_type, bytes(a.bytes), <Save path={a.href} name={a.name} />])} />
      </Section>
      <Section title="Export">
        <p class="tools"><Save path="" name={`${job.id}.log`} text="Log" load={() => log(job)} />
          {job.result && <Save path={`/v1/jobs/${job.id}/report`} name={`${job.id}.html`} text="Report (HTML, to print or send)" />}
          <Save path={`/v1/jobs/${job.id}`} name={`${job.id}.json`} text="Job with its configuration and result (JSON)" />
          <Save path={`/v1/jobs/${job.id}/bundle`} name={`${job.id}.bundle`} text="Bundle (for import by another daemon)" /><Save path={`/v1/jobs/${job.id}/attestation`} name={`${job.id}-attestation.json`} text="Attestation" /></p>
      </Section>
    </>
  );
}
