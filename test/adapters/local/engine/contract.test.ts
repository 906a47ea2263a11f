/** The local provider also fulfils the contracts of the ports if its server uses the engine through the socket. */
import { runningCases, storedCases } from "../../../contracts/index.ts";
import { engineTests } from "../../../support/providers/local-suites.ts";

await engineTests("process", "local provider, engine behind a socket", [...runningCases, ...storedCases], true);
