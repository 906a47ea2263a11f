/** One check of `portside doctor`: a condition that a platform needs, whether it holds, and how to fix it. */
export interface Finding {
  /** The condition in a few words: `API run.googleapis.com`. */
  readonly what: string;
  /** `warning`: the platform works without it. `missing`: the platform does not. */
  readonly verdict: "ok" | "warning" | "missing";
  /** The result in a sentence. */
  readonly words: string;
  /** The command that fixes it. */
  readonly fix?: string;
}

const finding =
  (verdict: Finding["verdict"]) =>
  (what: string, words: string, fix?: string): Finding => ({
    what,
    verdict,
    words,
    ...(fix === undefined ? {} : { fix }),
  });

/** Returns the finding that a condition holds. */
export const pass: (what: string, words: string) => Finding = finding("ok");

/** Returns the finding that a condition does not hold, and that the platform works without it. */
export const warn = finding("warning");

/** Returns the finding that a condition does not hold, and that the platform needs it. */
export const fail = finding("missing");

/** Returns why the platform cannot start: all missing conditions with their fixes. Undefined if none is missing. */
export const refusalToStart = (findings: readonly Finding[]): string | undefined => {
  const missing = findings.filter(({ verdict }) => verdict === "missing");
  if (missing.length === 0) return undefined;
  const lines = missing.map(({ what, words, fix }) => `  ${what}: ${words}${fix === undefined ? "" : `\n    ${fix}`}`);
  return `The platform cannot start with its current setup:\n${lines.join("\n")}`;
};
