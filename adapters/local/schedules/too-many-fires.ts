/** The error of a requested fire that exceeds the limit of the schedule (`mayRequestFire`). */
export class TooManyFires extends Error {}
