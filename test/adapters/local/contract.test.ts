/**
 * The local provider fulfils the contracts of the ports. The contracts about running services are tested here with the
 * process runner, and in `contract-bubblewrap.test.ts` with bubblewrap, so that both run concurrently.
 */
import {
  contractTests,
  durableCases,
  freshNames,
  identityCases,
  runningCases,
  storedCases,
} from "../../contracts/index.ts";
import { engineTests, startEngine } from "../../support/providers/local-suites.ts";

await engineTests("process", "local provider (process)", runningCases);
await engineTests("process", "local provider", storedCases);

const { close: closeProbe, local: probe } = await startEngine("process");
await closeProbe();
contractTests(
  "local provider, reopened",
  durableCases,
  async () => {
    const engine = await startEngine("process");
    const { close, reopen } = engine;
    const subject = {
      get provider() {
        return engine.local.provider;
      },
      reopen,
      ...freshNames("reopened"),
    };
    return { subject, close };
  },
  probe.provider.capabilities,
);

contractTests("local identity", identityCases, async () => {
  const { local, close } = await startEngine("process");
  return { subject: { identity: local.identity, account: freshNames("local").account }, close };
});
