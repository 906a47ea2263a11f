/** Conflicts that every volume store reports with the same message. */
import { type Conflict, conflict } from "../../errors.ts";
import type { VolumeName } from "../wire/names.ts";

export const isBeingDeleted = (name: VolumeName): Conflict =>
  conflict(`The volume '${name}' is being deleted. Try again in a moment.`);

export const deletionCancelled = (name: VolumeName): Conflict =>
  conflict(`The deletion of the volume '${name}' was cancelled. Delete it again.`);

/** The account cannot restore a volume while another of its volumes has the same name. */
export const nameIsTaken = (name: VolumeName): Conflict =>
  conflict(
    `Your account already has a volume '${name}'. Delete it before you restore a deleted volume of the same name.`,
  );
