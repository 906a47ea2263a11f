/** Every suite of a provider's ports: those about what runs, and those about what is kept. */
import type { ContractCase, ProviderSubject } from "./harness.ts";
import { imageBuilderCases } from "./image-builder.ts";
import { logSearchCases } from "./log-search.ts";
import { logStoreCases } from "./log-store.ts";
import { runningServiceCases } from "./running-services.ts";
import { runningVolumeCases } from "./running-volumes.ts";
import { schedulerCases } from "./scheduler.ts";
import { servicePlatformCases } from "./service-platform.ts";
import { sourceSpoolCases } from "./source-spool.ts";
import { sqlEngineCases } from "./sql-engine.ts";
import { volumeObjectCases } from "./volume-objects.ts";
import { volumeStoreCases } from "./volume-store.ts";

type Cases = readonly ContractCase<ProviderSubject>[];

/** What a provider's way of running services has to do with. */
export const runningCases: Cases = [
  ...servicePlatformCases,
  ...runningServiceCases,
  ...imageBuilderCases,
  ...runningVolumeCases,
  ...schedulerCases,
];

export const storedCases: Cases = [
  ...logStoreCases,
  ...logSearchCases,
  ...sqlEngineCases,
  ...sourceSpoolCases,
  ...volumeStoreCases,
  ...volumeObjectCases,
];

export const providerCases: Cases = [...runningCases, ...storedCases];
