/** What `portside doctor` finds: one condition that a platform needs, whether it holds, and what to do where it does not. */
export interface Finding {
  /** The condition in a few words: `API run.googleapis.com`. */
  readonly what: string;
  /** `warning`: it works without; `missing`: it does not. */
  readonly verdict: "ok" | "warning" | "missing";
  /** What was found, in a sentence. */
  readonly words: string;
  /** The command that mends it. */
  readonly fix?: string;
}

export const fine = (what: string, words: string): Finding => ({ what, verdict: "ok", words });
export const worrying = (what: string, words: string, fix?: string): Finding => ({
  what,
  verdict: "warning",
  words,
  ...(fix === undefined ? {} : { fix }),
});
export const lacking = (what: string, words: string, fix?: string): Finding => ({
  what,
  verdict: "missing",
  words,
  ...(fix === undefined ? {} : { fix }),
});

/** Why a platform cannot start: everything that is missing, with what mends it; undefined where nothing is. */
export const refusalToStart = (findings: readonly Finding[]): string | undefined => {
  const missing = findings.filter(({ verdict }) => verdict === "missing");
  if (missing.length === 0) return undefined;
  const lines = missing.map(({ what, words, fix }) => `  ${what}: ${words}${fix === undefined ? "" : `\n    ${fix}`}`);
  return `The platform cannot work as it is set up:\n${lines.join("\n")}`;
};
