/** The result of one check of `portside doctor`: a condition, whether the condition holds, and the fix. */
export interface Finding {
  /** The condition in a few words: `API run.googleapis.com`. */
  readonly what: string;
  /** `warning`: the condition does not hold, but the platform works. `missing`: the platform cannot work. */
  readonly verdict: "ok" | "warning" | "missing";
  /** The result in a sentence. */
  readonly words: string;
  /** The command that fixes the problem. */
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

/** Returns a finding for a condition that holds. */
export const pass: (what: string, words: string) => Finding = finding("ok");

/** Returns a finding for an optional condition that does not hold. */
export const warn = finding("warning");

/** Returns a finding for a required condition that does not hold. */
export const fail = finding("missing");

/** Returns a message that lists the missing requirements with their fixes, or undefined if none is missing. */
export const refusalToStart = (findings: readonly Finding[]): string | undefined => {
  const missing = findings.filter(({ verdict }) => verdict === "missing");
  if (missing.length === 0) return undefined;
  const lines = missing.map(({ what, words, fix }) => `  ${what}: ${words}${fix === undefined ? "" : `\n    ${fix}`}`);
  return `The platform cannot start with its current setup:\n${lines.join("\n")}`;
};
