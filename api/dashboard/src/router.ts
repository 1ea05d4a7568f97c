// The state of a page that a link should restore is in the address: #/jobs/ID/motifs?seed=3. Pages read and change it here.
import { signal } from "./signal";

export interface Route { path: string[]; query: URLSearchParams }

/** Decodes a part of the address; a part that is not encoded correctly stays as it is. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function parse(): Route {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return { path: path.split("/").filter(Boolean).map(decoded), query: new URLSearchParams(query) };
}

export const route = signal<Route>(parse());
addEventListener("hashchange", () => { route.value = parse(); });

export function href(path: string, query?: Record<string, string>): string {
  const text = query ? new URLSearchParams(query).toString() : "";
  return `#/${path}${text ? `?${text}` : ""}`;
}

export function go(path: string, query?: Record<string, string>): void {
  location.hash = href(path, query);
}

/** Changes parameters of the address without a new entry in the history; null removes a parameter. */
export function note(changes: Record<string, string | null>): void {
  const now = parse();
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) now.query.delete(name);
    else now.query.set(name, value);
  }
  const text = now.query.toString();
  history.replaceState(null, "", `#/${now.path.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`);
  route.value = now;
}
