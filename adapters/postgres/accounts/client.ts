/** The PostgreSQL client to pass in. A `Pool` of `pg` is one (https://node-postgres.com/apis/pool). */
export interface PostgresClient {
  query(
    text: string,
    values?: unknown[],
  ): Promise<{ readonly rows: readonly unknown[]; readonly rowCount: number | null }>;
}
