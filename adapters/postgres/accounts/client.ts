/** The PostgreSQL client to pass in, such as a `Pool` of `pg` (https://node-postgres.com/apis/pool). */
export interface PostgresClient {
  query(
    text: string,
    values?: unknown[],
  ): Promise<{ readonly rows: readonly unknown[]; readonly rowCount: number | null }>;
}
