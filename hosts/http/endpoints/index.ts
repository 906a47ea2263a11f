/**
 * Every endpoint of the contract as data. The routes and the OpenAPI document are both made from this table.
 */
import { accountEndpoints } from "./account.ts";
import { deployEndpoints } from "./deploy.ts";
import { deploymentEndpoints } from "./deployment.ts";
import type { Endpoint } from "./endpoint.ts";
import { sqlEndpoints } from "./sql.ts";
import { volumeEndpoints } from "./volume.ts";

export type { Endpoint, JsonEndpoint } from "./endpoint.ts";

export const endpoints: readonly Endpoint[] = [
  ...deployEndpoints,
  ...deploymentEndpoints,
  ...volumeEndpoints,
  ...sqlEndpoints,
  ...accountEndpoints,
];
