// The frame around every page: navigation, state of the live connection, theme and token. Chooses the page for the address.
import { render } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import "./style.css";
import { locked } from "./api";
import { link, lost } from "./live";
import { href, route } from "./router";
import { drawWith } from "./signal";
import { later } from "./ui/later";
import { switchTheme, theme } from "./ui/theme";

const NAV: [string, string, string][] = [["", "Jobs", "jobs"], ["new", "New job", "new"], ["compare", "Compare", "compare"], ["data", "Data", "data"], ["system", "System", "system"]];

const JobsPage = later(() => import("./pages/jobs").then((m) => m.JobsPage));
const JobPage = later(() => import("./pages/job").then((m) => m.JobPage));
const StudyPage = later(() => import("./pages/study").then((m) => m.StudyPage));
const SubmitPage = later(() => import("./pages/submit").then((m) => m.SubmitPage));
const ComparePage = later(() => import("./pages/compare").then((m) => m.ComparePage));
const DataPage = later(() => import("./pages/datasets").then((m) => m.DataPage));
const SystemPage = later(() => import("./pages/system").then((m) => m.SystemPage));
const TokenForm = later(() => import("./ui/sign_in").then((m) => m.TokenForm));

function LiveMark() {
  const [, tick] = useState(0);
  useEffect(() => {
    if (lost.value === null) return undefined;
    const timer = setInterval(() => tick((n) => n + 1), 1000);
    return () => clearInterval(timer);
  }, [lost.value === null]);
  if (link.value === "over") return null;
  const seconds = lost.value === null ? 0 : Math.round((Date.now() - lost.value) / 1000);
  const text = link.value === "live" ? "live" : lost.value === null ? "connecting" : `no connection for ${seconds} s, reconnecting`;
  return <span class={`link ${link.value}`} role="status"><i aria-hidden="true" />{text}</span>;
}

const Nowhere = () => <p class="empty" role="status">There is no page “{route.value.path.join("/")}”. See <a href="#/">all jobs</a>.</p>;

function Page() {
  const [first = "", id = ""] = route.value.path, most: Record<string, number> = { jobs: 4, studies: 2 }; // parts of an address; the page of a job checks its own
  if (route.value.path.length > (most[first] ?? 1)) return <Nowhere />;
  if (first === "jobs" && id) return <JobPage key={id} id={id} />;
  if (first === "studies" && id) return <StudyPage key={id} id={id} />;
  if (first === "new") return <SubmitPage />;
  if (first === "compare") return <ComparePage />;
  if (first === "data") return <DataPage />;
  if (first === "system") return <SystemPage />;
  if (first === "" || ((first === "jobs" || first === "studies") && !id)) return <JobsPage />;
  return <Nowhere />;
}

function App() {
  const here = route.value.path[0] ?? "", main = useRef<HTMLElement>(null), place = route.value.path.slice(0, 2).join("/");
  const begun = useRef(false), [, again] = useState(0);
  useLayoutEffect(() => drawWith(() => again((n) => n + 1)), []);
  useEffect(() => { // a new page starts at the top, with the focus on its content for screen readers
    if (begun.current) main.current?.focus({ preventScroll: true });
    begun.current = true;
    scrollTo(0, 0);
  }, [place]);
  return (
    <>
      <a class="skip" href="#main" onClick={(e) => { e.preventDefault(); main.current?.focus(); }}>Skip to the content</a>
      <header class="top">
        <a class="brand" href="#/" aria-label="motifd, list of jobs"><span aria-hidden="true" class="mark" />motifd</a>
        <nav aria-label="Pages">
          {NAV.map(([path, text, name]) => (
            <a key={name} href={href(path)} aria-current={here === path || (path === "" && (here === "jobs" || here === "studies")) ? "page" : undefined}>{text}</a>
          ))}
        </nav>
        <LiveMark />
        <button type="button" class="plain theme" onClick={switchTheme} aria-label={`Theme: ${theme.value}. Switch`}>{theme.value === "dark" ? "☾" : "☀"}</button>
      </header>
      <main ref={main} tabIndex={-1} id="main"><Page /></main>
      {locked.value && <TokenForm />}
    </>
  );
}

render(<App />, document.getElementById("app")!);
