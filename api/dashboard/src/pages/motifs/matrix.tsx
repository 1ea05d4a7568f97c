// Views for models of sequences of letters: logos of the channels' matrices, names from a database of motifs, and files for other programs.
import { useState } from "preact/hooks";
import { get, request, type Kind } from "../../api";
import { number } from "../../format";
import { Choice, useLoad } from "../../ui/base";
import { Canvas } from "../../ui/canvas";
import { Save } from "../../ui/save";
import { paintLogo, type Alphabet } from "../../ui/signal_picture";
import type { Matrix } from "./types";

export function Logo({ matrix, alphabet, name }: { matrix: Matrix; alphabet: Alphabet; name: string }) {
  return <Canvas label={`Logo of ${name}: ${matrix.consensus}, from ${number(matrix.sites)} sites`} class="logo" ratio={0.22} draw={(c, w, h) => paintLogo(c, alphabet, matrix.counts, w, h, matrix.information)} />;
}

/** The most similar motif of the database, and the channels that show the same motif. */
export function MatrixNames({ matrix, nameOf }: { matrix: Matrix; nameOf: (channel: number) => string }) {
  const best = matrix.matches?.[0];
  return (
    <>
      {best && <p class={best.qvalue < 0.05 ? "" : "muted"}>{best.name ?? best.id} <span class="muted">{best.name && `${best.id}, `}q {number(best.qvalue, 2)}, strand {best.strand}</span></p>}
      {matrix.same_as.length > 0 && <p class="muted">The same motif as {matrix.same_as.map((k) => (/^channel /.test(nameOf(k)) ? nameOf(k) : `${nameOf(k)} (${k})`)).join(", ")}.</p>}
    </>
  );
}

/** The files that the kind's queries write without parameters: the name of each, its path and its media type. */
const filesOf = (kind: Kind | undefined) => (kind?.queries ?? []).filter((q) => q.method === "GET" && q.item === null)
  .flatMap((q) => q.formats.map((f) => ({ name: `${q.name}.${f.endings[0] ?? f.name}`, path: q.name, type: f.media_type })));

/** Chooses a data set of motifs to compare with, and saves the files. */
export function MatrixTools({ jobId, kind, checkpoint, against, choose }: { jobId: string; kind: Kind | undefined; checkpoint: string; against: string; choose: (name: string) => void }) {
  const sets = useLoad("datasets", (signal) => get<{ datasets: { name: string; kind: string }[] }>("/v1/datasets", signal));
  const names = (sets.data?.datasets ?? []).filter((d) => d.kind === "motifs").map((d) => [d.name, d.name] as [string, string]);
  const files = filesOf(kind), [picked, pick] = useState(""), file = files.find((f) => f.name === picked) ?? files[0];
  const load = () => request(`/v1/jobs/${jobId}/${file.path}?checkpoint=${encodeURIComponent(checkpoint)}`, { headers: { Accept: file.type } }).then((answer) => answer.blob());
  return (
    <div class="tools">
      {names.length > 0 && <Choice label="Compare with" value={against} options={[["", "nothing"], ...names]} onChange={choose} />}
      {file && <><Choice label="File" value={file.name} options={files.map((f) => [f.name, f.name] as [string, string])} onChange={pick} /><Save path="" name={file.name} load={load} /></>}
    </div>
  );
}
