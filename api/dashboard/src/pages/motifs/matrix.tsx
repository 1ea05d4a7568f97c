// What a model of DNA or RNA shows besides its channels: logos of their matrices, names from a database of motifs, and files for other programs.
import { get, request } from "../../api";
import { number } from "../../format";
import { Choice, useLoad } from "../../ui/base";
import { Canvas } from "../../ui/canvas";
import { Save } from "../../ui/save";
import { paintLogo } from "../../ui/signal_picture";
import type { Matrix } from "./types";

export function Logo({ matrix, name }: { matrix: Matrix; name: string }) {
  return <Canvas label={`Logo of ${name}: ${matrix.consensus}, from ${number(matrix.sites)} sites`} class="logo" ratio={0.22} draw={(c, w, h) => paintLogo(c, matrix.counts, w, h, matrix.information)} />;
}

/** The most similar motif of the database, and the channels that show the same motif. */
export function MatrixNames({ matrix, nameOf }: { matrix: Matrix; nameOf: (channel: number) => string }) {
  const best = matrix.matches?.[0];
  return (
    <>
      {best && <p class={best.qvalue < 0.05 ? "" : "muted"}>{best.name ?? best.id} <span class="muted">{best.name && `${best.id}, `}q {number(best.qvalue, 2)}, strand {best.strand}</span></p>}
      {matrix.same_as.length > 0 && <p class="muted">The same motif as {matrix.same_as.map(nameOf).join(", ")}.</p>}
    </>
  );
}

const FILES: [string, string, string, string][] = [
  ["Logos", "logos?set=test&samples=500", "image/svg+xml", "logos.svg"], ["Matrices", "channels?set=test&samples=500", "text/x-meme", "channels.meme"],
  ["Sites", "sites", "text/x-bed", "sites.bed"], ["Signal", "signal", "text/x-bedgraph", "signal.bedGraph"],
];

/** Chooses a data set of motifs to compare with, and saves the files. */
export function MatrixTools({ jobId, checkpoint, against, choose }: { jobId: string; checkpoint: string; against: string; choose: (name: string) => void }) {
  const sets = useLoad("datasets", (signal) => get<{ datasets: { name: string; kind: string }[] }>("/v1/datasets", signal));
  const names = (sets.data?.datasets ?? []).filter((d) => d.kind === "motifs").map((d) => [d.name, d.name] as [string, string]);
  const load = (path: string, accept: string) => () => request(`/v1/jobs/${jobId}/${path}${path.includes("?") ? "&" : "?"}checkpoint=${encodeURIComponent(checkpoint)}`, { headers: { Accept: accept } }).then((answer) => answer.blob());
  return (
    <div class="tools">
      {names.length > 0 && <Choice label="Compare with" value={against} options={[["", "nothing"], ...names]} onChange={choose} />}
      {FILES.map(([text, path, accept, file]) => <Save key={file} path="" name={file} text={text} load={load(path, accept)} />)}
    </div>
  );
}
