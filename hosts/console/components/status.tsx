/** The status of a deployment, a deploy, an instance or a domain: a word with a coloured dot. */

const tones: Readonly<Record<string, "good" | "busy" | "bad" | "idle">> = {
  READY: "good",
  DONE: "good",
  ready: "good",
  serving: "good",
  active: "good",
  DEPLOYING: "busy",
  BUILDING: "busy",
  starting: "busy",
  draining: "busy",
  pending: "busy",
  FAILED: "bad",
  ERROR: "bad",
  unhealthy: "bad",
  failing: "bad",
};

const words: Readonly<Record<string, string>> = { DONE: "Done", ERROR: "Failed" };

const wordOf = (status: string): string =>
  words[status] ?? status.charAt(0).toUpperCase() + status.slice(1).toLowerCase();

export const Status = ({ status }: { readonly status: string }) => (
  <span class={`status ${tones[status] ?? "idle"}`}>
    <span class="dot" aria-hidden="true" />
    {wordOf(status)}
  </span>
);
