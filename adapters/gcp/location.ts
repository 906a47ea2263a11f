/** The project and region of the platform's resources. */
import type { GcpConfig } from "./config.ts";

export type GcpLocation = Pick<GcpConfig, "project" | "region">;

/** The parent in the resource names of Cloud Run, Cloud Build, Artifact Registry and Cloud Scheduler. */
export const parentOf = ({ project, region }: GcpLocation): string => `projects/${project}/locations/${region}`;
