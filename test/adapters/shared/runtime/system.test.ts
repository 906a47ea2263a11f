/** The system clock and ids pass the contracts of their ports. */
import { createSystemClock, randomIds } from "../../../../adapters/shared/runtime/system.ts";
import { clockCases, contractTests, idsCases } from "../../../contracts/index.ts";

const nothing = async () => undefined;

contractTests("system clock", clockCases, async () => {
  const clock = createSystemClock();
  return { subject: { clock, pass: (millis) => clock.sleep(millis) }, close: nothing };
});

contractTests("random ids", idsCases, async () => ({ subject: randomIds, close: nothing }));
