/** Decides from the evidence in a data folder whether its state may be used. */
import type { StateCheck } from "./check-file.ts";
import type { StateVersion } from "./version.ts";

/** The condition of a state file. */
export type FoundState =
  | { readonly kind: "missing" }
  | { readonly kind: "empty" }
  /** SQLite cannot read the whole file. */
  | { readonly kind: "unreadable"; readonly problem: string }
  /** SQLite can read the file, but the content does not match the digest, or the recorded version is damaged. */
  | { readonly kind: "altered"; readonly generation: number }
  /** `version` is undefined if an older version of Portside, which did not record versions, wrote the state. */
  | { readonly kind: "whole"; readonly version: StateVersion | undefined };

export interface StateEvidence {
  readonly state: FoundState;
  readonly check: StateCheck;
  /** The version of `state.copy.sqlite`. Undefined if the copy is missing or unreadable, or has no version. */
  readonly copy: StateVersion | undefined;
  /** The number of non-empty volume folders that the state does not contain. */
  readonly unknownVolumes: number;
  /**
   * The number of these folders whose volume has a record. Such a folder shows that the state is outdated: a server
   * adds a volume to the state before the volume's first file, and deletes the record before it removes the volume from
   * the state.
   */
  readonly recordedVolumes: number;
  /** Descriptions of other data that an earlier run left in the folder. */
  readonly remains: readonly string[];
}

export type StateVerdict =
  | { readonly kind: "fresh" }
  | { readonly kind: "good" }
  | {
      readonly kind: "refused";
      /** The problem, as a clause that follows the name of the state file. */
      readonly problem: string;
      /** True if the state is damaged. False if it is missing, empty or outdated. */
      readonly isDamaged: boolean;
      /** False if the state cannot be used even with `acceptState`. */
      readonly isAcceptable: boolean;
    };

const outdated = (problem: string): StateVerdict => {
  return { kind: "refused", problem, isDamaged: false, isAcceptable: true };
};

const damaged = (problem: string, isAcceptable: boolean): StateVerdict => {
  return { kind: "refused", problem, isDamaged: true, isAcceptable };
};

/** Returns the highest generation that the check file or the copy records. */
export const knownGeneration = ({ check, copy }: Pick<StateEvidence, "check" | "copy">): number =>
  Math.max(check.version?.generation ?? 0, copy?.generation ?? 0);

/** If there is no version to compare with, only the volumes show whether the state is outdated. */
const judgeByVolumes = ({ unknownVolumes: count }: StateEvidence): StateVerdict =>
  count === 0
    ? { kind: "good" }
    : outdated(`does not list ${count} of the volume folders, so it may be older than these folders`);

const judgeVersion = (version: StateVersion, evidence: StateEvidence): StateVerdict => {
  const known = knownGeneration(evidence);
  if (version.generation < known)
    return outdated(
      `is older than the other data in the folder (change ${version.generation} of ${known}): it is an older copy, or SQLite dropped a damaged write-ahead log`,
    );
  const { check } = evidence;
  if (check.version === undefined) return judgeByVolumes(evidence);
  if (check.version.generation === version.generation && check.version.digest !== version.digest)
    return damaged("has content that differs from what the server wrote last", true);
  // The check file may be as outdated as the state.
  const { recordedVolumes: count } = evidence;
  if (count > 0)
    return outdated(`does not list ${count} of the volumes that have a record, so it is older than these records`);
  return { kind: "good" };
};

export const judgeState = (evidence: StateEvidence): StateVerdict => {
  const { state, check, copy, remains } = evidence;
  switch (state.kind) {
    case "missing":
    case "empty": {
      const checks = check.found === "missing" ? [] : ["state.check"];
      const found = [...checks, ...(copy ? ["a copy of it"] : []), ...remains];
      return found.length === 0
        ? { kind: "fresh" }
        : outdated(`is ${state.kind}, but the folder has data of an earlier run (${found.join(", ")})`);
    }
    case "unreadable":
      return damaged(`is damaged (${state.problem})`, false);
    case "altered":
      return damaged("is damaged, or another program changed it: its content does not match its digest", true);
    case "whole":
      if (state.version !== undefined) return judgeVersion(state.version, evidence);
      return knownGeneration(evidence) > 0
        ? outdated("is older than the other data in the folder: an earlier version of Portside wrote it")
        : judgeByVolumes(evidence);
  }
};
