// This script is inside the HTML. It requests the scripts of the view that the address names. If the address names a job, it also sends the job
// page's first requests while the main script still loads. request() in api.ts uses the answers.
import { FIRST_NAMES, metricsPath, POINTS } from "./first";

/** The scripts of each view, by the name of its source file in pages/; build.mjs sets it. */
declare const VIEWS: Record<string, string[]>;

const [place = "", job, part] = location.hash.split("?")[0].replace(/^#\/?/, "").split("/");
const TABS: Record<string, string> = { training: "curves", configuration: "config" }; // parts of a job whose source file has another name
const FILES: Record<string, string> = { "": "jobs", new: "submit", data: "datasets", studies: "study" };
for (const href of new Set((job && place === "jobs" ? ["job", TABS[part || "training"] ?? part] : [FILES[place] ?? place]).flatMap((name) => VIEWS[name] ?? [])))
  document.head.append(Object.assign(document.createElement("link"), { rel: "modulepreload", href }));

const [, id, more] = /^#\/jobs\/([0-9A-Z]{26})(.*)/.exec(location.hash) ?? [];
if (id) {
  const token = sessionStorage.getItem("motifd-token"), early: Record<string, Promise<Response>> = {};
  const begin = (path: string) => {
    early[path] = fetch(path, { headers: token ? { Authorization: `Bearer ${token}` } : {} });
    early[path].catch(() => undefined); // request() reports the failure
  };
  begin(`/v1/jobs/${id}`);
  if ((!more || more === "/training") && FIRST_NAMES.length) begin(metricsPath(id, { names: FIRST_NAMES, points: POINTS }));
  Object.assign(window, { early });
}
