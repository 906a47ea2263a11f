/** The orders of running attempts, which the budget must count before the store contains them. */
import type { DomainName } from "../../domain/domains/domain-name.ts";
import { type CertificateOrder, orderLimits, orderPermittedAt } from "../../domain/domains/order-budget.ts";
import { type Instant, plusMillis } from "../../domain/wire/instant.ts";
import type { Unavailable } from "../../errors.ts";
import type { BegunOrder, CertificateStore } from "../../ports/certificate-store.ts";
import { okAsync, ResultAsync } from "../../result.ts";
import { KeyedSemaphore } from "../pipeline/keyed-semaphore.ts";

/** The next order of an attempt. */
export interface Reservation {
  readonly order: CertificateOrder;
}

export class OrderReservations {
  readonly #store: CertificateStore;
  readonly #open = new Set<Reservation>();
  /**
   * Held while an order of a registered domain is reserved or started. Otherwise, an order that starts while another
   * attempt reads the stored orders would be missing from both the stored orders and the open reservations.
   */
  readonly #turns = new KeyedSemaphore(1);

  constructor(store: CertificateStore) {
    this.#store = store;
  }

  /**
   * Reserves an order, unless the attempt has a reservation. Returns undefined if the order is reserved, and otherwise
   * the time at which the budget permits it.
   */
  reserve(reservation: Reservation): ResultAsync<Instant | undefined, Unavailable> {
    if (this.#open.has(reservation)) return okAsync(undefined);
    const { order } = reservation;
    return this.#inTurn(order, () =>
      this.#store.orders(plusMillis(order.at, -orderLimits.windowMs)).map((earlier) => {
        const others = [...this.#open].map((one) => one.order);
        const permittedAt = orderPermittedAt(order, [...earlier, ...others]);
        if (permittedAt === undefined) this.#open.add(reservation);
        return permittedAt;
      }),
    );
  }

  /**
   * Stores the start of an order. The attempt needs another reservation for its next order.
   * @param counted null if the store has already counted the order
   */
  start(host: DomainName, begun: BegunOrder, counted: Reservation | null): ResultAsync<void, Unavailable> {
    if (counted === null) return this.#store.startOrder(host, begun, null);
    return this.#inTurn(counted.order, () =>
      this.#store.startOrder(host, begun, counted.order).map(() => this.#release(counted)),
    );
  }

  #inTurn<T>(
    { registeredDomain }: CertificateOrder,
    work: () => ResultAsync<T, Unavailable>,
  ): ResultAsync<T, Unavailable> {
    return new ResultAsync(this.#turns.run(registeredDomain, work));
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
