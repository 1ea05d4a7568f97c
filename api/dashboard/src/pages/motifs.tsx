// The motifs of a job: first the gallery of its channels, then single inputs with the motifs that the model finds in them.
import { useMemo } from "preact/hooks";
import { get, kinds, type Checkpoint, type Job } from "../api";
import { number, percent } from "../format";
import { href, note, route } from "../router";
import { Choice, Fault, useLoad } from "../ui/base";
import { channelNames } from "../ui/channel";
import { ChannelPanel } from "./motifs/channel";
import { Gallery } from "./motifs/gallery";
import { Inputs } from "./motifs/inputs";
import "./motifs.css";

export function MotifsView({ job }: { job: Job }) {
  const q = route.value.query, checkpoint = q.get("checkpoint") ?? "latest", inputs = q.has("seed"), channel = q.get("channel") === null ? null : Number(q.get("channel"));
  const nameOf = useMemo(() => channelNames(job.result?.channels), [job.result]);
  const marks = useLoad(`${job.id} checkpoints`, (signal) => get<{ checkpoints: Checkpoint[] }>(`/v1/jobs/${job.id}/checkpoints`, signal));
  const kind = useLoad("kinds", () => kinds());
  if (!marks.data) return <Fault fault={marks.fault} />;
  if (marks.data.checkpoints.length === 0) return <p class="empty">The job has no checkpoint yet. The model writes its first one at the end of the first stage.</p>;
  const picks: [string, string][] = [["latest", "latest"], ["best", "best"], ...marks.data.checkpoints.map((c) => [String(c.seq), `${c.seq}: density ${number(c.density)}, accuracy ${percent(c.accuracy)}`] as [string, string])];
  const kept: Record<string, string> = checkpoint === "latest" ? {} : { checkpoint }, place = `jobs/${job.id}/motifs`, props = { jobId: job.id, kind: kind.data?.find((k) => k.kind === job.kind), checkpoint, nameOf };
  return (
    <div class="explorer">
      <div class="tools bar-tools">
        <nav class="segments" aria-label="Views of the motifs"><a class="button" href={href(place, kept)} aria-current={inputs ? undefined : "page"}>Channels</a><a class="button" href={href(place, { ...kept, seed: "3" })} aria-current={inputs ? "page" : undefined}>Inputs</a></nav>
        <Choice label="Checkpoint" value={checkpoint} options={picks} onChange={(v) => note({ checkpoint: v })} />
      </div>
      {inputs ? <Inputs {...props} /> : <>
        {channel !== null && <ChannelPanel {...props} channel={channel} close={() => note({ channel: null })} />}
        <Gallery {...props} />
      </>}
    </div>
  );
}
