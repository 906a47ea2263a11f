/** A job without HTTP: deploys a folder on this machine, prints its progress, and calls the service. */
import { accountOf, type ControlPlane, createControlPlane } from "portside";
import { createLocalProvider } from "portside/local";
import { create } from "tar";

export interface JobOptions {
  /** The source's folder. */
  readonly folder: string;
  readonly name: string;
  /** The platform's data folder. */
  readonly dataDir: string;
  readonly say: (line: string) => void;
}

const principal = { account: accountOf("nightly"), credentialId: "job" };

/** Deploys the folder and returns the service's URL. Throws the platform's message if the deploy fails. */
const deploy = async (controlPlane: ControlPlane, { folder, name, say }: JobOptions): Promise<string> => {
  const archive = await controlPlane.receiveSource(
    principal,
    create({ gzip: true, cwd: folder, portable: true }, ["."]),
  );
  if (archive.isErr()) throw new Error(archive.error.message);
  const fields = { function_name: name, volumes: {} };
  const run = await controlPlane.deploy(principal, { fields, archive: archive.value });
  // Errors are values: switch on `kind`, or print the message.
  if (run.isErr()) throw new Error(`${run.error.kind}: ${run.error.message}`);
  let url = "";
  for await (const record of run.value.follow()) {
    say(`${record.status} ${record.message}`);
    if (record.status === "ERROR") throw new Error(record.message);
    url = record.url ?? url;
  }
  return url;
};

export const runJob = async (options: JobOptions): Promise<string> => {
  const local = await createLocalProvider({ dataDir: options.dataDir, ingressPort: 0 });
  const controlPlane = createControlPlane(local.ports);
  try {
    const url = await deploy(controlPlane, options);
    return await (await fetch(url)).text();
  } finally {
    await controlPlane.close();
    await local.close();
  }
};
