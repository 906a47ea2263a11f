import { type Finding, refusalToStart } from "../../../core/domain/wire/check.ts";

/** A provider cannot start: something that it needs is missing, such as a package or a right. */
export class StartRefused extends Error {
  readonly kind = "start_refused";
  /** What is missing, each with the command that fixes it. */
  readonly missing: readonly Finding[];

  constructor(message: string, findings: readonly Finding[]) {
    super(message);
    this.missing = findings.filter(({ verdict }) => verdict === "missing");
  }
}

/** Throws `StartRefused` if something is missing. */
export const checkStart = (findings: readonly Finding[]): void => {
  const refusal = refusalToStart(findings);
  if (refusal !== undefined) throw new StartRefused(refusal, findings);
};
