/** All suites of a provider's ports: suites that run services, and suites that only store data. */
import { domainStoreCases } from "./domains.ts";
import type { ContractCase, ProviderSubject } from "./harness.ts";
import { imageBuilderCases } from "./image-builder.ts";
import { logSearchCases } from "./log-search.ts";
import { logStoreCases } from "./log-store.ts";
import { runningServiceCases } from "./running-services.ts";
import { runningVolumeCases } from "./running-volumes.ts";
import { schedulerCases } from "./scheduler.ts";
import { runningSecretCases, secretStoreCases } from "./secrets.ts";
import { servicePlatformCases } from "./service-platform.ts";
import { sourceSpoolCases } from "./source-spool.ts";
import { sqlEngineCases } from "./sql-engine.ts";
import { volumeObjectCases } from "./volume-objects.ts";
import { volumeStoreCases } from "./volume-store.ts";
import { volumeUploadCases } from "./volume-uploads.ts";

type Cases = readonly ContractCase<ProviderSubject>[];

/** The suites that depend on how a provider runs services. */
export const runningCases: Cases = [
  ...servicePlatformCases,
  ...runningServiceCases,
  ...imageBuilderCases,
  ...runningVolumeCases,
  ...runningSecretCases,
  ...schedulerCases,
];

/** The suites for the data that a provider stores. */
export const storedCases: Cases = [
  ...logStoreCases,
  ...logSearchCases,
  ...sqlEngineCases,
  ...sourceSpoolCases,
  ...volumeStoreCases,
  ...volumeObjectCases,
  ...volumeUploadCases,
  ...secretStoreCases,
  ...domainStoreCases,
];

/** All suites of a provider. */
export const providerCases: Cases = [...runningCases, ...storedCases];
