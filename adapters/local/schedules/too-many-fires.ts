/** Thrown if a client requests a fire while too many requested fires of the schedule are pending (`mayRequestFire`). */
export class TooManyFires extends Error {}
