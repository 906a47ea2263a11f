/** Port for the operator's metrics. */

/** The current load of the engine. */
export interface Load {
  readonly instances: {
    /** Starting because requests wait. */
    readonly starting: number;
    /** Serving at least one request. */
    readonly busy: number;
    readonly idle: number;
    /** Belonging to a revision that is rolling out or draining. */
    readonly rolling: number;
  };
  /** Requests that wait for capacity in an instance. */
  readonly requestsWaiting: number;
  /** Log entries that are accepted but not stored yet. */
  readonly logEntriesWaiting: number;
}

/** Calls must be cheap and must not throw. */
export interface Telemetry {
  /** An instance started because requests waited, and listened after `seconds`. */
  coldStarted(seconds: number): void;
  /** A request to a service received its response with `status`, `seconds` after it arrived. */
  requestServed(status: number, seconds: number): void;
  /** Log entries were stored, the oldest `lagSeconds` after its timestamp. */
  logStored(entries: number, lagSeconds: number): void;
  /** Log entries could not be stored and are lost. */
  logLost(entries: number): void;
  /** Registers `read`, which is called at each collection of metrics. Returns a function that unregisters it. */
  watchLoad(read: () => Load): () => void;
}

/** Telemetry that does nothing. */
export const noTelemetry: Telemetry = {
  coldStarted: () => {},
  requestServed: () => {},
  logStored: () => {},
  logLost: () => {},
  watchLoad: () => () => {},
};
