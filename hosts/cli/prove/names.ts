/** The names of the resources that a run creates. A fixed prefix identifies them on any machine, even after a crash. */
import { randomBytes } from "node:crypto";

const PREFIX = "portside-prove-";
const ALPHABET = "abcdefghijklmnopqrstuvwxyz234567";

const PATTERN = new RegExp(`^(${PREFIX}[${ALPHABET}]{8})(-data)?$`);

export interface RunNames {
  /** The run's id, and the name of its deployment. */
  readonly run: string;
  readonly volume: string;
}

export const namesOf = (run: string): RunNames => ({ run, volume: `${run}-data` });

export const createNames = (): RunNames =>
  namesOf(PREFIX + Array.from(randomBytes(8), (byte) => ALPHABET[byte % ALPHABET.length]).join(""));

/** Returns the run that a deployment or volume belongs to; undefined if the name has a different form. */
export const runOf = (name: string): string | undefined => PATTERN.exec(name)?.[1];
