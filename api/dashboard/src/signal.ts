// Values that the whole page depends on: its address, its theme, its connection. When one changes, the page is drawn again.
export interface Signal<T> { value: T; subscribe(listener: (value: T) => void): void }

let draw = (): void => undefined;
/** Sets the function that draws the page again. */
export function drawWith(again: () => void): void {
  draw = again;
}

export function signal<T>(first: T): Signal<T> {
  const listeners: ((value: T) => void)[] = [];
  let now = first;
  return {
    get value() { return now; },
    set value(next: T) {
      if (next === now) return;
      now = next;
      for (const listener of listeners) listener(next);
      draw();
    },
    /** Calls the listener now and after every change. */
    subscribe(listener) {
      listeners.push(listener);
      listener(now);
    },
  };
}
