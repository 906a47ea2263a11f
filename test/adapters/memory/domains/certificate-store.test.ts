/** The contract of the memory store of certificates. */
import { certificateStoreCases, contractTests } from "../../../contracts/index.ts";
import { memoryCertificates } from "../../../support/domains/memory-certificates.ts";

contractTests("memory certificates", certificateStoreCases, async () => ({
  subject: memoryCertificates(),
  close: async () => undefined,
}));
