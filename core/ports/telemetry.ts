/** What a provider tells of itself as it works, for the operator's metrics. */

/** How much there is to do at this moment. */
export interface Load {
  readonly instances: {
    /** On their way, because requests wait. */
    readonly starting: number;
    /** With a request at least. */
    readonly busy: number;
    readonly idle: number;
    /** Of a revision that is being rolled out, or of one that drains. */
    readonly rolling: number;
  };
  /** Requests to services that wait for a place in an instance. */
  readonly requestsWaiting: number;
  /** Log entries that were taken in and are not stored yet. */
  readonly logEntriesWaiting: number;
}

/** Each call costs next to nothing, and never throws. */
export interface Telemetry {
  /** An instance was started because requests waited, and listened after `seconds`. */
  coldStarted(seconds: number): void;
  /** A request to a service was answered with `status`, `seconds` after it came. */
  requestServed(status: number, seconds: number): void;
  /** Log entries were stored; the oldest of them `lagSeconds` after its time. */
  logStored(entries: number, lagSeconds: number): void;
  /** Log entries could not be stored, and are gone. */
  logLost(entries: number): void;
  /** `read` is asked whenever somebody wants to see the figures, until the function that is returned was called. */
  watchLoad(read: () => Load): () => void;
}

/** For whoever collects no figures. */
export const noTelemetry: Telemetry = {
  coldStarted: () => {},
  requestServed: () => {},
  logStored: () => {},
  logLost: () => {},
  watchLoad: () => () => {},
};
