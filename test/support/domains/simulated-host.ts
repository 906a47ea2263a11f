/** The simulated authority, and hosts that answer its challenges. */
import {
  createManualClock,
  createSimulatedAuthority,
  type SimulatedAuthority,
} from "../../../adapters/memory/index.ts";
import { plusMillis } from "../../../core/domain/wire/instant.ts";
import type { Challenge, ChallengeResponder } from "../../../core/ports/certificate-authority.ts";
import { okAsync } from "../../../core/result.ts";
import type { AuthoritySubject } from "../../contracts/index.ts";

const keyOf = ({ type, host, token }: Omit<Challenge, "keyAuthorization">) => `${type} ${host} ${token}`;

let hosts = 0;

export const simulatedAuthority = (): AuthoritySubject & {
  readonly authority: SimulatedAuthority;
  readonly clock: ReturnType<typeof createManualClock>;
} => {
  const published = new Map<string, string>();
  const responder: ChallengeResponder = {
    types: ["http-01"],
    publish: (challenge) => {
      published.set(keyOf(challenge), challenge.keyAuthorization);
      return okAsync(undefined);
    },
    withdraw: (challenge) => {
      published.delete(keyOf(challenge));
      return okAsync(undefined);
    },
  };
  const clock = createManualClock("2026-03-01T12:00:00Z");
  const authority = createSimulatedAuthority({
    clock,
    ask: async (challenge) => published.get(keyOf(challenge)) ?? null,
  });
  authority.suggest({ start: clock.now(), end: plusMillis(clock.now(), 86_400_000) });
  return { authority, clock, responder, host: () => `simulated-${++hosts}.example.com` };
};
