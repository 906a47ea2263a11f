/** A platform that stores a given outcome as the last deploy of every deployment. */
import type { DeployOutcome } from "../../../core/domain/deploy/events.ts";
import type { ServicePlatform } from "../../../core/ports/service-platform.ts";

export const withLastDeploy = (services: ServicePlatform, lastDeploy: DeployOutcome): ServicePlatform => ({
  ...services,
  list: (...args) => services.list(...args).map((own) => own.map((service) => ({ ...service, lastDeploy }))),
  find: (...args) =>
    services
      .find(...args)
      .map((state) => (state.kind === "held" ? { ...state, service: { ...state.service, lastDeploy } } : state)),
});
