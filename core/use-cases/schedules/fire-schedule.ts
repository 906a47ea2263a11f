/** The use case that starts a fire of a schedule immediately, at a client's request. */
import type { z } from "zod";
import { fireFields } from "../../domain/wire/requests.ts";
import type { fireSchema } from "../../domain/wire/responses.ts";
import { conflict, internal } from "../../errors.ts";
import { errAsync } from "../../result.ts";
import { ownService } from "../deploy/find-name.ts";
import { useCase } from "../pipeline/use-case.ts";

/** A fire that a client requested. */
export type RequestedFire = z.output<typeof fireSchema>;

/** Starts a fire of the deployment's schedule. Does not wait for its outcome. */
export const fireSchedule = useCase({
  fields: fireFields,
  requires: ({ cron }) => cron.fire,
  authorize: (call) => ownService(call, call.input.name),
  run: (call, { name, owner }) => {
    const { scheduler } = call.context.ports.provider;
    const noSchedule = `The deployment '${name}' has no schedule. Declare one with the field 'schedule', and deploy again.`;
    const fireId = call.context.ports.ids.id();
    const fired =
      scheduler.fire?.({ name, owner }, fireId, call.options) ??
      errAsync(internal("The provider declares the capability `cron.fire`, but has no method `fire`."));
    return fired
      .map((): RequestedFire => ({ fire_id: fireId }))
      .mapErr((error) => (error.kind === "not_found" ? conflict(noSchedule) : error));
  },
});
