/** Where the resources of this platform are. */
import type { GcpConfig } from "./config.ts";

export type GcpLocation = Pick<GcpConfig, "project" | "region">;

/** The parent in the resource names of Cloud Run, Cloud Build, Artifact Registry and Cloud Scheduler. */
export const parentOf = ({ project, region }: GcpLocation): string => `projects/${project}/locations/${region}`;
