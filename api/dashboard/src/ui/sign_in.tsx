// Who is signed in, and the dialog of a daemon that requires a sign-in or a token.
import { useEffect, useRef, useState } from "preact/hooks";
import { forget, get, send, setToken } from "../api";
import { useLoad } from "./base";

interface Session { sign_in: boolean; name: string | null; team: string | null; role: string | null }

const useSession = () => useLoad("session", (signal) => get<Session>("/v1/session", signal)).data;
let tried = false;

/** Takes a token. If the daemon signs people in, also leads to the sign-in. */
export function TokenForm() {
  const dialog = useRef<HTMLDialogElement>(null), session = useSession();
  const [text, setText] = useState("");
  useEffect(() => { dialog.current?.showModal(); }, []);
  const submit = (e: Event) => {
    e.preventDefault();
    setToken(text);
    tried = true;
    get("/v1/system").then(() => location.reload(), () => undefined);
  };
  return (
    <dialog ref={dialog} aria-labelledby="token-title">
      <form onSubmit={submit}>
        <h2 id="token-title">This daemon requires {session?.sign_in ? "a sign-in" : "a token"}</h2>
        {session?.sign_in && <p><a class="button primary" href="/v1/sign-in" onClick={forget}>Sign in</a></p>}
        <p>{session?.sign_in && "Or use a token. "}The operator creates tokens with <code>motifd token create</code>. The browser stores the token for this tab only.</p>
        {tried && <p class="wrong" role="alert">The daemon rejected this token. Check it and try again.</p>}
        <label>Token <input type="password" autocomplete="off" value={text} onInput={(e) => setText((e.currentTarget as HTMLInputElement).value)} /></label>
        <button class="primary">Use token</button>
      </form>
    </dialog>
  );
}

/** Says who is signed in. A person who signed in on the page can sign out. */
export function Who() {
  const session = useSession();
  if (!session?.name) return null;
  const signOut = () => send("POST", "/v1/sign-out").then(() => { forget(); location.reload(); }, () => location.reload());
  return (
    <p class="who">
      <span>{session.name}{session.team && ` · ${session.team}`} · {session.role}</span>{" "}
      {session.sign_in && <button type="button" class="plain" onClick={signOut}>Sign out</button>}
    </p>
  );
}
