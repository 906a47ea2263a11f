/** The phases of a deploy, from the records of its stream. */

interface Record {
  readonly status: "BUILDING" | "DEPLOYING" | "DONE" | "ERROR";
  readonly time: string;
}

export interface Phase {
  readonly name: "Build" | "Rollout";
  /** `failed` if the deploy ended with an error in this phase. */
  readonly state: "running" | "done" | "failed";
  readonly began: number;
  /** Undefined while the phase runs. */
  readonly ended: number | undefined;
}

const names = { BUILDING: "Build", DEPLOYING: "Rollout" } as const;

/** Returns the phases that began. A phase ends when the next one begins, or with the last record. */
export const phasesOf = (records: readonly Record[]): readonly Phase[] => {
  const phases: Phase[] = [];
  for (const { status, time } of records) {
    const at = Date.parse(time);
    const current = phases.at(-1);
    const isFinal = status === "DONE" || status === "ERROR";
    if (!isFinal && current?.name === names[status]) continue;
    if (current !== undefined)
      phases[phases.length - 1] = { ...current, state: status === "ERROR" ? "failed" : "done", ended: at };
    if (!isFinal) phases.push({ name: names[status], state: "running", began: at, ended: undefined });
  }
  return phases;
};
