/** Work that ends if the page closes, such as an upload. While it runs, the browser asks before it closes the page. */

const running = new Set<symbol>();

const ask = (event: BeforeUnloadEvent): void => event.preventDefault();

/** Keeps the page open until the returned function is called. */
export const holdPage = (): (() => void) => {
  const work = Symbol();
  // A page with such a listener cannot enter the browser's back-forward cache.
  if (running.size === 0) globalThis.addEventListener("beforeunload", ask);
  running.add(work);
  return () => {
    running.delete(work);
    if (running.size === 0) globalThis.removeEventListener("beforeunload", ask);
  };
};
