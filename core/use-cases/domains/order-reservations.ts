/** The orders of running attempts, which the budget must count before the store contains them. */
import type { DomainName } from "../../domain/domains/domain-name.ts";
import { type CertificateOrder, orderLimits, orderPermittedAt } from "../../domain/domains/order-budget.ts";
import { type Instant, plusMillis } from "../../domain/wire/instant.ts";
import type { Unavailable } from "../../errors.ts";
import type { BegunOrder, CertificateStore } from "../../ports/certificate-store.ts";
import type { Clock } from "../../ports/system.ts";
import { okAsync, ResultAsync } from "../../result.ts";
import { KeyedSemaphore } from "../pipeline/keyed-semaphore.ts";

/** The next order of an attempt. */
export interface Reservation {
  readonly order: Omit<CertificateOrder, "at">;
}

export class OrderReservations {
  readonly #store: CertificateStore;
  readonly #clock: Pick<Clock, "now">;
  /** An attempt may reserve several orders one after another, each at its own time. */
  readonly #open = new Map<Reservation, CertificateOrder>();
  /**
   * Held while an order of a registered domain is reserved or started. Otherwise, an order that starts while another
   * attempt reads the stored orders would be missing from both the stored orders and the open reservations.
   */
  readonly #turns = new KeyedSemaphore(1);

  constructor(store: CertificateStore, clock: Pick<Clock, "now">) {
    this.#store = store;
    this.#clock = clock;
  }

  /**
   * Reserves an order, unless the attempt has a reservation. Returns undefined if the order is reserved, and otherwise
   * the time at which the budget permits it.
   */
  reserve(reservation: Reservation): ResultAsync<Instant | undefined, Unavailable> {
    if (this.#open.has(reservation)) return okAsync(undefined);
    return this.#inTurn(reservation, () => {
      const order = this.#orderNow(reservation);
      return this.#store.orders(plusMillis(order.at, -orderLimits.windowMs)).map((earlier) => {
        const permittedAt = orderPermittedAt(order, [...earlier, ...this.#open.values()]);
        if (permittedAt === undefined) this.#open.set(reservation, order);
        return permittedAt;
      });
    });
  }

  /**
   * Stores the start of an order. The attempt needs another reservation for its next order.
   * @param counted null if the store has already counted the order
   */
  start(host: DomainName, begun: BegunOrder, counted: Reservation | null): ResultAsync<void, Unavailable> {
    if (counted === null) return this.#store.startOrder(host, begun, null);
    return this.#inTurn(counted, () => {
      // A new order in place of one that the authority has forgotten has no reservation.
      const order = this.#open.get(counted) ?? this.#orderNow(counted);
      return this.#store.startOrder(host, begun, order).map(() => this.#release(counted));
    });
  }

  #orderNow({ order }: Reservation): CertificateOrder {
    return { ...order, at: this.#clock.now() };
  }

  #inTurn<T>({ order }: Reservation, work: () => ResultAsync<T, Unavailable>): ResultAsync<T, Unavailable> {
    return new ResultAsync(this.#turns.run(order.registeredDomain, work));
  }

  /** Runs an attempt. Afterwards, releases its reservation, even if the attempt fails or throws. */
  releaseAfter<T, E>(reservation: Reservation, attempt: () => ResultAsync<T, E>): ResultAsync<T, E> {
    const run = async () => {
      try {
        return await attempt();
      } finally {
        this.#release(reservation);
      }
    };
    return new ResultAsync(run());
  }

  #release(reservation: Reservation): void {
    this.#open.delete(reservation);
  }
}
