/**
 * Classifies the error of a container that did not start. The cause may be the image, the port or the container engine.
 */
import type { DeployFailure } from "../../../core/domain/deploy/reason.ts";
import type { Exit } from "../sandbox/runner.ts";
import { type ContainerEngine, engineMessage, statusOf } from "./engine.ts";

const NOT_STARTED: Exit = { code: 125, signal: null, outOfMemory: false };

/** The first two messages are Docker's, and the third is Podman's. */
const PORT_TAKEN = /port is already allocated|address already in use|failed to expose ports/i;
const NO_COMMAND =
  /executable file not found|no such file or directory|exec: .*permission denied|no command specified/i;

const unavailable = (message: string): DeployFailure => ({ reason: "provider_unavailable", message });

const failureOf = ({ name }: ContainerEngine, status: number | undefined, message: string): DeployFailure => {
  if (status === undefined) return unavailable(`${name} does not respond. Try again when ${name} responds.`);
  if (status === 404 && /no such image/i.test(message))
    return { reason: "image_not_found", message: "The image of this deploy was removed. Deploy the source again." };
  if (NO_COMMAND.test(message)) return { reason: "crashed", message: `The container could not be started: ${message}` };
  return unavailable(`${name} did not start the container: ${message}`);
};

export const startFailureOf = (engine: ContainerEngine, error: unknown): Exit => {
  const message = engineMessage(error);
  if (PORT_TAKEN.test(message)) return { ...NOT_STARTED, lostPort: true };
  return { ...NOT_STARTED, failure: failureOf(engine, statusOf(error), message) };
};
