/** The local provider fulfils the contracts of the ports even if its server uses the engine through the socket. */
import { runningCases, storedCases } from "../../../contracts/index.ts";
import { engineTests } from "../../../support/providers/local-suites.ts";

await engineTests("process", "local provider, engine behind a socket", [...runningCases, ...storedCases], true);
