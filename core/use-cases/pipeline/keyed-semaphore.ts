/** First come, first served, a queue a key: deploys of one name, builds and uploads of one account. */

export interface Ticket {
  /** Resolves when it is this ticket's turn; at once where the lane has room. */
  readonly turn: Promise<void>;
  /** True from the moment of its turn. */
  readonly admitted: boolean;
  /** Gives the place to the next; also leaves the queue before the turn. Calling it again does nothing. */
  leave(): void;
}

interface Place extends Ticket {
  admitted: boolean;
  admit: () => void;
}

export class Lanes {
  readonly #width: number;
  readonly #places = new Map<string, Place[]>();

  /** @param width how many tickets of one key have their turn at once */
  constructor(width: number) {
    this.#width = width;
  }

  /** How many tickets of the key wait for their turn. */
  waiting(key: string): number {
    return this.#places.get(key)?.filter((place) => !place.admitted).length ?? 0;
  }

  /** True where a ticket of the key would have its turn at once. */
  hasRoom(key: string): boolean {
    return (this.#places.get(key)?.length ?? 0) < this.#width;
  }

  enter(key: string): Ticket {
    const places = this.#places.get(key) ?? [];
    this.#places.set(key, places);
    const { promise, resolve } = Promise.withResolvers<void>();
    const place: Place = {
      turn: promise,
      admitted: false,
      admit: () => {
        place.admitted = true;
        resolve();
      },
      leave: () => this.#leave(key, place),
    };
    places.push(place);
    this.#admit(places);
    return place;
  }

  #leave(key: string, place: Place): void {
    const places = this.#places.get(key);
    const index = places?.indexOf(place) ?? -1;
    if (places === undefined || index < 0) return;
    places.splice(index, 1);
    if (places.length === 0) this.#places.delete(key);
    this.#admit(places);
  }

  #admit(places: Place[]): void {
    for (const place of places.slice(0, this.#width)) if (!place.admitted) place.admit();
  }
}
