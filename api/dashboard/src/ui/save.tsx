// A button that saves an answer of the daemon as a file.
import { useState } from "preact/hooks";
import { request } from "../api";
import { Fault } from "./base";

/** Gives the browser a file to save. */
export function saveFile(content: Blob, name: string): void {
  const url = URL.createObjectURL(content);
  Object.assign(document.createElement("a"), { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** A download button. It uses fetch, because a link cannot send the token. */
export function Save({ path, name, text = "Save", of, load = () => request(path).then((answer) => answer.blob()) }: { path: string; name: string; text?: string; of?: string; load?: () => Promise<Blob> }) {
  const [fault, setFault] = useState<unknown>(null), [busy, setBusy] = useState(false);
  const save = () => {
    setBusy(true);
    setFault(null);
    load().then((content) => saveFile(content, name)).catch(setFault).finally(() => setBusy(false));
  };
  return <><button type="button" class="small" disabled={busy} onClick={save} aria-label={text === "Save" ? `Save ${name}` : of && `${text} ${of}`}>{text}</button>{fault ? <Fault fault={fault} /> : null}</>;
}
