// Pictures that the daemon draws.
import { useEffect, useState } from "preact/hooks";
import { get, request, type Artifact, type Job } from "../api";
import { Section, useLoad } from "./base";

/** A picture from the daemon. It uses fetch, because an img element cannot send the token. */
export function Picture({ path, label }: { path: string; label: string }) {
  const [url, setUrl] = useState("");
  useEffect(() => {
    let made = "", gone = false;
    request(path).then((r) => r.blob()).then((blob) => { made = URL.createObjectURL(blob); if (gone) URL.revokeObjectURL(made); else setUrl(made); }, () => undefined);
    return () => { gone = true; if (made) URL.revokeObjectURL(made); };
  }, [path]);
  return url ? <a href={url} target="_blank"><img class="made" src={url} alt={label} loading="lazy" /></a> : <p class="empty">Loading…</p>;
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
