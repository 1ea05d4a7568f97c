// Views whose script the browser loads when they are opened first.
import type { ComponentType } from "preact";
import { Problem } from "../api";
import { Fault, useLoad } from "./base";

/** A view that `load` imports. Shows an error if the script is gone, as after an update of the daemon. */
export function later<P extends object>(load: () => Promise<ComponentType<P>>): (props: P) => preact.JSX.Element {
  let View: ComponentType<P> | null = null;
  return function Later(props: P) {
    const script = useLoad(View ? null : "script", () => load().then((view) => { View = view; }, () => {
      throw new Problem(0, "This view could not be loaded.", "The daemon does not respond, or a newer version of it runs now. Reload the page.");
    }));
    return View ? <View {...props} /> : script.fault ? <Fault fault={script.fault} /> : <p class="empty">Loading…</p>;
  };
}
