// Pictures that the daemon draws.
import { useEffect } from "preact/hooks";
import { get, request, type Artifact, type Job } from "../api";
import { Fault, Section, useLoad } from "./base";

/** Loads a picture of the daemon for an img element. It uses fetch, because an img element cannot send the token. */
export function usePicture(path: string): { url: string | null; fault: unknown } {
  const { data, fault } = useLoad(path, async (signal) => URL.createObjectURL(await (await request(path, { signal })).blob()));
  useEffect(() => () => { if (data) URL.revokeObjectURL(data); }, [data]);
  return { url: data, fault };
}

function Picture({ path, label }: { path: string; label: string }) {
  const { url, fault } = usePicture(path);
  return fault ? <Fault fault={fault} /> : url ? <a href={url} target="_blank"><img class="made" src={url} alt={label} loading="lazy" /></a> : <p class="empty">Loading…</p>;
}

/** The page draws these two pictures itself, from the result. */
const DRAWN = ["confusion.png", "error-by-density.png"];

/** "latents-chart.png": "Latents chart". */
const titleOf = (name: string) => name.replace(/\.\w+$/, "").replaceAll("-", " ").replace(/^./, (c) => c.toUpperCase());

/** without: the name of another picture that the page draws itself. */
export function Pictures({ job, without }: { job: Job; without?: string }) {
  const files = useLoad(`${job.id} ${job.state}`, (signal) => get<{ artifacts: Artifact[] }>(`/v1/jobs/${job.id}/artifacts`, signal));
  const pictures = files.data?.artifacts.filter((a) => a.media_type.startsWith("image/") && a.name !== without && !DRAWN.includes(a.name)) ?? [];
  if (!pictures.length) return null;
  return <div class="pictures">{pictures.map((a) => <Section key={a.name} title={titleOf(a.name)}><Picture path={a.href} label={`${a.name} of ${job.kind}`} /></Section>)}</div>;
}
