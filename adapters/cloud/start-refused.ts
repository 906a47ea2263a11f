import { type Finding, refusalToStart } from "../../core/domain/wire/check.ts";

/** Thrown if a provider cannot start because a requirement is missing, such as a package or a permission. */
export class StartRefused extends Error {
  readonly kind = "start_refused";
  /** The missing requirements, each with its fix, such as a command. */
  readonly missing: readonly Finding[];

  constructor(message: string, findings: readonly Finding[]) {
    super(message);
    this.missing = findings.filter(({ verdict }) => verdict === "missing");
  }
}

/** Throws `StartRefused` if a requirement is missing. */
export const checkStart = (findings: readonly Finding[]): void => {
  const refusal = refusalToStart(findings);
  if (refusal !== undefined) throw new StartRefused(refusal, findings);
};
